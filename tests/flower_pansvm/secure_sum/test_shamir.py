"""Shamir's secret sharing: enough shares give the secret, fewer say nothing, and what does not fit is refused."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.shamir import PRIME, SECRET_BYTES, SHARE_BYTES, combine, split


@given(st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES), st.integers(1, 6), st.data())
def test_any_threshold_of_the_shares_give_the_secret(
    secret: bytes, threshold: int, data: st.DataObject
) -> None:
    holders = data.draw(st.integers(threshold, 8))
    shares = split(secret, holders, threshold)
    assert {len(share) for share in shares} == {SHARE_BYTES}
    for places in combinations(range(holders), threshold):
        assert combine({place: shares[place] for place in places}) == secret


@pytest.mark.parametrize("secret", [bytes(32), b"\xff" * 32])
def test_fewer_shares_fit_every_secret(secret: bytes) -> None:
    """Two of three needed shares, and any third one, are shares of some number: of each number one third share is."""
    shares = split(secret, 3, 3)
    for wanted in (0, 1, 2**256 - 1):
        # f(0) = 3 f(1) - 3 f(2) + f(3) for a parabola.
        known = 3 * int.from_bytes(shares[0], "big") - 3 * int.from_bytes(shares[1], "big")
        third = (wanted - known) % PRIME
        found = combine({0: shares[0], 1: shares[1], 2: third.to_bytes(SHARE_BYTES, "big")})
        assert int.from_bytes(found, "big") == wanted


def test_shares_of_no_secret_are_refused() -> None:
    with pytest.raises(SumError):
        combine({0: (2**256).to_bytes(SHARE_BYTES, "big")})

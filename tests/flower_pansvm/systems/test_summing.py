"""The keys of all sites travel once, together, and come apart as they were."""

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.summing import AllKeys, PublicKeys

PARTS = st.builds(PublicKeys, *[st.binary(max_size=70)] * 4)
THREE = {
    "a": PublicKeys(b"1" * 32, b"", b"", b""),
    "b": PublicKeys(b"2" * 32, b"p", b"e", b"s"),
    "c": PublicKeys(b"", b"", b"", b""),
}


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), PARTS, min_size=1))
def test_what_sites_have_published_comes_out_of_a_message_as_it_was(public: dict[str, PublicKeys]) -> None:
    content = RecordDict()
    records.write(content, "keys", AllKeys.of(public))
    assert records.read(content, "keys", AllKeys).by_site() == public


@pytest.mark.parametrize(
    "change",
    [
        {"sites": ("a", "b")},
        {"sites": ("a", "b", "b")},
        {"octets": np.zeros(3, dtype=np.uint8)},
        {"octets": AllKeys.of(THREE).octets[:-1]},
        {"octets": AllKeys.of(THREE).octets[:35]},
        {"octets": np.append(AllKeys.of(THREE).octets, np.uint8(0))},
        {"octets": np.full(60, 255, dtype=np.uint8)},
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(SumError):
        replace(AllKeys.of(THREE), **change).by_site()  # type: ignore[arg-type]

"""The contract of a secure sum as checks, for the tests of a protocol's author.

Each check is a function of a protocol; it raises an AssertionError that names the fault. The checks cover the sum, the
refusal of broken messages, and vectors that are openly visible. The secrecy of a protocol is for its author to prove.

Examples
--------
In a file of pytest's, one test for each check and each set of options:

>>> import pytest
>>> from flower_pansvm.secure_sum.protocols.ring import Ring
>>> from flower_pansvm.secure_sum.testing import CHECKS, variants
>>> @pytest.mark.parametrize("protocol", variants(Ring))
... @pytest.mark.parametrize("check", CHECKS)
... def test_contract(protocol, check):
...     check(protocol)

Or all of them at once:

>>> from flower_pansvm.secure_sum.testing import check_protocol
>>> check_protocol(Ring())
"""

import inspect
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import Member, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members

NAMES = ("Ålesund", "Brest", "Córdoba", *(f"site {i}" for i in range(4, 21)))
"""The sites: 20, some with names beyond ASCII."""

OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "k": ({}, {"k": 2}, {"k": 3}),
    "key_bits": ({"key_bits": 2048},),
    "share_threshold": ({}, {"share_threshold": "half"}),
}
"""The values with which a protocol is tested, if its constructor has a parameter of that name."""


def variants(protocol: type[SecureSum]) -> list[SecureSum]:
    """Return a protocol with each combination of the options that it has, see :data:`OPTIONS`."""
    parameters = inspect.signature(protocol).parameters
    choices = product(*(values for name, values in OPTIONS.items() if name in parameters))
    return [protocol(**dict(ChainMap(*options))) for options in choices]


def check_protocol(protocol: SecureSum) -> None:
    """Run all of :data:`CHECKS`; AssertionError if the protocol breaks the contract."""
    for check in CHECKS:
        check(protocol)


def check_declarations(protocol: SecureSum) -> None:
    """Check that name, protection and consent are declared, and that ``prepare`` returns two byte strings."""
    assert isinstance(protocol.name, str), "name must be a text"
    assert isinstance(protocol.protected, bool), "protected must be True or False"
    assert isinstance(protocol.by_consent, bool), "by_consent must be True or False"
    secret, published = protocol.prepare()
    assert isinstance(secret, bytes), "the secret half of prepare() must be bytes"
    assert isinstance(published, bytes), "the public half of prepare() must be bytes"


def check_sum_is_exact(protocol: SecureSum) -> None:
    """Check that the sum is exact modulo 2**64: few and many sites, long, short and empty vectors, extreme words."""
    for sites, words in ((2, 5), (3, 300), (4, 1), (5, 0), (7, 40), (20, 2)):
        sum_round = _round(sites)
        _check_sum(protocol, sum_round, _vectors(sum_round, words))
    sum_round = _round(5)
    for word in (0, 1, 2**63 - 1, 2**63, 2**64 - 1):
        vectors = {name: np.full(3, word, dtype=np.uint64) for name in sum_round.roster}
        _check_sum(protocol, sum_round, vectors)


def check_vectors_stay_unchanged(protocol: SecureSum) -> None:
    """Check that the protocol does not change a site's vector."""
    sum_round = _round(4)
    vectors = _vectors(sum_round, 10)
    before = {name: vector.copy() for name, vector in vectors.items()}
    _rehearse(protocol).run(vectors, sum_round)
    for name, vector in vectors.items():
        assert (vector == before[name]).all(), "contribute() has changed the vector; copy it first"


def check_any_order_of_sites(protocol: SecureSum) -> None:
    """Check that the order of the roster does not change the sum."""
    sum_round = _round(5)
    vectors = _vectors(sum_round, 10)
    _check_sum(protocol, replace(sum_round, roster=sum_round.roster[::-1]), vectors)


def check_repeated_without_a_lost_site(protocol: SecureSum) -> None:
    """Check that a sum can be repeated under a new attempt without any one of the sites."""
    sum_round = _round(4)
    vectors = _vectors(sum_round, 10)
    rehearsal = _rehearse(protocol)
    rehearsal.run(vectors, sum_round)
    for attempt, lost in enumerate(sum_round.roster, start=1):
        remaining = tuple(name for name in sum_round.roster if name != lost)
        total = rehearsal.run(vectors, replace(sum_round, attempt=attempt, roster=remaining))
        assert total.tolist() == _exact_sum(vectors, remaining), "the sum without a dropped site is wrong"


def check_a_stranger_refuses(protocol: SecureSum) -> None:
    """Check that a site that the roster does not name gives nothing."""
    member = _members(protocol)[NAMES[3]]
    _refused(lambda: protocol.contribute(_zeros(3), _round(3), member), NAMES[3])


def check_a_site_alone_refuses(protocol: SecureSum) -> None:
    """Check that a site that is alone gives nothing, as the sum would be its own vector."""
    member = _members(protocol)[NAMES[0]]
    _refused(lambda: protocol.contribute(_zeros(3), _round(1), member), NAMES[0])


def check_missing_and_unknown_answers(protocol: SecureSum) -> None:
    """Check that the coordinator refuses one answer too few or too many, before it relays anything."""
    sum_round = _round(3)
    rehearsal = _rehearse(protocol)
    rehearsal.run(_vectors(sum_round, 4), sum_round)
    first = rehearsal.first
    stranger = NAMES[3]
    fewer = {name: first[name] for name in sum_round.roster[: protocol.fewest(sum_round) - 1]}
    _refused(lambda: protocol.total(fewer, sum_round, _no_relay), sum_round.roster[-1])
    _refused(lambda: protocol.total({**first, stranger: b""}, sum_round, _no_relay), stranger)


def check_drop_outs(protocol: SecureSum) -> None:
    """Check, if the protocol survives drop-outs, the sum over the others, and that one drop-out too many is refused.

    As many sites as the protocol allows drop out before they send their vectors, in the relay steps, or some at each
    time. And a site refuses to help to open a sum twice, or over too few sites.
    """
    sum_round = _round(7)
    fewest, sites = protocol.fewest(sum_round), len(sum_round.roster)
    assert protocol.survives or fewest == sites, (
        "only a protocol that survives drop-outs needs fewer than all sites"
    )
    for early in range(sites - fewest + 1):
        rehearsal, vectors = _rehearse(protocol), _vectors(sum_round, 10)
        dropped, late = sum_round.roster[:early], sum_round.roster[early : sites - fewest]
        rehearsal.give(vectors, sum_round)
        for name in dropped:
            del rehearsal.first[name]
        rehearsal.silent = frozenset(late)
        assert rehearsal.take(sum_round).tolist() == _exact_sum(vectors, sum_round.roster[early:]), (
            f"the sum without {early} sites that sent nothing and {len(late)} that dropped out later is wrong"
        )
        for step, name, payload, _ in list(rehearsal.relayed):
            _refused(lambda: rehearsal.answer(step, name, payload, sum_round), name)  # noqa: B023 - called at once
    if protocol.survives:
        rehearsal.give(vectors, sum_round)
        rehearsal.silent = frozenset(sum_round.roster[: sites - fewest + 1])
        _refused(lambda: rehearsal.take(sum_round), sum_round.roster[0])


def check_vectors_of_other_lengths(protocol: SecureSum) -> None:
    """Check that coordinator or sites refuse a vector much shorter or longer than the others."""
    sum_round = _round(4)
    for words in (0, 200):
        vectors = {**_vectors(sum_round, 4), sum_round.roster[2]: _zeros(words)}
        _refused(lambda vectors=vectors: _rehearse(protocol).run(vectors, sum_round), *sum_round.roster)  # type: ignore[misc]


def check_truncated_messages(protocol: SecureSum) -> None:
    """Check that coordinator or sites refuse a truncated first message."""
    sum_round = _round(3)
    rehearsal = _rehearse(protocol)
    for cut in (8, 3):
        for name in sum_round.roster:
            rehearsal.give(_vectors(sum_round, 4), sum_round)
            if message := rehearsal.first[name]:
                rehearsal.first[name] = message[:-cut]
                _refused(lambda: rehearsal.take(sum_round), *sum_round.roster)


def check_steps_are_done_once_and_in_turn(protocol: SecureSum) -> None:
    """Check that a site refuses a relay step that it has done, that is not its next, or is of another attempt."""
    sum_round = _round(4)
    rehearsal = _rehearse(protocol)
    rehearsal.run(_vectors(sum_round, 4), sum_round)
    relayed = list(rehearsal.relayed)
    for step, name, payload, _ in relayed:
        _refused(lambda: rehearsal.answer(step, name, payload, sum_round), name)  # noqa: B023 - called at once
    rehearsal.give(_vectors(sum_round, 4), sum_round)
    for step, name, payload, _ in relayed:
        later = replace(sum_round, attempt=1)
        _refused(lambda: rehearsal.answer(step, name, payload, later), name)  # noqa: B023
        _refused(lambda: rehearsal.answer(step + 1, name, payload, sum_round), name)  # noqa: B023


def check_unknown_steps(protocol: SecureSum) -> None:
    """Check that a site refuses a relay step for which it keeps nothing."""
    name = NAMES[1]
    _refused(lambda: protocol.respond(1, b"", b"", _round(3), _members(protocol)[name]), name)


def check_no_vector_shows(protocol: SecureSum) -> None:
    """Check, if the protocol protects, that no message contains a word of a vector, and masks are new each time."""
    if not protocol.protected:
        return
    sum_round = _round(4)
    vectors = _vectors(sum_round, 50)
    rehearsal = _rehearse(protocol)
    messages = []
    for attempt in (0, 1):
        rehearsal.run(vectors, replace(sum_round, attempt=attempt))
        messages += [message for message in rehearsal.first.values() if message]
        messages += [payload for _, _, payload, _ in rehearsal.relayed if payload]
    for vector in vectors.values():
        for word in vector.tolist():
            encodings = (word.to_bytes(8, "little"), word.to_bytes(8, "big"))
            assert not any(text in message for text in encodings for message in messages), "a vector shows"
    first, again = messages[: len(messages) // 2], messages[len(messages) // 2 :]
    assert not set(first) & set(again), "a sum and its repetition are under the same masks"


CHECKS: tuple[Callable[[SecureSum], None], ...] = (
    check_declarations,
    check_vectors_stay_unchanged,
    check_sum_is_exact,
    check_any_order_of_sites,
    check_repeated_without_a_lost_site,
    check_a_stranger_refuses,
    check_a_site_alone_refuses,
    check_missing_and_unknown_answers,
    check_drop_outs,
    check_vectors_of_other_lengths,
    check_truncated_messages,
    check_steps_are_done_once_and_in_turn,
    check_unknown_steps,
    check_no_vector_shows,
)
"""All checks of the contract."""


@lru_cache(maxsize=32)  # some protocols take long to make keys
def _members(protocol: SecureSum) -> dict[str, Member]:
    return gather_members(protocol, NAMES)


def _rehearse(protocol: SecureSum) -> Rehearsal:
    return Rehearsal(protocol, _members(protocol))


def _round(sites: int) -> SumRound:
    return SumRound(run="run", task="task", round_trip=1, attempt=0, roster=NAMES[:sites], keys="keys")


def _vectors(sum_round: SumRound, words: int) -> dict[str, Words]:
    rng = np.random.default_rng(words)
    return {name: rng.integers(0, 2**64, words, dtype=np.uint64) for name in sum_round.roster}


def _zeros(words: int) -> Words:
    return np.zeros(words, dtype=np.uint64)


def _exact_sum(vectors: Mapping[str, Words], roster: tuple[str, ...]) -> list[int]:
    columns = zip(*(vectors[name].tolist() for name in roster), strict=True)
    return [sum(column) % 2**64 for column in columns]


def _check_sum(protocol: SecureSum, sum_round: SumRound, vectors: Mapping[str, Words]) -> None:
    total = _rehearse(protocol).run(vectors, sum_round)
    case = f"over {len(sum_round.roster)} sites, {len(vectors[sum_round.roster[0]])} words"
    assert total.dtype == np.uint64, f"the sum {case} has the type {total.dtype}, not uint64"
    assert total.tolist() == _exact_sum(vectors, sum_round.roster), f"the sum {case} is wrong"


def _refused(act: Callable[[], object], *names: str) -> None:
    """Check that a SumError is raised whose text has one of the names."""
    text = ""
    try:
        act()
    except SumError as error:
        text = str(error)
    assert text, "a broken message was not refused with a SumError"
    assert any(name in text for name in names), f"the error must name {' or '.join(names)}: {text}"


def _no_relay(step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
    raise AssertionError(
        f"the answers must be checked before step {step} is relayed to {', '.join(payloads)}"
    )

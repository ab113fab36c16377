"""Values of a message arrive as they were put in, after Flower's own serialisation."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, RecordDict
from flwr.common.serde import message_from_proto, message_to_proto
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.errors import FederationError
from flower_pansvm.records import (
    MOST_CHARACTERS,
    Octets,
    Texts,
    Value,
    get,
    put,
    read,
    read_each,
    values_of,
)
from strategies.federation.exchange import NUMBER_BYTES, message_size

DTYPES: st.SearchStrategy[np.dtype[np.generic]] = st.sampled_from(["f8", "i8", "u1", "?"]).map(np.dtype)
ARRAYS: st.SearchStrategy[NDArray[np.generic]] = npst.arrays(
    dtype=DTYPES, shape=npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
)
SCALARS = st.one_of(
    *(st.text(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.binary(max_size=20)),
    st.lists(st.text(), max_size=4),
)
NAMES = st.text(min_size=1, max_size=12)


def travelled(content: RecordDict) -> RecordDict:
    """Return the content of a message after a journey as bytes."""
    sent = message_to_proto(Message(content, dst_node_id=2, message_type="train.cuts"))
    received = type(sent)()
    received.ParseFromString(sent.SerializeToString())
    arrived = message_from_proto(received).content
    assert isinstance(arrived, RecordDict)
    return arrived


def assert_same(found: dict[str, Value], expected: dict[str, Value]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        other = found[name]
        assert type(other) is type(value)
        if isinstance(value, np.ndarray):
            assert isinstance(other, np.ndarray)
            assert (other.dtype, other.shape) == (value.dtype, value.shape)
            assert other.tobytes() == value.tobytes()
        elif isinstance(value, float):
            assert np.array(other).tobytes() == np.array(value).tobytes()
        else:
            assert other == value


@settings(deadline=None)
@given(values=st.dictionaries(NAMES, st.one_of(ARRAYS, SCALARS), max_size=6), group=NAMES)
def test_values_survive_the_journey(values: dict[str, Value], group: str) -> None:
    content = RecordDict()
    put(content, group, values)
    assert_same(get(travelled(content), group), values)


def test_objects_are_not_sent() -> None:
    with pytest.raises(TypeError, match="object"):
        put(RecordDict(), "x", {"rows": np.array([{}, {}])})


def test_size_counts_names_and_values_in_bytes() -> None:
    content = RecordDict()
    put(content, "x", {"n": 1, "é": "é", "raw": b"123", "yes": True, "all": ["é", "ab"]})
    assert message_size(content) == (1 + NUMBER_BYTES) + (2 + 2) + (3 + 3) + (3 + NUMBER_BYTES) + (3 + 4)
    before = message_size(content)
    put(content, "y", {"m": np.zeros(1000)})
    assert 8001 <= message_size(content) - before <= 8001 + 200


# Dataclasses


@dataclass(frozen=True)
class Everything:
    """A field of each kind."""

    floats: Floats
    ints: Ints
    bools: Bools
    octets: Octets
    names: Texts
    text: str
    whole: int
    number: float
    yes: bool
    raw: bytes


ONE = Everything(
    floats=np.array([[1.5, np.nan]]),
    ints=np.array([2**62]),
    bools=np.array([True, False]),
    octets=np.frombuffer(b"abc", dtype=np.uint8),
    names=("a", "länger", ""),
    text="rbf",
    whole=-3,
    number=0.1,
    yes=True,
    raw=b"\x00",
)


def sent(values: dict[str, Any]) -> Everything:
    content = RecordDict()
    put(content, "x", values)
    return read(travelled(content), "x", Everything, "Site 'south'")


@pytest.mark.parametrize("name", [part.name for part in fields(Everything)])
def test_a_field_that_is_missing_or_of_another_type_is_an_error_that_names_the_sender(name: str) -> None:
    values = values_of(ONE)
    own, others = values[name], {key: value for key, value in values.items() if key != name}
    with pytest.raises(FederationError, match=f"Site 'south' .* '{name}' of 'x'"):
        sent(others)
    kinds: list[Value] = [np.array([1], dtype=dtype) for dtype in (float, int, bool, np.uint8)]
    for value in [*kinds, ["a"], [], "a", 1, 0.5, True, b"a"]:
        same = type(own) is type(value) and getattr(own, "dtype", None) == getattr(value, "dtype", None)
        if same or (isinstance(own, float) and type(value) is int):
            sent({**others, name: value})
        else:
            with pytest.raises(FederationError, match=f"Site 'south' .* '{name}' of 'x'"):
                sent({**others, name: value})


def test_texts_of_a_list_are_not_endless_and_a_field_too_many_is_an_error() -> None:
    assert sent({**values_of(ONE), "names": ["x" * MOST_CHARACTERS]}).names == ("x" * MOST_CHARACTERS,)
    for name, value in (("names", ["age", "x" * (MOST_CHARACTERS + 1)]), ("more", 1)):
        with pytest.raises(FederationError, match=f"'{name}'"):
            sent({**values_of(ONE), name: value})


def test_a_group_of_any_names_has_values_of_one_type() -> None:
    content = RecordDict()
    put(content, "notes", {"north": b"1", "south": b"2"})
    assert read_each(content, "notes", bytes) == {"north": b"1", "south": b"2"}
    assert read_each(content, "none", bytes) == {}
    put(content, "notes", {"north": b"1", "south": "2"})
    with pytest.raises(FederationError, match="'notes'"):
        read_each(content, "notes", bytes)

"""Arrays from elsewhere that are not what they say: refused at once, and without their content."""

import time

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray

from flower_pansvm.errors import FederationError
from flower_pansvm.records import FORMAT, get, put, read_array, write_array


def array_of(data: bytes, dtype: str = "float64", shape: tuple[int, ...] = (3,)) -> Array:
    return Array(dtype, shape, FORMAT, data)


THREE = np.arange(3.0).tobytes()


@pytest.mark.parametrize(
    "array",
    [
        # numpy would fill 10^10 items of no bytes each.
        array_of(b"", "|V0", (10**10,)),
        array_of(b"", "<U0", (10**10,)),
        array_of(b"", "|S0", (10**10,)),
        array_of(b"", "[]", (10**10,)),
        array_of(b"cos\nsystem\n", "object", (1,)),
        array_of(bytes(24), "f8,i4", (2,)),
        array_of(bytes(4), "float16", (2,)),
        array_of(bytes(16), ">f8", (2,)),
        array_of(bytes(16), "datetime64[s]", (2,)),
        array_of(bytes(20), "<U5", (1,)),
        array_of(bytes(8), shape=(10**10,)),
        array_of(bytes(8), shape=(2**32, 2**32, 1)),  # 2**64 items are not none
        array_of(bytes(8), shape=(-1,)),
        array_of(bytes(8), shape=(-1, -1)),
        array_of(b"", shape=(0, 10**10)),
        array_of(bytes(8), shape=(1,) * 9),
        array_of(THREE + bytes(8)),
        array_of(THREE[:-1]),
        array_of(b""),
        array_of(THREE, shape=(1, 4)),
        array_of(THREE, dtype="float32"),
        Array("float64", (3,), "torch", THREE),
        Array(np.arange(3.0)),
        array_of(b"\x01\x02", "bool", (2,)),
    ],
)
def test_what_cannot_be_an_array_is_refused_at_once(array: Array) -> None:
    content = RecordDict({"x.arrays": ArrayRecord({"a": array}), "x.values": ConfigRecord()})
    started = time.process_time()
    with pytest.raises(FederationError, match="'north'"):
        get(content, "x", "Site 'north'")
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5),
        np.zeros((0, 3)),
        np.arange(24.0).reshape(2, 3, 4),
        np.arange(3),
        np.arange(5, dtype=np.uint8),
        np.array([[True, False]]),
        np.array([np.nan, np.inf, -0.0]),
        np.arange(6.0).reshape(2, 3).T,
        np.arange(8, dtype=np.float32)[::2],
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_what_is_written_is_read_and_can_be_written_to(array: NDArray[np.generic]) -> None:
    found = read_array(write_array(array))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found.flags.writeable
    assert found.flags.owndata


def test_the_bytes_are_the_numbers_alone_the_lowest_byte_first() -> None:
    sent = write_array(np.array([[1, -1]]))
    assert (sent.dtype, sent.shape, sent.data) == ("int64", (1, 2), b"\x01" + bytes(7) + b"\xff" * 8)


# Groups


@pytest.mark.parametrize("change", ["half", "swapped", "list"])
def test_a_group_that_put_has_not_written_is_refused(change: str) -> None:
    content = RecordDict()
    put(content, "x", {"n": 1, "a": np.arange(3)})
    arrays, values = content["x.arrays"], content["x.values"]
    parts = {
        "half": (None, values),
        "swapped": (values, arrays),
        "list": (arrays, ConfigRecord({"n": [1, 2]})),
    }
    changed = dict(zip(("x.arrays", "x.values"), parts[change], strict=True))
    with pytest.raises(FederationError):
        get(RecordDict({name: record for name, record in changed.items() if record is not None}), "x")


def test_names_from_elsewhere_are_shown_without_control_characters() -> None:
    content = RecordDict()
    put(content, "x", {})
    content["x.arrays"] = ArrayRecord({"\x1b[2J" + "a" * 500: array_of(b"")})
    with pytest.raises(FederationError) as caught:
        get(content, "x")
    assert "\\x1b[2J" in str(caught.value)
    assert len(str(caught.value)) < 400

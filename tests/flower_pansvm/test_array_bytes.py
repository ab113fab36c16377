"""Arrays from elsewhere that are not what they say: refused at once, and without their content."""

import io
import time
from collections.abc import Callable

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray

from flower_pansvm.array_bytes import UnreadableArrayError, read_array
from flower_pansvm.errors import FederationError
from flower_pansvm.records import get, put


def saved(array: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def with_header(descr: str, shape: str, items: bytes, order: str = "False") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode() + b" \n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + items


def array_of(data: bytes, dtype: str = "float64", shape: tuple[int, ...] = (3,)) -> Array:
    return Array(dtype, shape, "numpy.ndarray", data)


THREE = saved(np.arange(3.0))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        # numpy would fill 10^10 items of no bytes each.
        (array_of(with_header("'|V0'", "(10000000000,)", b""), "|V0", (10**10,)), "items of another kind"),
        (array_of(with_header("'<U0'", "(10000000000,)", b""), "<U0", (10**10,)), "items of another kind"),
        (array_of(with_header("'|S0'", "(10000000000,)", b""), "|S0", (10**10,)), "items of another kind"),
        (array_of(with_header("[]", "(10000000000,)", b""), "[]", (10**10,)), "items of another kind"),
        (array_of(with_header("'|O'", "(1,)", b"cos\nsystem\n"), "object", (1,)), "items of another kind"),
        (array_of(saved(np.array([{}], dtype=object)), "object", (1,)), "items of another kind"),
        (array_of(saved(np.zeros(2, dtype="f8,i4")), "f8,i4", (2,)), "items of another kind"),
        (array_of(saved(np.zeros(2, dtype=np.float16)), "float16", (2,)), "items of another kind"),
        (array_of(saved(np.zeros(2, dtype=">f8")), ">f8", (2,)), "items of another kind"),
        (array_of(saved(np.zeros(2, dtype="M8[s]")), "datetime64[s]", (2,)), "items of another kind"),
        (array_of(saved(np.array(["north"])), "<U5", (1,)), "items of another kind"),
        (array_of(with_header("'<f8'", "(10000000000,)", bytes(8)), shape=(10**10,)), "more or fewer bytes"),
        (array_of(with_header("'<f8'", "(-1,)", bytes(8)), shape=(-1,)), "more than 8 sides"),
        (array_of(with_header("'<f8'", "(-1, -1)", bytes(8)), shape=(-1, -1)), "more than 8 sides"),
        (array_of(with_header("'<f8'", "(2**40,)", b""), shape=(2**40,)), "that Flower announces"),
        (array_of(with_header("'<f8'", "(0, 10000000000)", b""), shape=(0, 10**10)), "absurd length"),
        (array_of(with_header("'<f8'", f"({'1, ' * 9})", bytes(8)), shape=(1,) * 9), "more than 8 sides"),
        (array_of(with_header("'<f8'", "(1, 3)", bytes(24), "True"), shape=(1, 3)), "that Flower announces"),
        (array_of(THREE + bytes(8)), "more or fewer bytes"),
        (array_of(THREE[:-1]), "more or fewer bytes"),
        (array_of(THREE[:40]), "that Flower announces"),
        (array_of(b""), "that Flower announces"),
        (array_of(b"\x93NUMPY\x01\x00"), "that Flower announces"),
        (array_of(b"\x93NUMPY\x03\x00" + THREE[8:]), "that Flower announces"),
        (array_of(b"PK\x03\x04" + THREE), "that Flower announces"),
        (array_of(with_header("'<f8'", "(" * 500, bytes(24))), "that Flower announces"),
        (array_of(with_header("'<f8'", "(3,)" + " " * 60_000, bytes(24))), "that Flower announces"),
        (array_of(THREE, shape=(1, 3)), "that Flower announces"),
        (array_of(THREE, dtype="int64"), "that Flower announces"),
        (Array("float64", (3,), "torch", THREE), "that Flower announces"),
        (array_of(with_header("'|b1'", "(2,)", b"\x01\x02"), "bool", (2,)), "neither true nor false"),
    ],
)
def test_what_cannot_be_an_array_is_refused_at_once(array: Array, reason: str) -> None:
    content = RecordDict({"x.arrays": ArrayRecord({"a": array}), "x.values": ConfigRecord()})
    started = time.process_time()
    with pytest.raises(FederationError, match=f"Site 'north' sent as 'a' of 'x' an array that .*{reason}"):
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
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_what_numpy_writes_is_read_and_can_be_written_to(array: NDArray[np.generic]) -> None:
    found = read_array(Array(array))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found.flags.writeable
    assert found.flags.owndata


def test_bytes_that_are_changed_anywhere_are_read_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(0)
    original = saved(np.array([[True, False]]))
    for _ in range(3000):
        data = bytearray(original)
        for place in generator.integers(len(data), size=generator.integers(1, 4)):
            data[place] = generator.integers(256)
        try:
            read = read_array(array_of(bytes(data), "bool", (1, 2)))
        except UnreadableArrayError:
            continue
        assert read.shape == (1, 2)
        assert set(read.view(np.uint8).ravel().tolist()) <= {0, 1}


# Groups


def halved(which: str) -> Callable[[RecordDict], None]:
    def halve(content: RecordDict) -> None:
        del content[which]

    return halve


def swapped(content: RecordDict) -> None:
    content["x.arrays"], content["x.values"] = content["x.values"], content["x.arrays"]


def listed(content: RecordDict) -> None:
    content["x.values"] = ConfigRecord({"n": [1, 2]})


@pytest.mark.parametrize("change", [halved("x.arrays"), swapped, listed], ids=["half", "swapped", "list"])
def test_a_group_that_put_has_not_written_is_refused(change: Callable[[RecordDict], None]) -> None:
    content = RecordDict()
    put(content, "x", {"n": 1, "a": np.arange(3)})
    change(content)
    with pytest.raises(FederationError, match="The coordinator sent"):
        get(content, "x")


def test_names_from_elsewhere_are_shown_without_control_characters() -> None:
    content = RecordDict()
    put(content, "x", {})
    content["x.arrays"] = ArrayRecord({"\x1b[2J" + "a" * 500: array_of(b"")})
    with pytest.raises(FederationError) as caught:
        get(content, "x")
    assert "\\x1b[2J" in str(caught.value)
    assert len(str(caught.value)) < 400

"""Dataclasses as Flower records, and back.

A message holds named groups of values; a group is the fields of a dataclass, or a mapping from names to values of one
kind. Numbers, texts and lists of texts travel as Flower's ``ConfigRecord``, arrays of numbers as ``ArrayRecord``;
nothing is pickled. Received values are checked: a dataclass that is read has exactly the fields that it declares, each
of its type. Others raise a FederationError, which names its sender and holds no values.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, ConfigRecordValues, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as ProtoRecordDict
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Floats, Ints, Singles
from flower_pansvm.errors import FederationError
from flower_pansvm.printable import printable

Value = NDArray[np.generic] | list[str] | str | int | float | bool | bytes
Values = Mapping[str, Value]

Octets = NDArray[np.uint8]
Texts = tuple[str, ...]
"""What a field of a message can be, besides a single text, number, truth value or bytes."""

ITEMS: dict[Any, type] = {
    Floats: np.float64,
    Singles: np.float32,
    Ints: np.int64,
    Bools: np.bool_,
    Octets: np.uint8,
}

T = TypeVar("T")
types_of: Callable[[type], dict[str, Any]] = cache(get_type_hints)

COORDINATOR = "The coordinator"
"""The sender of the messages that a site reads, as the beginning of a sentence."""

PACKED, MOST_PACKED = "packed", 2**22
MOST_CHARACTERS = 1000  # of a text in a list
SHOWN = 64  # characters of a name from elsewhere that an error shows


def values_of(message: object) -> dict[str, Value]:
    """Return the fields of a message's dataclass as values that can travel."""
    values = {item.name: getattr(message, item.name) for item in fields(message)}  # type: ignore[arg-type]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def message_of(kind: type[T], values: Mapping[str, Any], group: str, sender: str = COORDINATOR) -> T:
    """Return the dataclass whose fields some values are, as :func:`values_of` gives them."""
    types = types_of(kind)
    for name in types:
        if name not in values:
            raise _error(sender, "a message without the part '%s' of '%s'", name, group)
    for name in values:
        if name not in types:
            raise _error(sender, "an unknown part '%s' of '%s'", name, group)
    return kind(**{name: _typed(types[name], values[name], name, group, sender) for name in types})


def _typed(kind: Any, value: Any, name: str, group: str, sender: str) -> Any:
    """Return a value of a field's type."""
    if kind in ITEMS:
        right = isinstance(value, np.ndarray) and value.dtype == ITEMS[kind]
    elif kind == Texts:
        # Of texts, as there are no other lists.
        right = isinstance(value, list) and max(map(len, value), default=0) <= MOST_CHARACTERS
        value = tuple(value) if right else value
    else:
        # In Python a truth value is a whole number, too; and a whole number will do for a float.
        right = isinstance(value, (int, float) if kind is float else kind)
        right &= kind is bool or not isinstance(value, bool)
    if not right:
        raise _error(sender, "a value of the wrong type as '%s' of '%s'", name, group)
    return value


def write(content: RecordDict, group: str, message: object) -> None:
    """Add a dataclass to a message's content, replacing a group of the same name."""
    put(content, group, values_of(message))


def read(content: RecordDict, group: str, kind: type[T], sender: str = COORDINATOR) -> T:
    """Return a dataclass that came in a message."""
    return message_of(kind, get(content, group, sender), group, sender)


def read_each(content: RecordDict, group: str, kind: type[T], sender: str = COORDINATOR) -> dict[str, T]:
    """Return a group of any names whose values are all of one type."""
    values = get(content, group, sender).items()
    return {name: _typed(kind, value, name, group, sender) for name, value in values}


def put(content: RecordDict, group: str, values: Values) -> None:
    """Add a group of values to a message's content or to a site's state, replacing one of the same name."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    scalars = {name: value for name, value in values.items() if name not in arrays}
    content[f"{group}.arrays"] = ArrayRecord({name: write_array(value) for name, value in arrays.items()})
    content[f"{group}.values"] = ConfigRecord(cast("dict[str, ConfigRecordValues]", scalars))


def get(content: RecordDict, group: str, sender: str = COORDINATOR) -> dict[str, Any]:
    """Return a group of values that :func:`put` has written; an empty one if the content has no such group."""
    if not has(content, group):
        return {}
    values = dict[str, Any]()
    arrays, scalars = content.get(f"{group}.arrays"), content[f"{group}.values"]
    if not isinstance(arrays, ArrayRecord) or not isinstance(scalars, ConfigRecord):
        raise _error(sender, "the group '%s' in parts of the wrong types", group)
    for name, value in scalars.items():
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise _error(sender, "a list that is not of texts as '%s' of '%s'", name, group)
        values[name] = value
    for name, array in arrays.items():
        try:
            values[name] = read_array(array)
        except UnreadableArrayError as error:
            raise _error(sender, f"as '%s' of '%s' an array that {error}", name, group) from None
    return values


def get_one(content: RecordDict, group: str, name: str) -> ConfigRecordValues | None:
    """Return one text or number of a group of a site's own state without reading the others; None if there is none."""
    return cast(ConfigRecord, content[f"{group}.values"]).get(name) if has(content, group) else None


def packed(content: RecordDict) -> RecordDict:
    """Return a content as one record of bytes, the same ones for the same content; a large one as it is."""
    octets = recorddict_to_proto(content).SerializeToString(deterministic=True)
    return RecordDict({PACKED: ConfigRecord({PACKED: octets})}) if len(octets) <= MOST_PACKED else content


def unpacked(content: RecordDict) -> RecordDict:
    """Return the content that :func:`packed` has packed; one that is not as it is."""
    if PACKED not in content:
        return content
    octets = cast(bytes, cast(ConfigRecord, content[PACKED])[PACKED])
    return recorddict_from_proto(ProtoRecordDict.FromString(octets))


def has(content: RecordDict, group: str) -> bool:
    """Return whether the content has a group of this name."""
    return f"{group}.values" in content


def groups(content: RecordDict, prefix: str) -> dict[str, dict[str, Any]]:
    """Return all groups whose name begins with ``prefix``, by the rest of their name."""
    names = [key[: -len(".values")] for key in content if key.startswith(prefix) and key.endswith(".values")]
    return {name.removeprefix(prefix): get(content, name) for name in names}


def digest(values: Values) -> str:
    """Return a SHA-256 digest of a group of values, the same before and after their journey in a message.

    Every part is hashed with its length in front, so that no two different groups give the same bytes.
    """
    hasher = hashlib.sha256()
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray):
            parts = (value.dtype.str.encode(), repr(value.shape).encode(), value.tobytes())
        else:
            plain = value.item() if isinstance(value, np.generic) else value
            parts = (type(plain).__name__.encode(), b"", repr(plain).encode())
        for field in (name.encode(), *parts):
            hasher.update(len(field).to_bytes(8, "big") + field)
    return hasher.hexdigest()


def _error(sender: str, text: str, *names: str) -> FederationError:
    """Return the error about a message; ``text`` has ``%s`` for each name, which may be the sender's."""
    printed = text % tuple(printable(name, SHOWN) for name in names)
    return FederationError(
        f"{sender} sent {printed}. Either the message was damaged on its way, or the sender runs another version of "
        "flower-pansvm, or a changed one. Install the same version on both sides, and start a new run."
    )


FORMAT = "little-endian"  # Flower's name of the bytes' order
MOST_SIDES = 8
MOST_EMPTY_SIDE = 2**20  # of an array without items, whose bytes do not limit its shape
NUMBERS = ("float64", "float32", "int64", "uint8", "bool")


class UnreadableArrayError(Exception):
    """An array is invalid; the text says why, and follows the words "an array that"."""


def write_array(values: NDArray[np.generic]) -> Array:
    """Return numbers as an array that can travel; TypeError if they are of none of the types of `NUMBERS`."""
    if values.dtype.name not in NUMBERS:
        # The bytes of an object are its place in memory.
        raise TypeError(f"an array of {values.dtype} cannot travel, only one of {', '.join(NUMBERS)}")
    data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return Array(values.dtype.name, values.shape, FORMAT, data)


def read_array(array: Array) -> NDArray[np.generic]:
    """Return the numbers of an array that came in a message; they can be written to.

    It has to be exactly what :func:`write_array` makes of an array of one of the allowed types.
    """
    shape, data = tuple(array.shape), array.data
    if array.stype != FORMAT or array.dtype not in NUMBERS:
        raise UnreadableArrayError("holds no numbers, or in another format than this project's")
    dtype = np.dtype(array.dtype)
    if len(shape) > MOST_SIDES or min(shape, default=0) < 0:
        raise UnreadableArrayError(f"has more than {MOST_SIDES} dimensions, or one of negative length")
    if 0 in shape and max(shape) > MOST_EMPTY_SIDE:
        raise UnreadableArrayError("is empty and claims a dimension of an absurd length")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise UnreadableArrayError("has more or fewer bytes than its shape and type need")
    if dtype == np.bool_ and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise UnreadableArrayError("holds a truth value that is neither true nor false")
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype)

"""Values of a message as Flower records, and back.

A message holds named groups of values; a group is a mapping from names to numpy arrays and scalars. Numbers
and texts travel as Flower's ``ConfigRecord``, arrays as ``ArrayRecord``; nothing is pickled.
"""

import hashlib
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import cast

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, ConfigRecordValues, RecordDict
from numpy.typing import NDArray

Value = NDArray[np.generic] | str | int | float | bool | bytes
Values = Mapping[str, Value]


NUMBER_BYTES = 8
"""What a single number counts for in :func:`size`."""

_one_at_a_time = Lock()
"""numpy parses the header of an array as Python, which two threads at once cannot do before Python 3.11.8 and 3.12.2
(CPython issue 106905): now and then one of them gets a SystemError."""


def put(content: RecordDict, group: str, values: Values) -> None:
    """Add a group of values to a message's content or to a site's state, replacing one of the same name."""
    arrays = {name: Array(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    scalars = {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}
    content[f"{group}.arrays"] = ArrayRecord(arrays)
    content[f"{group}.values"] = ConfigRecord(cast("dict[str, ConfigRecordValues]", scalars))


def get(content: RecordDict, group: str) -> dict[str, Value]:
    """Return a group of values; an empty one if the content has no such group."""
    values: dict[str, Value] = {}
    if has(content, group):
        arrays, scalars = content[f"{group}.arrays"], content[f"{group}.values"]
        values.update(cast("ConfigRecord", scalars))  # type: ignore[arg-type]
        with _one_at_a_time:
            values.update({name: array.numpy() for name, array in cast("ArrayRecord", arrays).items()})
    return values


def has(content: RecordDict, group: str) -> bool:
    """Return whether the content has a group of this name."""
    return f"{group}.values" in content


def groups(content: RecordDict, prefix: str) -> dict[str, dict[str, Value]]:
    """Return all groups whose name begins with ``prefix``, by the rest of their name."""
    names = [
        key.removesuffix(".values") for key in content if key.endswith(".values") and key.startswith(prefix)
    ]
    return {name.removeprefix(prefix): get(content, name) for name in names}


def size(content: RecordDict) -> int:
    """Return the bytes of all values and their names; Flower's own framing comes on top."""
    total = 0
    for record in content.values():
        for name, value in record.items():
            total += len(name.encode())
            if isinstance(value, Array):
                total += len(value.data)
            elif isinstance(value, str):
                total += len(value.encode())
            elif isinstance(value, bytes):
                total += len(value)
            else:
                total += NUMBER_BYTES
    return total


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
        for part in (name.encode(), *parts):
            hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()


def texts(names: Iterable[str]) -> NDArray[np.str_]:
    """Return names as an array that can travel."""
    return np.array(list(names), dtype=np.str_)

"""Values of a message as Flower records, and back.

A message holds named groups of values; a group is a mapping from names to numpy arrays and scalars. Numbers
and texts travel as Flower's ``ConfigRecord``, arrays as ``ArrayRecord``; nothing is pickled. What arrives may be
anything: a group that is read has been checked, and one that lacks a part says so and who sent it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, ConfigRecordValues, RecordDict
from numpy.typing import NDArray

from flower_pansvm.array_bytes import UnreadableArrayError, read_array
from flower_pansvm.errors import FederationError
from flower_pansvm.printable import printable

Value = NDArray[np.generic] | str | int | float | bool | bytes
Values = Mapping[str, Value]


NUMBER_BYTES = 8
"""What a single number counts for in :func:`size`."""

COORDINATOR = "The coordinator"
"""Who sends what a site reads."""

SHOWN = 64
"""Characters of a name from elsewhere that an error shows."""


class Group(dict[str, Any]):
    """A group of values that came in a message.

    Parameters
    ----------
    name : str
        Name of the group.
    sender : str
        Who sent it, as the beginning of a sentence.
    """

    def __init__(self, name: str, sender: str) -> None:
        super().__init__()
        self.name = name
        self.sender = sender

    def __missing__(self, part: str) -> Any:
        """Raise the error of a part that is not there."""
        raise _error(self.sender, f"a message without the part '{part}' of '{self.name}'")

    def part(self, name: str, *kinds: type) -> Any:
        """Return a part, which must be of one of some types.

        Raises
        ------
        FederationError
            If it is not there or of another type.
        """
        value = self[name]
        # In Python a truth value is a whole number, too.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise _error(self.sender, f"something else as '{name}' of '{self.name}' than what belongs there")
        return value


def put(content: RecordDict, group: str, values: Values) -> None:
    """Add a group of values to a message's content or to a site's state, replacing one of the same name."""
    arrays = {
        name: Array(np.asarray(value, order="C"))
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }
    scalars = {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}
    content[f"{group}.arrays"] = ArrayRecord(arrays)
    content[f"{group}.values"] = ConfigRecord(cast("dict[str, ConfigRecordValues]", scalars))


def get(content: RecordDict, group: str, sender: str = COORDINATOR) -> Group:
    """Return a group of values; an empty one if the content has no such group.

    Parameters
    ----------
    content : RecordDict
        A message's content or a site's state.
    group : str
        Name of the group.
    sender : str
        Who sent it, as the beginning of a sentence, for errors.

    Raises
    ------
    FederationError
        If the group is not one that :func:`put` has written. The text holds no values.
    """
    values = Group(printable(group, SHOWN), sender)
    if not has(content, group):
        return values
    arrays, scalars = content.get(f"{group}.arrays"), content[f"{group}.values"]
    if not isinstance(arrays, ArrayRecord) or not isinstance(scalars, ConfigRecord):
        raise _error(sender, f"the group '{values.name}' in parts that do not belong together")
    for name, value in scalars.items():
        if isinstance(value, list):
            raise _error(sender, f"a list as '{printable(name, SHOWN)}' of '{values.name}'")
        values[name] = value
    for name, array in arrays.items():
        try:
            values[name] = read_array(array)
        except UnreadableArrayError as error:
            what = f"as '{printable(name, SHOWN)}' of '{values.name}' an array that {error}"
            raise _error(sender, what) from None
    return values


def has(content: RecordDict, group: str) -> bool:
    """Return whether the content has a group of this name."""
    return f"{group}.values" in content


def groups(content: RecordDict, prefix: str, sender: str = COORDINATOR) -> dict[str, Group]:
    """Return all groups whose name begins with ``prefix``, by the rest of their name; raises as :func:`get` does."""
    names = [
        key.removesuffix(".values") for key in content if key.endswith(".values") and key.startswith(prefix)
    ]
    return {name.removeprefix(prefix): get(content, name, sender) for name in names}


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


def _error(sender: str, what: str) -> FederationError:
    return FederationError(
        f"{sender} sent {what}. Either the message was damaged on its way, or the sender runs another version of "
        "flower-pansvm, or a changed one."
    )

"""What one process of a site keeps from message to message, so as not to make it again: bounded by its bytes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

V = TypeVar("V")


class Cache:
    """Values by a key that says all that they are made of, within a limit of bytes; one larger value is kept, too.

    In a simulation one process serves many sites.
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self.values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return a kept value, made now if there is none; beyond the limit the least recently used ones go."""
        with self._lock:
            if key in self.values:
                self.values.move_to_end(key)
                return cast(V, self.values[key][0])
        value = make()
        size = _size(value)
        with self._lock:
            self.bytes += size - self.values.get(key, (None, 0))[1]
            self.values[key] = value, size
            while self.bytes > self.most and len(self.values) > 1:
                self.bytes -= self.values.popitem(last=False)[1][1]
        return value


cached = Cache(2**30)
"""For mapped rows and all that is small."""

cached_tables = Cache(6 * 2**30)
"""For tables, their copies and their training and test rows, which take long to read or make again."""


def _size(value: Any) -> int:
    """Return the bytes of an array, of those in a tuple or a dict, or of the arrays in an object's fields."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return sum(map(_size, value if isinstance(value, tuple) else parts.values()))

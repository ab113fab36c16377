"""What one process of a site keeps from message to message, so as not to make it again: bounded by its bytes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

import numpy as np

BUDGET = 2**30  # bytes of arrays that are kept in all; in a simulation one process serves many sites

_kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
_bytes = 0
_lock = Lock()


def cached(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return a kept value, made now if there is none; the key says everything that it was made of.

    Those not used for longest are dropped when all together are more than `BUDGET`.
    """
    global _bytes  # noqa: PLW0603 - what is kept is the process's, and so is its size
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key][0]
    value = make()
    size = _size(value)
    with _lock:
        _bytes += size - _kept.get(key, (None, 0))[1]
        _kept[key] = value, size
        while _bytes > BUDGET and len(_kept) > 1:
            _bytes -= _kept.popitem(last=False)[1][1]
    return value


def _size(value: Any) -> int:
    """Return the bytes of an array, of those in a tuple or a dict, or of the arrays in an object's fields."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return sum(map(_size, value if isinstance(value, tuple) else parts.values()))

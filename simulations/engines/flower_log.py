"""The log of Flower and the strategies in this process: quieter, or passed on."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("flwr")


@contextmanager
def quieter(level: int) -> Iterator[None]:
    """Log only messages of a level of `logging` or above."""
    previous = _LOGGER.level
    _LOGGER.setLevel(level)
    try:
        yield
    finally:
        _LOGGER.setLevel(previous)


@contextmanager
def lines_to(show: Callable[[str], None]) -> Iterator[None]:
    """Pass each line to ``show`` instead of the terminal."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    previous, _LOGGER.handlers = _LOGGER.handlers, [Lines()]
    try:
        yield
    finally:
        _LOGGER.handlers = previous

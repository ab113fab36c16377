"""What Flower and the strategies log in this process: told by less, or handed to somebody else."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("flwr")


@contextmanager
def quieter(level: int) -> Iterator[None]:
    """Log only what is at least as grave as a level of `logging`."""
    usual = _LOGGER.level
    _LOGGER.setLevel(level)
    try:
        yield
    finally:
        _LOGGER.setLevel(usual)


@contextmanager
def lines_to(show: Callable[[str], None]) -> Iterator[None]:
    """Hand each line to ``show`` instead of the terminal."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    usual, _LOGGER.handlers = _LOGGER.handlers, [Lines()]
    try:
        yield
    finally:
        _LOGGER.handlers = usual

"""Whoever quietens Flower's log does it for a while, and for what is less grave."""

import logging

import pytest

from simulations.engines.flower_log import lines_to, quieter


def tell() -> None:
    """Log lines as Flower does."""
    logging.getLogger("flwr").info("begins")
    logging.getLogger("flwr").error("fails")


def test_only_grave_lines_are_told_for_as_long_as_it_is_quieter(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="flwr"):
        tell()
        with quieter(logging.ERROR):
            tell()
        tell()
    assert caplog.messages == ["begins", "fails", "fails", "begins", "fails"]


def test_lines_go_to_somebody_else_for_a_while() -> None:
    usual, told = logging.getLogger("flwr").handlers, list[str]()
    with lines_to(told.append), quieter(logging.INFO):
        tell()
    assert told == ["begins", "fails"]
    assert logging.getLogger("flwr").handlers is usual

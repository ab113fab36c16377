"""Strategies log under a name of their own, and where Flower's lines are shown, theirs are, too."""

import logging

import pytest
from flwr.common.logger import FLOWER_LOGGER

from flower_pansvm.log import logger


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    class Names(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            names.append(record.name)

    monkeypatch.setattr(FLOWER_LOGGER, "handlers", [Names()])
    return names


def test_flowers_handlers_show_the_lines_under_their_own_name(shown: list[str]) -> None:
    logger.info("cutting planes, round %d", 1)
    FLOWER_LOGGER.info("a line of Flower's")
    assert shown == ["flower_pansvm", "flwr"]


def test_an_app_can_silence_them_and_keep_flowers(shown: list[str]) -> None:
    own = logging.getLogger("flower_pansvm")
    own.setLevel(logging.WARNING)
    try:
        logger.info("cutting planes, round %d", 1)
        FLOWER_LOGGER.info("a line of Flower's")
    finally:
        own.setLevel(logging.NOTSET)
    assert shown == ["flwr"]

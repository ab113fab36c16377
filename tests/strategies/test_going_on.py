"""A run that was stopped says how to go on with it, where it was started."""

from pathlib import Path
from typing import Any

import pytest

from strategies.going_on import how_to_go_on
from strategies.settings import make_settings


class InMemoryGrid:
    """By its name the grid of Flower's simulation."""


class HttpGrid:
    """By its name the grid of a deployment."""


@pytest.mark.parametrize(
    ("grid", "settings", "said"),
    [
        (InMemoryGrid(), {}, "pansvm run --resume /out"),
        (InMemoryGrid(), {"C": "auto"}, "pansvm tune --resume /out"),
        (InMemoryGrid(), {"strategy": "voted-wrapper"}, "pansvm select --resume /out"),
        (HttpGrid(), {"C": "auto"}, "pansvm coordinator train --resume --out /out, or flwr run as before with resume"),
    ],
)  # fmt: skip
def test_the_command_is_the_one_that_the_run_was_started_with(
    grid: object, settings: dict[str, str], said: str
) -> None:
    assert said in how_to_go_on(grid, make_settings(**settings), Path("/out"))  # type: ignore[arg-type]


def test_a_private_run_says_that_the_sum_that_failed_is_charged_again() -> None:
    grid: Any = InMemoryGrid()
    said = how_to_go_on(grid, make_settings(strategy="dp-svm"), Path("/out"))
    assert "pansvm run --resume /out. The sum that failed is charged once more to each hospital" in said
    assert "charged" not in how_to_go_on(grid, make_settings(), Path("/out"))


def test_flower_still_calls_the_grid_of_a_deployment_so() -> None:
    from flwr.superlink.grid.http_grid import HttpGrid as OfFlower  # noqa: PLC0415

    assert OfFlower.__name__ == HttpGrid.__name__

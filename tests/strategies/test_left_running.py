"""Whoever simulates by ``flwr run`` is told of the SuperLink that stays behind; nobody else is."""

from pathlib import Path

import pytest

from strategies.left_running import left_running


class InMemoryGrid:
    """By its name the grid of Flower's simulation."""


class HttpGrid:
    """Any other."""


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("grid", [InMemoryGrid(), HttpGrid()], ids=lambda one: type(one).__name__)
def test_only_what_flwr_run_leaves_is_told(
    grid: object, left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    if left:
        (tmp_path / "local-superlink").mkdir()
        (tmp_path / "local-superlink" / "superlink.log").touch()
    text = left_running(grid)  # type: ignore[arg-type]
    assert bool(text) == (left and isinstance(grid, InMemoryGrid))
    if text:
        assert "End it with: pkill -f local-superlink/superlink.log" in text


def test_flowers_simulation_still_calls_its_grid_so() -> None:
    from flwr.superlink.grid.inmemory_grid import InMemoryGrid as OfFlower  # noqa: PLC0415

    assert OfFlower.__name__ == InMemoryGrid.__name__

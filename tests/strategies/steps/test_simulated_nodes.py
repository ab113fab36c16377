"""Of Flower's simulation a run takes as many sites as there are nodes; a study at hospitals takes what it was told."""

from collections.abc import Iterable

import pytest

from strategies.settings import Settings, make_settings
from strategies.steps import joining
from strategies.steps.joining import with_simulated_nodes


class InMemoryGrid:
    """By its name the grid of Flower's simulation: one that knows more nodes each time it is asked."""

    def __init__(self, *counts: int) -> None:
        self.counts = list(counts)

    def get_node_ids(self) -> Iterable[int]:
        return range(self.counts.pop(0) if len(self.counts) > 1 else self.counts[0])


class HttpGrid(InMemoryGrid):
    """By its name the grid of a deployment."""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "NODES_SECONDS", 0.0)


def settings_with(grid: InMemoryGrid, **given: int) -> Settings:
    return with_simulated_nodes(grid, make_settings(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "sites", "min_sites"),
    [
        ((5,), 5, 3),
        # Some are known at once, and then all.
        ((0, 2, 5), 5, 3),
        # Flower's two nodes unless it is told otherwise.
        ((0, 1, 2, 2), 2, 2),
        ((8,), 8, 3),
    ],
)
def test_there_are_as_many_sites_as_nodes(counts: tuple[int, ...], sites: int, min_sites: int) -> None:
    found = settings_with(InMemoryGrid(*counts), sites=5, min_sites=3)
    assert (found.sites, found.min_sites) == (sites, min_sites)


def test_the_sites_are_told_what_their_run_config_says() -> None:
    """They know nothing else, and digests of both have to agree."""
    given = make_settings(sites=5, min_sites=3)
    found = with_simulated_nodes(InMemoryGrid(2), given)  # type: ignore[arg-type]
    assert found.run_config == given.run_config


def test_fewer_nodes_than_real_sites_should_be_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="flwr"):
        settings_with(InMemoryGrid(2), sites=5, min_sites=3)
    assert '--federation-config "num-supernodes=5"' in caplog.text
    assert "could compute each other's numbers" in caplog.text


def test_a_study_at_hospitals_keeps_its_number() -> None:
    assert settings_with(HttpGrid(2), sites=5).sites == 5

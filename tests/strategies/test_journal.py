"""A run that is stopped leaves a checkpoint, and goes on from it to the very same model."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from flwr.app import Message

from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.settings import Settings
from simulations.in_process import InProcessGrid
from simulations.running import in_process_grid, resumed
from strategies.app import run
from strategies.journal import FOLDER


class StoppedError(Exception):
    """The coordinator's process is killed."""


class StoppingGrid(InProcessGrid):
    """A grid whose coordinator is killed before its n-th round trip."""

    def __init__(self, settings: Settings, stop: int) -> None:
        usual = in_process_grid(settings)
        nodes = [dict(context.node_config) for context in usual._contexts.values()]
        super().__init__(usual.app, nodes, settings.to_config(), usual.run.run_id)  # type: ignore[arg-type]
        self.left = stop

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self.left -= 1
        if self.left < 0:
            raise StoppedError
        return super().push_messages(messages)


def stop_before(round_trip: int, settings: Settings, folder: Path) -> None:
    """Run until the coordinator is killed."""
    with pytest.raises(StoppedError):
        run(StoppingGrid(settings, round_trip), settings, folder)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = Settings(data="wine", sites=3)
    return run(in_process_grid(settings), settings, tmp_path_factory.mktemp("whole")).model.sha256()


@pytest.mark.parametrize("stop", range(1, 14, 2))
def test_a_resumed_run_reaches_the_same_model(stop: int, uninterrupted: str, tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3)
    stop_before(stop, settings, tmp_path)
    again = resumed(tmp_path)
    grid = in_process_grid(again)
    strategy = run(grid, again, tmp_path)
    assert strategy.model.sha256() == uninterrupted
    if stop > 2:  # landmarks gathered: nothing is asked twice but the keys
        asked = {reply.metadata.message_type for reply in grid.transcript}
        assert "train.landmarks" not in asked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz", "result.json"]


def test_a_run_whose_sites_disclose_extremes_resumes_too(tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3, scaling="minmax")
    expected = run(in_process_grid(settings), settings, tmp_path / "whole").model.sha256()
    stop_before(7, settings, tmp_path / "cut")
    again = resumed(tmp_path / "cut")
    assert run(in_process_grid(again), again, tmp_path / "cut").model.sha256() == expected


def test_a_run_may_be_stopped_more_than_once(uninterrupted: str, tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3)
    stop_before(6, settings, tmp_path)
    again = resumed(tmp_path)
    stop_before(3, again, tmp_path)
    assert len(list((tmp_path / FOLDER).glob("*.npz"))) == 7
    assert run(in_process_grid(again), again, tmp_path).model.sha256() == uninterrupted


def test_a_resumption_that_fails_at_once_loses_nothing(uninterrupted: str, tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3)
    stop_before(6, settings, tmp_path)
    again = resumed(tmp_path)
    stop_before(0, again, tmp_path)
    grid = in_process_grid(again)
    assert run(grid, again, tmp_path).model.sha256() == uninterrupted
    assert "train.landmarks" not in {reply.metadata.message_type for reply in grid.transcript}


def test_too_few_sites_leave_a_checkpoint(tmp_path: Path) -> None:
    class Silent(StoppingGrid):
        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
            messages = list(messages)
            self.left -= 1
            return (
                ["", *list(InProcessGrid.push_messages(self, messages[1:]))]
                if self.left < 0
                else (InProcessGrid.push_messages(self, messages))
            )

    settings = Settings(data="wine", sites=3)
    with pytest.raises(FederationError, match="Only 2 sites are left"):
        run(Silent(settings, 5), settings, tmp_path)
    assert len(list((tmp_path / FOLDER).glob("*.npz"))) == 4
    assert (
        run(in_process_grid(resumed(tmp_path)), resumed(tmp_path), tmp_path).training.progress[0].gap <= 1e-3
    )


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no checkpoint"):
        resumed(tmp_path)


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3)
    stop_before(6, settings, tmp_path)
    other = Settings(data="wine", sites=3, C=2.0, resume=True)
    with pytest.raises(SettingError, match="other settings: C"):
        run(in_process_grid(other), other, tmp_path)


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    settings = Settings(data="wine", sites=3)
    stop_before(6, settings, tmp_path)
    entry = sorted((tmp_path / FOLDER).glob("*.npz"))[2]
    entry.write_bytes(b"damaged")
    with pytest.raises(SettingError, match=entry.name):
        run(in_process_grid(resumed(tmp_path)), resumed(tmp_path), tmp_path)

"""A run that is stopped leaves a checkpoint, and goes on from it to the very same model."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients import cache
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.tasks import Nothing
from simulations.engines.in_process import InProcessGrid, in_process_grid
from simulations.running import resumed
from strategies.app import run
from strategies.federation.checkpoint import FOLDER, Checkpoint, sums_in
from strategies.settings import Settings, make_settings
from tests.grids import KilledError, from_message, kill, silence


def stop_before(round_trip: int, settings: Settings, folder: Path) -> None:
    """Run until the coordinator is killed."""
    with pytest.raises(KilledError):
        run(kill(in_process_grid(settings), round_trip + 1), settings, folder)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = make_settings(data="wine", sites=3, tol=1e-3)
    return run(in_process_grid(settings), settings, tmp_path_factory.mktemp("whole")).model.sha256()


STOPS = 5
"""Moments at which a run is killed, evenly spread over it."""

QUICK: dict[str, Any] = {"data": "wine", "sites": 3, "landmarks": "15", "tol": 0.2}
JOBS: dict[str, dict[str, Any]] = {
    "training": {},
    "hops": {"aggregation": "k-secure-hops"},
    "exact sums": {"privacy": "exact"},
    "published search": {"search": "published", "privacy": "exact"},
    "extremes": {"scaling": "minmax", "test_fraction": 0.0},
    "one versus one with probabilities": {"multi_class": "ovo", "probability": True, "cv_folds": 2},
    "voted wrapper": {"strategy": "voted-wrapper", "step": "0.7", "cv_folds": 2},
    "model choice": {"C": "1,16", "cv_folds": 2},
}


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.slow
def test_a_run_killed_at_any_time_is_resumed_to_the_same_model(job: str, tmp_path: Path) -> None:
    settings = make_settings(**{**QUICK, **JOBS[job]})
    whole = run(in_process_grid(settings), settings, tmp_path / "whole")
    trips = whole.federation.costs.round_trips
    for stop in range(2, trips, max(1, trips // STOPS)):
        folder = tmp_path / str(stop)
        stop_before(stop, settings, folder)
        if stop < trips // 2 and not sums_in(folder):
            continue  # the first sum was under way: nothing is left to go on from
        again = resumed(folder)
        assert run(in_process_grid(again), again, folder).model.sha256() == whole.model.sha256()
        assert not (folder / FOLDER).exists()


@pytest.mark.slow
def test_a_killed_process_is_resumed_to_the_same_model(tmp_path: Path) -> None:
    settings = make_settings(**{**QUICK, "tol": 1e-3, **JOBS["model choice"]})
    whole = run(in_process_grid(settings), settings, tmp_path / "whole").model.sha256()
    usual = make_settings().to_config()
    options = [f"{name}={value}" for name, value in settings.to_config().items() if value != usual[name]]
    command = [sys.executable, "-m", "flower_pansvm", "run", "--engine", "in-process"]
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        started = [
            *command,
            "--out",
            str(folder),
            *(word for option in options for word in ("--set", option)),
        ]
        with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            while process.poll() is None and not any((folder / FOLDER).glob("*.npz")):
                time.sleep(0.01)
            time.sleep(0.2 * attempt)
            process.kill()
        if (folder / "result.json").exists():
            continue  # the run was faster than the murderer
        done = subprocess.run(
            [*command, "--resume", str(folder)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads((folder / "result.json").read_text())["model_sha256"] == whole


@pytest.mark.slow
def test_a_site_that_was_lost_before_the_run_was_killed_stays_lost(tmp_path: Path) -> None:
    settings = make_settings(**{**QUICK, "min_sites": 2, "timeout": 0.05})
    whole = run(silence(in_process_grid(settings), from_message(3, 5)), settings, tmp_path / "whole")
    assert whole.federation.costs.dropped == ["site-001"]
    grid = silence(in_process_grid(settings), from_message(3, 5))
    with pytest.raises(KilledError):
        run(kill(grid, whole.federation.costs.round_trips), settings, tmp_path / "cut")
    again = resumed(tmp_path / "cut")
    strategy = run(in_process_grid(again), again, tmp_path / "cut")
    assert strategy.federation.costs.dropped == ["site-001"]
    assert strategy.model.sha256() == whole.model.sha256()


def test_a_hospitals_copy_is_the_same_after_a_restart(
    hospital_files: list[Path],
    hospitals: Callable[..., InProcessGrid],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the hospitals nothing but their state folders outlives the first run."""
    settings = make_settings(sites=3, min_cluster=2, landmarks="15")
    whole = run(hospitals(settings, hospital_files), settings, tmp_path / "whole")
    folder = tmp_path / "stopped"
    with pytest.raises(KilledError):
        run(kill(hospitals(settings, hospital_files, run_id=2), 5), settings, folder)
    cache.cached.values.clear()
    cache.cached_tables.values.clear()
    again = resumed(folder)
    assert (
        run(hospitals(again, hospital_files, run_id=3), again, folder).model.sha256() == whole.model.sha256()
    )


@pytest.mark.slow
def test_a_run_may_be_stopped_more_than_once(uninterrupted: str, tmp_path: Path) -> None:
    settings = make_settings(data="wine", sites=3, tol=1e-3)
    stop_before(6, settings, tmp_path)
    again = resumed(tmp_path)
    # Its keys, its moments once more, and two sums that the first one had not got to.
    stop_before(4, again, tmp_path)
    assert len(list((tmp_path / FOLDER).glob("*.npz"))) == 7
    assert run(in_process_grid(again), again, tmp_path).model.sha256() == uninterrupted


def test_a_resumption_that_fails_at_once_loses_nothing(uninterrupted: str, tmp_path: Path) -> None:
    settings = make_settings(data="wine", sites=3, tol=1e-3)
    stop_before(6, settings, tmp_path)
    again = resumed(tmp_path)
    stop_before(0, again, tmp_path)
    grid = in_process_grid(again)
    assert run(grid, again, tmp_path).model.sha256() == uninterrupted
    asked = [reply.metadata.message_type.split(".")[1] for reply in grid.replies[:: settings.sites]]
    # Keys do not outlive a run, and with the moments the sites share a secret. What was learned is not asked again.
    assert asked[:2] == ["join", "moments"]
    assert not {"landmarks", "warm_start"} & set(asked)


def test_too_few_sites_leave_a_checkpoint(tmp_path: Path) -> None:
    settings = make_settings(data="wine", sites=3, timeout=0.05)
    with pytest.raises(FederationError):
        run(silence(in_process_grid(settings), from_message(2, 6)), settings, tmp_path)
    assert len(list((tmp_path / FOLDER).glob("*.npz"))) == 4
    assert (
        run(in_process_grid(resumed(tmp_path)), resumed(tmp_path), tmp_path).training.progress[0].gap <= 0.02
    )


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    settings = make_settings(data="wine", sites=3)
    stop_before(6, settings, tmp_path)
    other = make_settings(data="wine", sites=3, C=2.0, resume=True)
    with pytest.raises(SettingError, match="other settings: C"):
        run(in_process_grid(other), other, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"damaged", b"", b"PK\x03\x04", None], ids=str)
def test_a_damaged_or_missing_entry_is_named_and_what_is_before_it_kept(
    content: bytes | None, uninterrupted: str, tmp_path: Path
) -> None:
    settings = make_settings(data="wine", sites=3, tol=1e-3)
    stop_before(6, settings, tmp_path)
    _, entry, *later = sorted((tmp_path / FOLDER).glob("*.npz"))
    entry.unlink() if content is None else entry.write_bytes(content)
    with pytest.raises(SettingError, match=later[0].name if content is None else entry.name):
        run(in_process_grid(resumed(tmp_path)), resumed(tmp_path), tmp_path)
    for path in (entry, *later):
        path.unlink(missing_ok=True)
    grid = in_process_grid(resumed(tmp_path))
    assert run(grid, resumed(tmp_path), tmp_path).model.sha256() == uninterrupted


def test_a_full_disk_does_not_take_the_checkpoint_from_a_run_that_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before(6, make_settings(**QUICK), tmp_path)
    again = resumed(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        patch.setattr(Path, "write_text", full)
        with pytest.raises(FederationError, match="device"):
            Checkpoint(tmp_path, again)
    assert resumed(tmp_path) == again


def test_of_a_checkpoint_that_is_removed_in_part_no_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(tmp_path, make_settings(out=str(tmp_path)))
    for task in ("moments", "cuts"):
        checkpoint.write(task, Nothing(), ("a", "b"), {"sums": np.ones(3)})
    remove, removed = Path.unlink, []

    def killed_later(path: Path, missing_ok: bool = False) -> None:
        if len(removed) == 2:
            raise KilledError
        removed.append(path)
        remove(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", killed_later)
    with pytest.raises(KilledError):
        checkpoint.remove()
    with pytest.raises(SettingError, match="no checkpoint"):
        resumed(tmp_path)


def test_a_table_that_has_changed_meanwhile_is_noticed(tmp_path: Path) -> None:
    table = tmp_path / "ward.csv"
    text = "age,label\n" + "".join(f"{40 + 7 * n % 31},{n // 3 % 2}\n" for n in range(90))
    table.write_text(text)
    settings = make_settings(**{**QUICK, "data": str(table), "privacy": "exact", "tol": 1e-3})
    whole = run(in_process_grid(settings), settings, tmp_path / "whole").model.sha256()
    stop_before(5, settings, tmp_path / "run")
    again = resumed(tmp_path / "run")
    table.write_text(text.replace("47,", "48,", 1))
    with pytest.raises(FederationError, match="table has changed"):
        run(in_process_grid(again), again, tmp_path / "run")
    # A new run in this process reads it anew.
    assert run(in_process_grid(settings), settings, tmp_path / "new").model.sha256() != whole
    table.write_text(text)
    assert run(in_process_grid(again), again, tmp_path / "run").model.sha256() == whole


def test_a_full_disk_is_told_in_words_and_leaves_the_earlier_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(tmp_path, make_settings(out=str(tmp_path)))
    checkpoint.write("moments", Nothing(), ("a", "b"), {"sums": np.ones(3)})

    def savez(file: Any, **_: object) -> None:
        file.write(b"the beginning")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", savez)
    with pytest.raises(FederationError, match="device"):
        checkpoint.write("cuts", Nothing(), ("a", "b"), {"sums": np.ones(3)})
    assert sums_in(tmp_path) == 1
    assert not list((tmp_path / FOLDER).glob("*.part"))


def test_other_accounts_read_neither_sums_nor_the_runs_folder(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        stop_before(4, make_settings(data="wine", sites=3, audit=True), tmp_path / "run")
        checkpoint = tmp_path / "run" / FOLDER
        files = list(checkpoint.glob("*.npz"))
        assert {len(path.stem.split("-")) for path in files} == {2, 4}
        for path in (tmp_path / "run", checkpoint, *files):
            assert path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0, path
        # A folder that is there is somebody's choice; what is in a checkpoint is not.
        (tmp_path / "own" / FOLDER).mkdir(parents=True)
        stop_before(4, make_settings(data="wine", sites=3), tmp_path / "own")
        assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o755
        assert stat.S_IMODE((tmp_path / "own" / FOLDER).stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_one_that_is_deleted_under_a_run_is_not_called_kept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, make_settings(data="wine", sites=3))
    checkpoint.write("join", Nothing(), ("site-1",), {"a": np.ones(2)})
    shutil.rmtree(checkpoint.folder)
    with pytest.raises(FederationError, match="removed"):
        checkpoint.write("scaling", Nothing(), ("site-1",), {"a": np.ones(2)})

"""Where results go, and how a run goes on."""

import errno
import json
import os
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flwr.clientapp import ClientApp

from clients.node.node_config import NODE_FILE
from flower_pansvm.errors import EngineError, SettingError
from flower_pansvm.tasks import Nothing
from simulations import running
from simulations.engines.in_process import InProcessGrid
from strategies import app
from strategies.deployment.coordinator import COORDINATOR_FILE
from strategies.federation.checkpoint import Checkpoint, sums_in
from strategies.run_folder import run_folder
from strategies.settings import Settings, make_settings
from tests.command_line import Run

QUICK = ("--data=wine", "--sites=3", "--set=landmarks=10", "--set=tol=0.1", "--set=privacy=exact")


def quick(pansvm: Run, *arguments: object) -> tuple[int, str, str]:
    return pansvm("run", "--engine", "in-process", *QUICK, *arguments)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_folder_that_is_closed_is_found_before_anything_is_computed(
    pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("this account may write anywhere")
    monkeypatch.setattr(running, "check", None)
    code, printed, err = quick(pansvm, "--out", "locked/out")
    assert (code, printed) == (1, "")
    assert err.startswith("Error: ")
    assert "locked" in err


@pytest.mark.parametrize("kind", ["coordinator", "hospital", "checkout"])
def test_results_are_not_written_among_what_has_another_use(kind: str, tmp_path: Path) -> None:
    """Such as the keys of a coordinator, who types its folder as --out."""
    file = {"coordinator": COORDINATOR_FILE, "hospital": NODE_FILE, "checkout": "pyproject.toml"}[kind]
    (tmp_path / file).touch()
    with pytest.raises(SettingError), run_folder(tmp_path, overwrite=True, new=True):
        pytest.fail("it went on")
    assert [path.name for path in tmp_path.iterdir()] == [file]
    with run_folder(tmp_path / "results", overwrite=False, new=True) as folder:
        assert folder.is_dir()


def test_quiet_prints_the_figures_only(pansvm: Run) -> None:
    out = pansvm.output("run", "--engine", "in-process", *QUICK, "--out", "out", "--quiet")
    assert out.splitlines()[0].startswith("test accuracy ")


def stopped_at(task: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a run end with an error once the sums of a task are kept."""
    write = Checkpoint.write

    def stop(checkpoint: Checkpoint, name: str, *rest: object) -> None:
        write(checkpoint, name, *rest)
        if name == task:
            raise error

    monkeypatch.setattr(Checkpoint, "write", stop)


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), pytest.param(OSError("No space left on device"), marks=pytest.mark.slow)],
    ids=repr,
)
def test_a_run_that_is_stopped_says_how_to_go_on_and_does(
    error: BaseException, pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopped_at("landmarks", error, patch)
        code, out, err = quick(pansvm, "--out", "out")
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "Traceback" not in out + err
    assert f"--resume {tmp_path / 'out'}" in out + err
    for option in ("--seed=1", "--set=C=2", "--out=new", "--data=iris", "--overwrite"):
        err = pansvm.error("run", "--engine", "in-process", "--resume", "out", option)
        assert "Leave out" in err
    pansvm.output("run", "--engine", "in-process", "--resume", "out", "--set", "timeout=30")
    config = json.loads((tmp_path / "out" / "result.json").read_text())["config"]
    assert (config["timeout"], config["landmarks"]) == (30.0, "10")


def test_nothing_is_offered_where_there_is_nothing_to_go_on_with(
    pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_strategy", stop)
    code, out, err = quick(pansvm, "--out", "out")
    assert code == 130
    assert "Start the run again" in err
    assert "--resume" not in out + err


def test_a_run_that_is_over_as_the_disk_gets_full_is_not_to_be_started_again(
    pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(_: object, settings: Settings, folder: Path) -> None:
        (folder / "result.json").write_text("{}")

    monkeypatch.setattr(running, "run_strategy", train)
    monkeypatch.setattr(running, "_add_to_result", full)
    monkeypatch.setattr("strategies.report.page.write_report", full)
    code, _, err = quick(pansvm, "--out", "out")
    assert code == 1
    assert f"For its report: pansvm report {tmp_path / 'out'}" in err
    assert "Start the run again" not in err


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), SettingError("a model without a kind")])
def test_results_that_cannot_be_written_are_in_the_checkpoint_and_the_log_says_so(
    error: OSError | SettingError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    class Trained:
        def __init__(self, settings: Settings, checkpoint: Checkpoint) -> None:
            self.settings, self._checkpoint = settings, checkpoint

        def start(self, _: object) -> None:
            self._checkpoint.write("moments", Nothing(), ("a", "b", "c"), {})

    said: list[str] = []
    monkeypatch.setattr(app, "STRATEGIES", {"pan-svm": Trained})
    monkeypatch.setattr(app, "write", fails)
    monkeypatch.setattr(app.logger, "info", lambda text, *values: said.append(text % values))
    with pytest.raises(type(error)):
        app.run(InProcessGrid(ClientApp(), [], {}), make_settings(), tmp_path / "out")
    assert said == [f"the run stopped; resume it with: pansvm run --resume {tmp_path / 'out'}"]
    assert sums_in(tmp_path / "out") == 1


def test_an_engine_that_ends_says_how_to_go_on(
    pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopped_at("landmarks", EngineError("It was killed."), patch)
        patch.setattr("strategies.app.logger.info", lambda *_: None)
        code, _, err = quick(pansvm, "--out", "out")
    assert code == 1
    assert f"continue with: pansvm run --resume {tmp_path / 'out'} --engine in-process" in err
    assert err.splitlines()[-1] == "Error: It was killed."


def ward(path: Path) -> Path:
    """Write a table whose classes overlap."""
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(90, 3))
    label = (numbers[:, 0] + generator.normal(size=90) > 0).astype(int)
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(numbers, columns=["u", "v", "w"]).assign(label=label).to_csv(path, index=False)
    return path


def test_results_name_files_and_not_where_they_lie(pansvm: Run, tmp_path: Path) -> None:
    home = tmp_path / "Ann Hara" / "secret"
    wards = [ward(home / f"{name}.csv") for name in ("east", "north", "south")]
    (home / "schema.toml").write_text('[columns]\nu = { unit = "mg" }\nv = {}\nw = {}\n')
    data = [word for path in wards for word in ("--data", path)]
    quick = ("--engine", "in-process", "--set=landmarks=10", "--privacy=exact", "--cv-folds=2")
    grid = ("--C=1,4", "--gamma=1", "--schema", home / "schema.toml")
    code, out, err = pansvm("tune", *data, *quick, *grid, "--out", home / "out")
    assert code == 0, err
    # The command that trains again is for this machine.
    (again,) = [line for line in out.splitlines() if line.startswith("Best setting: ")]
    assert {str(wards[0]), str(home / "schema.toml")} <= set(shlex.split(again))
    result, report = ((home / "out" / name).read_text() for name in ("result.json", "report.html"))
    assert "secret" not in result + report
    config = json.loads(result)["config"]
    told = {"data": "east.csv|north.csv|south.csv", "schema": "schema.toml", "out": "out", "data-dir": ""}
    assert {key: config[key] for key in told} == told
    assert "east.csv, north.csv, south.csv" in report


@pytest.mark.slow
def test_what_reads_results_back_needs_no_folders(pansvm: Run, tmp_path: Path) -> None:
    ward(tmp_path / "deep" / "ward.csv")
    ward(tmp_path / "other.csv")
    common = ("--engine", "in-process", "--sites=3", "--privacy=exact", "--quiet")
    here = (*common, "--data", "deep/ward.csv")
    split = ("--strategy=random-kernel", "--split=checkerboard:3x1", "--set=min-sites=2")
    assert pansvm("run", *here, *split, "--out", "kernel")[0] == 0
    code, predicted, _ = pansvm("predict", "kernel/model.npz", "deep/ward.csv")
    assert code == 0
    assert predicted.startswith("prediction")
    assert pansvm("run", *here, "--set=landmarks=5", "--audit=record", "--out", "first")[0] == 0
    also = ("--audit=attack", "--attack-minutes=0.1", "--audit-also", "first")
    assert pansvm("run", *here, "--set=landmarks=6", *also, "--out", "second")[0] == 0
    err = pansvm.error("run", *common, "--data=other.csv", "--set=landmarks=6", *also, "--out", "third")
    assert "other records" in err

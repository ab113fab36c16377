"""What users get wrong at the command line: each ends in a clear error before anything is computed, or is handled.

How a table can be wrong is tried in ``test_bad_tables.py``.
"""

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from simulations import running
from tests.command_line import Run

CLEAR_ERROR = {
    # The commands and their options.
    "rum": "Did you mean 'run'",
    "run wine": "unexpected extra argument (wine)",
    "run --dta x": "--data",
    "run --sites many": "sites is 'many'",
    "run --attack-minutes 0": "x>=0.1",
    "run --attack-minutes 5": "--audit=attack",
    "run --audit=atack": "Did you mean 'attack'",
    "run --engine Simulation": "Did you mean 'simulation'",
    # Settings that cannot be.
    "run --sites 0": "sites is '0'",
    "run --sites 2": "min-sites is 3, but there are 2 sites",
    "run --set ''": "KEY=VALUE",
    "run --set =1": "There is no setting ''",
    "run --set C=1e400": "C is '1e400'",
    "run --set Kernel=rbf": "Did you mean 'kernel'",
    "run --set kernel=RBF": "rbf",
    "run --set privacy=dp": "Choose strategy=dp-svm or private-svm, or privacy=perturbed",
    "run --set min-sites=9": "min-sites is 9, but there are 5 sites",
    # Two answers to one question.
    "run --set C=10 --set C=20": "more than once",
    "run --seed 1 --set seed=2": "seed is given more than once",
    "tune --C 1 --C 10": "--C 1,10",
    "run --set out=elsewhere": "Give only --out",
    "run --set resume=true": "Give only --resume",
    "run --set audit=true": "Give only --audit",
    "run --data good.csv --data good.csv --data good.csv --sites 5": "files or split give 3 sites",
    # Names in upper case.
    "run --aggregation RING": "ring",
    "run --data Breast_Cancer": "Did you mean 'breast_cancer'",
    "compare --strategies Central:SVC": "'central:svc'",
    # Data, labels and splits.
    "run --data missing.csv": "There is no file 'missing.csv'",
    "run --data ''": "There is no data set ''",
    "run --data .": "There is no data set '.'",
    "run --data wine --data iris --data iris": "All sites need the same columns",
    "run --data heart --data-dir nowhere": "'nowhere' does not exist",
    "run --data heart --data-dir good.csv": "'good.csv' does not exist",
    "run --label target": "no label column 'target'",
    "run --positive 9": "No row of any site has the positive label '9'",
    "run --data good.csv --positive 1 --positive 7": "No row of any site has the positive label '7'",
    "run --positive malignant,benine": "No row of any site has the positive label 'benine'",
    "run --positive ,": "names no label",
    "run --data good.csv --positive 0,1": "a classifier needs two",
    "run --split by:nope": "no feature column 'nope'",
    "run --split dirichlet:": "dirichlet:A",
    "run --split checkerboard:2x2": "random-kernel",
    "run --strategy private-svm --data wine": "tells two classes apart, and there are 3",
    # Where results go, and what is gone on with.
    "run --out good.csv": "is a file",
    "run --out good.csv/below": "good.csv is a file, not a folder",
    "run --out done": "has the results of another run",
    "run --out stopped": "--resume",
    "run --resume nowhere": "nowhere has no checkpoint",
    "run --resume done": "done has no checkpoint",
    "run --resume stopped --seed 3": "Leave out seed",
    "run --resume stopped --data wine --label x": "Leave out data, label",
    "run --resume stopped --set C=3": "Leave out C",
    "compare --out good.csv": "is a file",
    "reproduce lu-table-3.2 --data-dir . --out good.csv": "is a file",
    # Commands that do not fit.
    "tune --strategy local-only": "pan-svm",
    "tune --set C=1 --set gamma=1": "nothing to tune",
    "tune --strategy dp-svm": "Tune one of",
    "select --strategy pan-svm": "selects no features",
    "compare --strategies ''": "nothing to compare",
    "compare --strategies pan-svn": "Did you mean 'pan-svm'",
    "compare --repeats 0": "x>=1",
    "compare --jobs 0": "x>=1",
    "reproduce": "pansvm reproduce --list",
    "reproduce lu-table-9.9 --out x": "Did you mean",
    "reproduce lu-table-3.2 --data-dir nowhere --out x": "There is no folder nowhere",
    "reproduce lu-table-3.2 --data-dir . --out x": "australian.csv.gz",
    "reproduce lin-table-3 --data-dir . --out done": "holds no reproduction",
    # Models, reports, identities.
    "export": "Missing argument 'MODEL'",
    "export model.npz": "Missing option '--out'",
    "export model.npz --out m.onnx": "cannot be read as a model",
    "export model.npz --out good.csv": "good.csv exists",
    "export model.npz --out empty": "empty is a folder",
    "inspect empty": "no model file at empty",
    "report nowhere": "no result.json",
    "report damaged": "is damaged",
    "predict model.npz good.csv --out good.csv": "good.csv exists",
    "predict model.npz good.csv --out good.csv --overwrite": "would be lost",
    "predict model.npz good.csv --out ./model.npz --overwrite": "would be lost",
    "export model.npz --out empty/../model.npz --overwrite": "would be lost",
    "predict missing.npz good.csv": "no model file at missing.npz",
    "predict model.npz good.csv": "cannot be read as a model",
}
"""What is typed, and what the error says among other things."""

HANDLED: dict[str, dict[str, object]] = {
    "run --set ' C = 10 '": {"C": 10.0},
    "run --data good.csv --positive 1.0": {"positive_labels": ("1",)},
    "run --sites 3 --set gamma=1e-3": {"gamma": 0.001},
    "run --set probability=TRUE": {"probability": True},
    "run --set C=2 --set landmarks=12 --aggregation plain --seed 3": {"C": 2.0, "landmarks": 12, "seed": 3},
    "run --data mine --set data-dir=tables": {},
    "run --out empty": {},
    "run --out done --overwrite": {},
    "run --data good.csv --data good.csv --data good.csv": {"sites": 3},
}
"""What is typed, and what a run begins with."""


class BegunError(Exception):
    """A run would begin now."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with what the commands are about; a run that begins raises BegunError with its settings."""

    def begin(settings: object, *_: object, **__: object) -> None:
        raise BegunError(settings)

    monkeypatch.setattr(running, "run", begin)
    monkeypatch.delenv("PANSVM_DATA", raising=False)
    pd.DataFrame({"age": range(20), "dose": range(20), "label": [0, 1] * 10}).to_csv(
        tmp_path / "good.csv", index=False
    )
    for name in ("empty", "done", "damaged", "stopped/checkpoint", "tables"):
        (tmp_path / name).mkdir(parents=True)
    pd.read_csv(tmp_path / "good.csv").to_csv(tmp_path / "tables" / "mine.csv.gz", index=False)
    (tmp_path / "done" / "result.json").write_text("{}")
    (tmp_path / "damaged" / "result.json").write_text("{no json")
    (tmp_path / "model.npz").write_bytes(b"no model")
    (tmp_path / "stopped" / "checkpoint" / "settings.json").write_text(json.dumps({"strategy": "pan-svm"}))
    (tmp_path / "stopped" / "checkpoint" / "00001-moments.npz").touch()
    return tmp_path


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("typed", CLEAR_ERROR)
def test_what_cannot_be_is_a_clear_error_and_changes_nothing(typed: str, folder: Path, pansvm: Run) -> None:
    before = files(folder)
    code, out, err = pansvm(*shlex.split(typed))
    assert code in (1, 2)
    # Typer puts its own errors into a box, and breaks lines there.
    text = " ".join(err.replace("│", " ").split())
    assert "Error" in text
    assert CLEAR_ERROR[typed] in text
    assert "Traceback" not in out + err
    assert files(folder) == before


@pytest.mark.parametrize("typed", HANDLED)
def test_what_can_be_understood_is(typed: str, folder: Path, pansvm: Run) -> None:
    expected = HANDLED[typed]
    with pytest.raises(BegunError) as begun:
        pansvm(*shlex.split(typed))
    (settings,) = begun.value.args
    assert {name: getattr(settings, name) for name in expected} == expected

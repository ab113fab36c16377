"""The command line: what a person types, sees, and gets wrong."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.calibration import Calibration
from flower_pansvm.cli import COMMANDS, command_at
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.version import VERSION
from strategies.steps.feature_maps import fit_map
from tests.command_line import Run


def in_process(pansvm: Run, *arguments: object, command: str = "run") -> str:
    return pansvm.output(command, "--engine", "in-process", "--out", "out", *arguments)


def test_run_shows_each_phase_and_each_round_and_leaves_three_files(pansvm: Run, tmp_path: Path) -> None:
    out = in_process(pansvm)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    lines = out.splitlines()
    for phase in (
        "join",
        "scaling",
        "landmarks",
        "feature map",
        "warm start",
        "cutting planes",
        "evaluation",
    ):
        assert any(line.startswith(f"{phase} ") for line in lines), phase
    rounds = [line for line in lines if line.startswith("cutting planes, round")]
    assert len(rounds) == result["cut_rounds"]
    assert all("upper bound" in line and "lower bound" in line for line in rounds)
    assert f"{result['accuracy']:.4f}" in out
    assert str(tmp_path / "out") in out
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"model.npz", "report.html", "result.json"}
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()


def test_figures_are_shown_before_the_report_is_written(pansvm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(folder: Path) -> Path:
        raise SettingError(f"nothing can be written into {folder}")

    monkeypatch.setattr("strategies.report.page.write_report", fails)
    code, out, error = pansvm("run", "--engine", "in-process", "--out", "out", *SMALL)
    assert code == 1
    assert "nothing can be written" in error
    assert "test accuracy" in out


def test_a_finished_run_of_which_no_more_is_read_is_not_to_be_started_again(
    pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(folder: Path) -> None:
        raise SystemExit(1)  # as the console does, of which `head` has closed the other end

    monkeypatch.setattr("simulations.cli.run._print_figures", closed)
    assert "Stopped" not in pansvm("run", "--engine", "in-process", "--out", "out", *SMALL)[2]


def test_what_a_run_shows_needs_no_plots_no_attack_and_no_other_engine(tmp_path: Path) -> None:
    code = """
import sys
from flower_pansvm.cli import main
from strategies.report import page
page.write_report = lambda folder: print("loaded", *sys.modules)
main()
"""
    arguments = ["run", "--engine", "in-process", "--out", str(tmp_path / "out"), *map(str, SMALL)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    (names,) = (line.split()[1:] for line in done.stdout.splitlines() if line.startswith("loaded "))
    rooms = {f"simulations.{name}" for name in ("attack", "baselines", "benchmarks", "comparison", "papers")}
    others = {"fastapi", "flwr.simulation", "matplotlib", "onnx", "phe", "ray", "sqlalchemy", "xgboost"}
    assert not (rooms | others | {"clients.deployment", "strategies.deployment"}) & set(names)


IRIS = ("--data", "iris", "--sites", 3, "--set", "tol=0.1")
SMALL = ("--data", "wine", "--sites", 3, "--set", "landmarks=20", "--set", "cv-folds=2")
# With noise as by default the bounds of so few rows do not meet, and every step goes on for twenty round trips.
EXACT = (*SMALL, "--set", "privacy=exact")


@pytest.mark.slow
def test_tune_prints_the_grid_and_a_command_that_trains_with_the_best_setting(
    pansvm: Run, tmp_path: Path
) -> None:
    out = in_process(pansvm, *EXACT, "--set", "C=0.01,1", command="tune")
    tuned = json.loads((tmp_path / "out" / "result.json").read_text())
    grid = tuned["chosen"]["grid"]
    assert len(grid) == 2 * 4
    accuracies = [point["accuracy"] for point in grid]
    assert accuracies == sorted(accuracies, reverse=True)
    lines = out.splitlines()
    title = next(number for number, line in enumerate(lines) if line.split()[:2] == ["C", "gamma"])
    for line, point in zip(lines[title + 1 :], grid, strict=False):
        printed = [float(word) for word in line.split()[:3]]
        assert printed == [point["C"], point["gamma"], round(point["accuracy"], 4)]
    assert "<h2>Model choice</h2>" in (tmp_path / "out" / "report.html").read_text()

    command = shlex.split(next(line for line in lines if line.startswith("Best setting: ")))[2:]
    assert command[:2] == ["pansvm", "run"]
    code, _, _ = pansvm(*command[1:], "--out", "again")
    assert code == 0
    again = json.loads((tmp_path / "again" / "result.json").read_text())
    best = again["config"]["C"], float(again["config"]["gamma"])
    assert best == (tuned["chosen"]["C"], tuned["chosen"]["gamma"])
    assert again["chosen"] is None
    assert again["objective"][0]["upper"] == pytest.approx(tuned["objective"][0]["upper"], rel=2e-3)


SELECT = (*IRIS[:4], "--landmarks=20", "--cv-folds=2", "--step=0.5", "--tol=0.05", "--privacy=exact")


@pytest.mark.parametrize(
    "strategy", ["voted-wrapper", pytest.param("filter-wrapper", marks=pytest.mark.slow)]
)
def test_select_prints_what_was_chosen_and_leaves_a_model_of_these_columns(
    strategy: str, pansvm: Run, tmp_path: Path
) -> None:
    given = [] if strategy == "voted-wrapper" else ["--strategy", strategy]
    out = in_process(pansvm, *SELECT, "--set", "features=1", *given, command="select")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["strategy"] == strategy
    chosen = result["selected"]
    model = PanSVC.load(tmp_path / "out" / "model.npz")
    assert set(model.feature_names_in_) == set(chosen)
    lines = out.splitlines()
    tested = {point["features"]: point["test_accuracy"] for point in result["accuracy_by_count"]}
    for stage, count in (("all 4  ", 4), ("the 1 chosen  ", 1)):
        (line,) = (line for line in lines if line.startswith(stage))
        assert line.split()[-1] == f"{tested[count]:.4f}"
    assert ", ".join(chosen) in out
    assert "as features=1 asks" in out
    assert "Removing " in out
    assert "per feature." in " ".join(out.split())
    figure = next(line for line in lines if line.startswith("chosen features  "))
    assert f" 1 of 4: {chosen[0]}" in figure
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h2>Feature selection</h2>" in page
    assert ("<h3>Filters</h3>" in page) == (strategy == "filter-wrapper")

    command = shlex.split(next(line for line in lines if line.startswith("pansvm predict ")))
    rows = pd.DataFrame(np.ones((2, 4)), columns=result["ranking"])
    rows[chosen].to_csv("FILE.csv", index=False)
    few = pansvm.output(*command[1:])
    rows.to_csv("FILE.csv", index=False)
    code, all_columns, err = pansvm(*command[1:])
    assert (code, all_columns) == (0, few)
    assert err.startswith("The model does not need column '")


@pytest.mark.slow
def test_run_selects_with_a_strategy_that_selects(pansvm: Run, tmp_path: Path) -> None:
    out = in_process(pansvm, *SELECT, "--strategy", "svm-rfe", "--test-fraction", 0)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {tuple(step["candidates"]) for step in result["votes"]} == {("svm-rfe",)}
    assert {point["test_accuracy"] for point in result["accuracy_by_count"]} == {None}
    assert f"{len(result['selected'])} of 4: {result['selected'][0]}" in out
    assert "pansvm predict" not in out


def predictions(pansvm: Run, tmp_path: Path, *extra: object) -> tuple[pd.DataFrame, str]:
    code, out, err = pansvm("predict", "out/model.npz", "rows.csv", "--out", "said.csv", *extra)
    assert code == 0, err
    return pd.read_csv(tmp_path / "said.csv"), out


def test_predict_writes_one_line_per_row_and_the_accuracy(pansvm: Run, tmp_path: Path) -> None:
    in_process(pansvm, *IRIS)
    model = PanSVC.load(tmp_path / "out" / "model.npz")
    names = list(model.feature_names_in_)
    rows = pd.DataFrame(np.random.default_rng(0).uniform([4, 2, 1, 0], [8, 4, 7, 3], (20, 4)), columns=names)
    rows.iloc[3, 1] = np.nan
    rows[names[::-1]].to_csv("rows.csv", index=False)
    frame, out = predictions(pansvm, tmp_path)
    assert list(frame) == ["prediction", "decision_setosa", "decision_versicolor", "decision_virginica"]
    assert list(frame["prediction"]) == list(model.predict(rows))
    assert "accuracy" not in out

    truth = model.predict(rows).astype(object)
    truth[0] = "versicolor" if truth[0] != "versicolor" else "setosa"
    rows.assign(species=truth).to_csv("rows.csv", index=False)
    _, out = predictions(pansvm, tmp_path, "--label", "species", "--overwrite")
    assert "accuracy 0.9500 over 20 rows" in out


def test_predictions_hold_no_formula(pansvm: Run, tmp_path: Path) -> None:
    """A class may be called =1+1, and an id may be anything; -1 stays what it is."""
    schema = Schema(("age",), ("-1", "0", "=1+1"))
    scaling = Scaling(np.zeros(1), np.zeros(1), np.ones(1))
    weights = np.array([[-1.0, 0.0], [0.0, 0.5], [1.0, 0.0]])
    feature_map = fit_map(Kernel("linear"), np.array([[2.0]]))
    PanSVC.from_parts(schema, scaling, feature_map, weights).save("model.npz")
    formula = '=HYPERLINK("http://example.org")'
    ids = {"-1": "-7", "0": "+a", "=1+1": formula}
    rows = pd.DataFrame({"age": [-5.0, 0.0, 5.0], "label": list(ids), "-row": list(ids.values())})
    rows.to_csv("rows.csv", index=False)
    out = pansvm.output("predict", "model.npz", "rows.csv", "--id", "-row", "--out", "said.csv")
    assert "accuracy 1.0000" in out
    said = pd.read_csv("said.csv", dtype=str)
    assert list(said)[:2] == ["'-row", "prediction"]
    assert said["prediction"].tolist() == ["-1", "0", "'=1+1"]
    assert said["'-row"].tolist() == ["-7", "'+a", f"'{formula}"]
    _, out, _ = pansvm("predict", "model.npz", "rows.csv", "--id", "-row")
    assert out == (tmp_path / "said.csv").read_text()


@pytest.mark.parametrize(
    ("classes", "decisions"),
    [("ab", ["decision"]), ("123", ["decision_1", "decision_2", "decision_3"])],
)
def test_predict_with_a_calibrated_model_writes_a_probability_per_class(
    classes: str, decisions: list[str], pansvm: Run, tmp_path: Path
) -> None:
    columns = len(decisions)
    feature_map = fit_map(Kernel("linear"), np.array([[2.0]]))
    model = PanSVC.from_parts(
        Schema(("age",), tuple(classes)),
        Scaling(np.full(1, 50.0), np.full(1, 50.0), np.full(1, 10.0)),
        feature_map,
        np.column_stack([np.arange(1.0, columns + 1), np.zeros(columns)]),
        calibration=Calibration(np.full(columns, 0.5), np.full(columns, -0.1)),
    )
    (tmp_path / "out").mkdir()
    model.save(tmp_path / "out" / "model.npz")
    rows = pd.DataFrame({"age": [30.0, 50.0, 60.0, 70.0]})
    rows.to_csv("rows.csv", index=False)
    frame, _ = predictions(pansvm, tmp_path)
    probabilities = [f"probability_{name}" for name in classes]
    assert list(frame) == ["prediction", *decisions, *probabilities]
    assert frame[probabilities].to_numpy() == pytest.approx(model.predict_proba(rows))


def test_inspect_shows_what_a_model_is_made_of(pansvm: Run, tmp_path: Path) -> None:
    model = PanSVC.from_parts(
        Schema(("age", "[red]"), ("benign", "malignant")),
        Scaling(np.zeros(2), np.zeros(2), np.ones(2)),
        fit_map(Kernel("rbf", 0.5), np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 8.0]])),
        np.arange(1.0, 5.0)[None],
    )
    model.save(tmp_path / "model.npz")
    out = pansvm.output("inspect", tmp_path / "model.npz")
    shown = {line[:30].strip().split("  ")[0]: line for line in out.splitlines()}
    assert "pan-svc" in shown["kind"]
    assert "benign, malignant" in shown["classes"]
    assert "malignant" in shown["positive class"]
    assert "age, [red]" in shown["2 columns"]
    assert "3 x 2" in shown["landmarks"]
    assert model.sha256() in out.replace("\n", "").replace(" ", "")


def test_version(pansvm: Run) -> None:
    assert pansvm("--version") == (0, f"pansvm {VERSION}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_commands_says_what_each_says_of_itself(name: str) -> None:
    row = COMMANDS[name]
    command = command_at(row.target)
    assert (command.help or "").splitlines()[0] == row.line


def test_a_folder_whose_name_is_in_another_encoding_is_refused_before_the_training(pansvm: Run) -> None:
    name = b"r\xe9sultats".decode(errors="surrogateescape")
    code, output, error = pansvm("run", "--engine", "in-process", "--out", name)
    assert code == 1
    assert "cutting planes" not in output
    assert error.startswith("Error: ")
    assert not Path(name).exists()


def test_a_number_of_sites_that_the_files_contradict(pansvm: Run, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        pd.DataFrame({"age": range(40), "label": [0, 1] * 20}).to_csv(tmp_path / name, index=False)
    files = ("--data", "a.csv", "--data", "b.csv", "--data", "c.csv")
    assert "--sites is 7" in pansvm.error("run", "--engine", "in-process", *files, "--sites", 7)
    assert not (tmp_path / "pansvm-results").exists()
    assert pansvm("run", "--engine", "in-process", *files, "--sites", 3, "--set", "privacy=exact")[0] == 0


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("clients/__init__.py", ["hospital", "check"]),
        ("strategies.py", ["hospital", "check"]),
        ("strategies/__init__.py", ["coordinator", "start"]),
        ("simulations/__init__.py", ["demo"]),
    ],
)
def test_a_folder_in_pythonpath_that_hides_a_package_of_ours_is_named(
    file: str, command: list[str], pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "another's" / file
    other.parent.mkdir(parents=True)
    other.touch()
    package = Path(file).parts[0].removesuffix(".py")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path / "another's")
        patch.delitem(sys.modules, package)
        code, _, err = pansvm(*command)
    assert code == 1
    assert f"{other} hides the package '{package}'" in err

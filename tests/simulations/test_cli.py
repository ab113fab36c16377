"""The command line: what a person types, sees, and gets wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.calibration import Calibration
from flower_pansvm.kernels import Kernel
from flower_pansvm.model import PanSVC
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema

Run = Callable[..., tuple[int, str, str]]


def in_process(pansvm: Run, *arguments: object) -> tuple[int, str, str]:
    return pansvm("run", "--engine", "in-process", "--out", "out", *arguments)


def test_run_shows_each_phase_and_each_round_and_leaves_three_files(pansvm: Run, tmp_path: Path) -> None:
    code, out, err = in_process(pansvm)
    assert (code, err) == (0, "")
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
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "model.npz",
        "report.html",
        "result.json",
    ]
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()


def test_one_file_per_site_and_positive_labels(pansvm: Run, shared_data: Path, tmp_path: Path) -> None:
    files = [shared_data / f"heart-{name}.csv.gz" for name in ("cleveland", "hungarian", "switzerland", "va")]
    arguments = [part for file in files for part in ("--data", file)]
    code, _, err = in_process(pansvm, *arguments, "--positive", "1,2,3,4")
    assert (code, err) == (0, "")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["sites"] == 4
    assert result["rows_train"] + result["rows_test"] == 920
    assert result["classes"] == ["negative", "positive"]


def test_settings_reach_the_run(pansvm: Run, tmp_path: Path) -> None:
    code, _, _ = in_process(
        pansvm, "--data", "wine", "--sites", 4, "--seed", 3, "--split", "dirichlet:1", "--set", "C=2",
        "--set", "landmarks=12", "--set", "min-cluster=1", "--set", "gamma=0.1", "--aggregation", "plain",
        "--test-fraction", 0.3,
    )  # fmt: skip
    assert code == 0
    config = json.loads((tmp_path / "out" / "result.json").read_text())["config"]
    expected = {"C": 2.0, "landmarks": "12", "gamma": "0.1", "aggregation": "plain", "sites": 4, "seed": 3}
    assert expected.items() <= config.items()


def predictions(pansvm: Run, tmp_path: Path, *extra: object) -> tuple[pd.DataFrame, str]:
    code, out, err = pansvm("predict", "out/model.npz", "rows.csv", "--out", "said.csv", *extra)
    assert code == 0, err
    return pd.read_csv(tmp_path / "said.csv"), out


def test_predict_writes_one_line_per_row_and_the_accuracy(pansvm: Run, tmp_path: Path) -> None:
    in_process(pansvm, "--data", "iris", "--sites", 3)
    model = PanSVC.load(tmp_path / "out" / "model.npz")
    names = list(model.feature_names_in_)
    rows = pd.DataFrame(np.random.default_rng(0).uniform(0, 7, (20, 4)), columns=names)
    rows.iloc[3, 1] = np.nan
    rows[names[::-1]].to_csv("rows.csv", index=False)
    frame, out = predictions(pansvm, tmp_path)
    assert list(frame) == ["prediction", "decision_setosa", "decision_versicolor", "decision_virginica"]
    assert list(frame["prediction"]) == list(model.predict(rows))
    assert "accuracy" not in out

    truth = model.predict(rows).astype(object)
    truth[0] = "versicolor" if truth[0] != "versicolor" else "setosa"
    rows.assign(species=truth).to_csv("rows.csv", index=False)
    _, out = predictions(pansvm, tmp_path, "--label", "species")
    assert "accuracy 0.9500 over 20 rows" in out


def test_predict_for_two_classes_prints_csv(pansvm: Run, tmp_path: Path) -> None:
    in_process(pansvm)
    model = PanSVC.load(tmp_path / "out" / "model.npz")
    pd.DataFrame(np.ones((2, 30)), columns=model.feature_names_in_).to_csv("rows.csv", index=False)
    code, out, err = pansvm("predict", "out/model.npz", "rows.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "prediction,decision"
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("classes", "decisions"),
    [
        (("benign", "malignant"), ["decision"]),
        (("1", "2", "3"), ["decision_1", "decision_2", "decision_3"]),
    ],
)
def test_predict_with_a_calibrated_model_writes_a_probability_per_class(
    classes: tuple[str, ...], decisions: list[str], pansvm: Run, tmp_path: Path
) -> None:
    columns = len(decisions)
    feature_map = NystromMap.fit(Kernel("linear"), np.array([[2.0]]))
    model = PanSVC.from_parts(
        Schema(("age",), classes),
        Scaling(np.full(1, 50.0), np.full(1, 50.0), np.full(1, 10.0)),
        feature_map,
        np.column_stack([np.arange(1.0, columns + 1), np.zeros(columns)]),
        calibration=Calibration(np.full(columns, 0.5), np.full(columns, -0.1)),
    )
    (tmp_path / "out").mkdir()
    model.save(tmp_path / "out" / "model.npz")
    rows = pd.DataFrame({"age": [30.0, 50.0, np.nan, 70.0]})
    rows.to_csv("rows.csv", index=False)
    frame, _ = predictions(pansvm, tmp_path)
    probabilities = [f"probability_{name}" for name in classes]
    assert list(frame) == ["prediction", *decisions, *probabilities]
    assert frame[probabilities].to_numpy() == pytest.approx(model.predict_proba(rows))


def test_report_is_made_again_from_the_result(pansvm: Run, tmp_path: Path) -> None:
    in_process(pansvm, "--data", "iris", "--sites", 3)
    before = (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "report.html").unlink()
    code, _, _ = pansvm("report", "out")
    assert code == 0
    assert (tmp_path / "out" / "report.html").read_text().count("<tr>") == before.count("<tr>")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "no_such_set"], ["no_such_set"]),
        (["--data", "breast_cance"], ["breast_cancer"]),
        (["--data", "table.csv"], ["'label'", "outcome"]),
        (["--data", "table.csv", "--label", "outcom"], ["outcome"]),
        (["--data", "text.csv"], ["'age'", "row 2"]),
        (["--data", "nolabels.csv"], ["label", "row 1"]),
        (["--data", "empty.csv"], ["no rows"]),
        (["--strategy", "pan-svn"], ["pan-svm"]),
        (["--aggregation", "rng"], ["ring"]),
        (["--engine", "simulate"], ["simulation"]),
        (["--split", "idd"], ["iid"]),
        (["--split", "dirichlet:-1"], ["dirichlet"]),
        (["--set", "gama=1"], ["gamma"]),
        (["--set", "C"], ["KEY=VALUE"]),
        (["--set", "C=0"], ["C is 0"]),
        (["--set", "C=nan"], ["C is nan"]),
        (["--set", "gamma=-1"], ["gamma is -1"]),
        (["--set", "gamma=big"], ["gamma", "scale"]),
        (["--set", "kernel=rfb"], ["rbf"]),
        (["--set", "landmarks=100000"], ["landmarks is 100000", "rows"]),
        (["--set", "landmarks=1.5"], ["landmarks"]),
        (["--set", "min-cluster=0"], ["min-cluster"]),
        (["--set", "sites=1.5"], ["sites", "whole"]),
        (["--sites", "2"], ["min-sites"]),
        (["--sites", "1"], ["sites is 1"]),
        (["--sites", "10000"], ["10000"]),
        (["--test-fraction", "1"], ["test-fraction"]),
        (["--data", "three.csv", "--data", "three.csv", "--data", "other.csv"], ["'dose'", "site-002"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gets_a_clear_error_and_no_traceback(
    arguments: list[str], words: list[str], pansvm: Run, tmp_path: Path
) -> None:
    good = pd.DataFrame({"age": range(20), "dose": range(20), "label": [0, 1] * 10})
    good.to_csv("three.csv", index=False)
    good.drop(columns="dose").to_csv("other.csv", index=False)
    good.rename(columns={"label": "outcome"}).to_csv("table.csv", index=False)
    good.astype({"age": object}).replace({"age": {1: "SECRETVALUE"}}).to_csv("text.csv", index=False)
    good.assign(label=np.where(np.arange(20) == 0, np.nan, 1)).to_csv("nolabels.csv", index=False)
    good.iloc[:0].to_csv("empty.csv", index=False)
    code, out, err = in_process(pansvm, *arguments)
    assert code not in (0, None)
    assert "Error" in err
    for word in words:
        assert word in err
    assert "Traceback" not in out + err
    assert "SECRETVALUE" not in out + err
    assert not (tmp_path / "out" / "model.npz").exists()


@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x03\x04 truncated"])
def test_predict_with_a_damaged_model(content: bytes, pansvm: Run, tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(content)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    code, _, err = pansvm("predict", "model.npz", "rows.csv")
    assert code == 1
    assert err.startswith("Error: model.npz")


def test_predict_with_a_truncated_model_and_with_a_missing_column(pansvm: Run, tmp_path: Path) -> None:
    in_process(pansvm, "--data", "iris", "--sites", 3)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    code, _, err = pansvm("predict", "out/model.npz", "rows.csv")
    assert code == 1
    assert "sepal" in err
    whole = (tmp_path / "out" / "model.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    code, _, err = pansvm("predict", "cut.npz", "rows.csv")
    assert code == 1
    assert "truncated" in err


def test_help_names_the_commands(pansvm: Run) -> None:
    code, out, _ = pansvm("--help")
    assert code == 0
    assert {"run", "predict", "report"} <= set(out.split())

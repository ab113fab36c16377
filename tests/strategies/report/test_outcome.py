"""Strategies that are nothing like PAN-SVM run, and leave result, model, report and audit like any other.

Each is written as its author would: one class here, and no line anywhere else.
"""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestCentroid as CentralNearestCentroid

from clients.prediction import predict_file
from flower_pansvm.errors import ModelFileError, SettingError
from flower_pansvm.models.model import MODELS, Model, load_model
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.scaling import ROWS
from flower_pansvm.systems.selection import CLASS_MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.data.pooling import pooled
from simulations.engines.in_process import in_process_grid
from simulations.running import run
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.registry import STRATEGIES
from strategies.report.section import Result, Section
from strategies.report.sections import FOR_ENGINEERS
from strategies.settings import Settings, make_settings
from strategies.steps.joining import join
from strategies.steps.scaling import broadcast_scalings, learn_moments
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import PanSvmSettings
from tests.command_line import Run


class Centroids(Model):
    """Predicts the class whose centroid is nearest."""

    def __init__(self, schema: Schema, scaling: Scaling, centroids: NDArray[np.float64]) -> None:
        self.schema_, self.scaling, self.centroids = schema, scaling, centroids

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        rows = self.scaling.transform(np.asarray(X, dtype=np.float64))
        distances = np.square(rows[:, None] - self.centroids).sum(axis=2)
        return np.array(self.schema_.classes)[distances.argmin(axis=1)]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        names = {"columns": np.array(self.schema_.columns), "classes": np.array(self.schema_.classes)}
        scaling = {part: getattr(self.scaling, part) for part in ("fill", "shift", "scale")}
        return {**names, **scaling, "centroids": self.centroids}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        schema = Schema(tuple(map(str, arrays["columns"])), tuple(map(str, arrays["classes"])))
        return cls(schema, Scaling(arrays["fill"], arrays["shift"], arrays["scale"]), arrays["centroids"])


class NearestCentroid(PhasedStrategy):
    """The mean of each class's scaled rows, by one secure sum."""

    settings_class = PanSvmSettings
    settings: PanSvmSettings

    def fit(self, federation: Federation) -> Outcome:
        schema = join(federation, self.settings)
        with federation.costs.phase("scaling"):
            scaled = learn_moments(federation, self.settings.scaling).scaled()
            broadcast_scalings(federation, [scaled.scaling])
        with federation.costs.phase("centroids"):
            sums = federation.secure_sum(CLASS_MOMENTS, Nothing())
            rows = federation.secure_sum(ROWS, Nothing()).rows.sum(axis=0)
        model = Centroids(schema, scaled.scaling, sums.total / sums.count)
        return Outcome(model, figures={"class_rows": rows.astype(int).tolist()})


class CountsOnly(PhasedStrategy):
    """Counts, and trains nothing."""

    settings_class = PanSvmSettings
    settings: PanSvmSettings

    def fit(self, federation: Federation) -> Outcome:
        join(federation, self.settings)
        moments = learn_moments(federation, self.settings.scaling)
        return Outcome(figures={"class_rows": moments.class_rows().astype(int).tolist()})


def rarest_class(result: Result) -> dict[str, str]:
    return {"rarest class": f"{min(result['class_rows'])} rows"}


def rows_by_class(result: Result) -> str:
    counts = dict(zip(result["classes"], result["class_rows"], strict=True))
    return "".join(f"<p>{escape(name)}: {rows}</p>" for name, rows in counts.items())


CLASS_ROWS = Section("Rows of each class", ("class_rows", "classes"), rows_by_class, headline=rarest_class)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the strategies for one test only: other tests ask which there are."""
    monkeypatch.setattr("strategies.report.page.FOR_ENGINEERS", [*FOR_ENGINEERS, CLASS_ROWS])
    monkeypatch.setitem(MODELS.data, "nearest-centroid", Centroids)
    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data})
    STRATEGIES["nearest-centroid"] = NearestCentroid
    STRATEGIES["counts-only"] = CountsOnly


def finished(folder: Path, strategy: str, **changes: Any) -> tuple[dict[str, Any], str, list[str]]:
    """Return result, report and lines of a run."""
    lines: list[str] = []
    chosen = {"data": "wine", "sites": 3, "strategy": strategy, "out": str(folder), **changes}
    run(make_settings(**chosen), "in-process", lines.append)
    return json.loads((folder / "result.json").read_text()), (folder / "report.html").read_text(), lines


def training_rows(settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    pool = pooled(settings)
    return pool.train.X, np.array(pool.schema.classes)[pool.train.classes]


def test_a_strategy_with_a_model_of_its_own_leaves_all_that_others_leave(tmp_path: Path) -> None:
    result, report, lines = finished(tmp_path / "out", "nearest-centroid", privacy="exact")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"model.npz", "report.html", "result.json"}
    X, y = training_rows(make_settings(data="wine", sites=3))
    assert (result["rows_train"], result["features"], result["sites"]) == (len(y), X.shape[1], 3)
    assert result["class_rows"] == [int(np.count_nonzero(y == name)) for name in result["classes"]]
    exact = {entry["task"] for entry in result["disclosed"] if entry["how"] == "exact"}
    assert exact == {"moments", "class_moments", "rows"}
    # It was not tried, and nobody says that it was.
    assert (result["accuracy"], result["rows_test"]) == (None, 0)
    assert not any("test accuracy" in line for line in lines)

    model = load_model(tmp_path / "out" / "model.npz")
    assert (model.kind, model.sha256()) == ("nearest-centroid", result["model_sha256"])
    central = CentralNearestCentroid().fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert list(model.predict(X)) == list(central.predict((X - X.mean(axis=0)) / X.std(axis=0)))

    for words in (
        "<h2>Rows of each class</h2>",
        "rarest class",
        "<h2>What left each site</h2>",
        "<h2>Time</h2>",
    ):
        assert words in report
    for words in ("Convergence", "Model choice", "Feature selection", "curious", "gap between bounds"):
        assert words not in report


def test_its_model_predicts_the_rows_of_a_file(pansvm: Run, tmp_path: Path) -> None:
    finished(tmp_path / "out", "nearest-centroid")
    X, y = training_rows(make_settings(data="wine", sites=3))
    model = load_model(tmp_path / "out" / "model.npz")
    columns = list(model.schema_.columns)
    rows = pd.DataFrame(X, columns=columns).assign(label=y, ward=7)
    rows[["ward", *columns[::-1], "label"]].to_csv(tmp_path / "rows.csv", index=False)
    predictions = predict_file(tmp_path / "out" / "model.npz", tmp_path / "rows.csv", None)
    assert list(predictions.frame) == ["prediction"]
    assert list(predictions.frame["prediction"]) == list(model.predict(X))
    assert predictions.right.value == np.mean(model.predict(X) == y) > 0.9
    assert predictions.unused == ("ward",)
    _, out, _ = pansvm("predict", tmp_path / "out" / "model.npz", tmp_path / "rows.csv")
    assert out.splitlines()[0] == "prediction"


def test_its_audit_says_what_was_looked_at_and_what_was_not(tmp_path: Path) -> None:
    result, report, lines = finished(tmp_path / "out", "nearest-centroid", audit=True)
    found = result["audit"]
    assert found["fewest_rows"] > 20
    assert found["not_examined"] == []
    assert "rows in the smallest sum over a class" in "\n".join(lines)
    assert "rows in the smallest sum over a class" in report


def test_an_audit_finds_a_class_of_one_row(tmp_path: Path) -> None:
    X, y = training_rows(make_settings(data="wine", sites=3, test_fraction=0.0))
    columns = [f"x{number}" for number in range(X.shape[1])]
    data = []
    for site in range(3):
        labels = y[site::3].astype(object)
        if site == 0:
            labels[0] = "alone"
        data.append(str(tmp_path / f"site{site}.csv"))
        pd.DataFrame(X[site::3], columns=columns).assign(label=labels).to_csv(data[-1], index=False)
    chosen = {"privacy": "exact", "data": "|".join(data), "test_fraction": 0.0, "positive": "alone"}
    result, _, _ = finished(tmp_path / "out", "nearest-centroid", audit=True, **chosen)
    assert result["audit"]["fewest_rows"] == 1


def test_a_strategy_without_a_model_says_so_wherever_one_is_asked_for(pansvm: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.npz").write_bytes(b"of an earlier run")
    result, report, _ = finished(tmp_path / "out", "counts-only")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "result.json"}
    assert (result["model_sha256"], result["model_kind"], result["accuracy"]) == (None, None, None)
    assert (len(result["classes"]), result["features"]) == (3, 13)
    assert sum(result["class_rows"]) == result["rows_train"]
    assert "makes no model" in report
    assert "<h2>Rows of each class</h2>" in report
    pd.DataFrame({"x": [1.0]}).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ModelFileError):
        predict_file(tmp_path / "out" / "model.npz", tmp_path / "rows.csv", None)
    err = pansvm.error("predict", tmp_path / "out" / "model.npz", tmp_path / "rows.csv")
    assert err.startswith("Error: There is nothing to predict with")
    pansvm.output("report", tmp_path / "out")


def test_an_attack_on_a_run_without_sums_to_solve_leaves_a_report(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    settings = make_settings(data="wine", sites=3, strategy="counts-only", out=str(folder), audit=True)
    run(settings, "in-process", lambda line: None, audit="attack", minutes=0.1)
    assert "curious coordinator" in (folder / "report.html").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "result.json"]


def test_flowers_result_holds_the_numbers_of_any_model() -> None:
    settings = make_settings(data="wine", sites=3)
    strategy = NearestCentroid(settings)
    result = strategy.start(in_process_grid(settings))
    assert isinstance(strategy.outcome.model, Centroids)
    arrays = {name: array.numpy() for name, array in result.arrays.items()}
    assert arrays.keys() == {"fill", "shift", "scale", "centroids"}
    np.testing.assert_array_equal(arrays["centroids"], strategy.outcome.model.centroids)
    assert not result.evaluate_metrics_clientapp
    assert not CountsOnly(settings).start(in_process_grid(settings)).arrays


@pytest.mark.parametrize(
    "given",
    [
        {"num_rounds": 3},
        {"timeout": 60.0},
        {"initial_arrays": ArrayRecord()},
        {"train_config": ConfigRecord()},
        {"evaluate_config": ConfigRecord()},
    ],
)
def test_what_start_would_not_use_is_refused(given: dict[str, Any]) -> None:
    settings = make_settings(data="wine", sites=3, strategy="counts-only")
    (name,) = given
    with pytest.raises(SettingError, match=name):
        CountsOnly(settings).start(in_process_grid(settings), **given)


def test_flowers_evaluate_fn_gets_the_round_trips_and_the_numbers() -> None:
    settings, seen = make_settings(data="wine", sites=3), []

    def evaluate(trips: int, arrays: ArrayRecord) -> MetricRecord:
        seen.append((trips, set(arrays)))
        return MetricRecord({"centrally": 0.5})

    strategy = NearestCentroid(settings)
    result = strategy.start(in_process_grid(settings), evaluate_fn=evaluate)
    trips = strategy.federation.costs.round_trips
    assert seen == [(trips, {"fill", "shift", "scale", "centroids"})]
    assert result.evaluate_metrics_serverapp[trips]["centrally"] == 0.5


def test_a_strategy_can_look_at_what_comes_back_after_every_round() -> None:
    seen: list[tuple[int, str, list[str]]] = []

    class Watching(NearestCentroid):
        def after_round(self, server_round: int, task_name: str, sums: Mapping[str, Any]) -> None:
            seen.append((server_round, task_name, sorted(sums)))

    settings = make_settings(data="wine", sites=3)
    Watching(settings).start(in_process_grid(settings))
    assert seen == [
        (1, "join", []),
        (2, "moments", ["count", "patients", "rows", "square", "test_rows", "total"]),
        (3, "class_moments", ["count", "square", "total"]),
        (4, "rows", ["rows"]),
    ]

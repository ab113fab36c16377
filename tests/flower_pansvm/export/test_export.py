"""Exported models: other runtimes decide as the model does, for each kind, or the export is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.calibration import Calibration
from flower_pansvm.errors import ModelFileError
from flower_pansvm.export import onnx_models
from flower_pansvm.export.export import export, likely_rows
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.fourier_svc import FourierSVC, RandomFourierSVC
from flower_pansvm.models.model import Model, load_model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import one_versus_one
from flower_pansvm.privacy.exact import in_turns
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from simulations.engines.in_process import train_in_process
from simulations.running import with_sites_of_data
from strategies.settings import make_settings
from strategies.steps.feature_maps import fit_map
from tests.command_line import Run

onnx = pytest.importorskip("onnx", reason="the extra export is not installed")
onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
COLUMNS = ("age", "dose", "größe, cm", "[red]")
THREE = ("1", "2", "10")
SCALING = Scaling(
    np.array([50.0, 0.01, 170.0, -1e6]), np.array([50.0, 0.02, 171.0, 0.0]), np.array([10.0, 0.01, 9.0, 1e6])
)


def pan_svc(kernel: Kernel, classes: tuple[str, ...], ovo: bool = False, sigmoids: bool = False) -> PanSVC:
    pairs = one_versus_one(len(classes)) if ovo else None
    feature_map = fit_map(kernel, RNG.normal(size=(12, 4)))
    columns = 1 if len(classes) == 2 else len(classes)
    problems = len(pairs) if pairs else columns
    weights = RNG.normal(size=(problems, feature_map.rank + 1))
    # No class wins everywhere.
    weights[:, -1] = -(feature_map.transform(feature_map.landmarks) @ weights[:, :-1].T).mean(axis=0)
    calibration = Calibration(RNG.uniform(0.5, 2, columns), RNG.normal(size=columns)) if sigmoids else None
    return PanSVC.from_parts(Schema(COLUMNS, classes), SCALING, feature_map, weights, pairs, calibration)


def fourier_svc(classes: tuple[str, ...], linear: float) -> FourierSVC:
    steps = np.cumsum(RNG.uniform(size=(4, BINS)), axis=1)
    fourier = FourierMap(
        RNG.normal(size=4) - 5, RNG.normal(size=4) + 5, steps - steps.mean(), RNG.uniform(size=(4, BINS)),
        RNG.uniform(0.3, 0.7, 4), RNG.uniform(0.1, 0.3, 4), in_turns(RNG.normal(size=(15, 4))), linear,
    )  # fmt: skip
    weights = RNG.normal(size=(fourier.size, 1 if len(classes) == 2 else len(classes)))
    return FourierSVC.from_parts(Schema(COLUMNS, classes), fourier, weights)


OURS: dict[str, Model] = {
    "rbf, two classes": pan_svc(Kernel("rbf", 0.5), ("no", "yes")),
    "rbf, two classes, probabilities": pan_svc(Kernel("rbf", 0.5), ("0", "1"), sigmoids=True),
    "linear, one versus all": pan_svc(Kernel("linear"), THREE),
    "linear, one versus one": pan_svc(Kernel("linear"), THREE, ovo=True),
    "rbf, one versus all, probabilities": pan_svc(Kernel("rbf", 0.2), ("a", "b", "c, d"), sigmoids=True),
    "rbf, one versus one, probabilities": pan_svc(
        Kernel("rbf", 0.2), (*THREE, "12"), ovo=True, sigmoids=True
    ),
}
OTHERS: dict[str, Model] = {
    "fourier, two classes": fourier_svc(("no", "yes"), 0.6),
    "fourier, three classes": fourier_svc(THREE, 0.0),
}


def said_by_onnx(file: Path, cells: pd.DataFrame) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": cells.to_numpy()}), strict=True))


def assert_onnx_decides_the_same(model: Model, file: Path) -> None:
    export(model, file)
    # Other rows than those that the export has tried; the last has no cell at all.
    cells = likely_rows(model).sample(frac=0.5, random_state=1) * 1.1
    cells.iloc[-1] = np.nan
    said = said_by_onnx(file, cells)
    expected = model.decision_function(cells)
    assert said["decision"] == pytest.approx(expected, abs=1e-5, rel=1e-5)
    assert said["label"].tolist() == model.predict(cells).tolist()
    assert ("probabilities" in said) == hasattr(model, "predict_proba")
    if "probabilities" in said:
        assert said["probabilities"] == pytest.approx(model.predict_proba(cells), abs=1e-9)
    about = {entry.key: entry.value for entry in onnx.load(file).metadata_props}
    assert json.loads(about["columns"]) == list(model.schema_.columns)
    assert json.loads(about["classes"]) == list(model.schema_.classes)
    assert about["sha256"] == model.sha256()


@pytest.mark.parametrize("name", [*OURS, *OTHERS])
def test_onnxruntime_alone_decides_as_the_model(name: str, tmp_path: Path) -> None:
    model = {**OURS, **OTHERS}[name]
    assert_onnx_decides_the_same(model, tmp_path / "model.onnx")
    assert name in OTHERS or len(set(model.predict(likely_rows(model)))) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"data": "wine", "sites": 3, "privacy": "exact", "tol": 0.1, "probability": True},
        {"strategy": "dp-svm", "epsilon": 10.0},
    ],
    ids=lambda one: one.get("strategy", "pan-svm"),
)
def test_models_of_runs(settings: dict[str, Any], tmp_path: Path) -> None:
    model = train_in_process(with_sites_of_data(make_settings(**settings))).outcome.model
    model.save(tmp_path / "model.npz")
    assert_onnx_decides_the_same(load_model(tmp_path / "model.npz"), tmp_path / "model.onnx")


@pytest.mark.parametrize("strategy", ["random-kernel", "mixture"])
def test_models_of_systems_to_compare_with_are_refused(strategy: str, tmp_path: Path) -> None:
    model = train_in_process(with_sites_of_data(make_settings(strategy=strategy))).outcome.model
    with pytest.raises(ModelFileError):
        export(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_of_the_random_map_is_refused(tmp_path: Path) -> None:
    feature_map = RandomFourierMap(np.zeros(4), np.ones(4), in_turns(RNG.normal(size=(3, 4))))
    model = RandomFourierSVC.from_parts(Schema(COLUMNS, ("a", "b")), feature_map, RNG.normal(size=(6, 1)))  # type: ignore[arg-type]
    with pytest.raises(ModelFileError, match="its system is a baseline"):
        export(model, tmp_path / "model.onnx")


def test_a_file_that_decides_otherwise_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = pan_svc(Kernel("rbf", 0.5), ("no", "yes"))
    as_onnx = onnx_models.as_onnx
    monkeypatch.setattr(onnx_models, "as_onnx", lambda _: as_onnx(other))
    with pytest.raises(ModelFileError):
        export(OURS["rbf, two classes"], tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_command_says_how_the_file_is_used_and_writes_over_nothing_unasked(
    pansvm: Run, tmp_path: Path
) -> None:
    OURS["rbf, two classes, probabilities"].save(tmp_path / "model.npz")
    (tmp_path / "taken.onnx").write_text("kept")
    out = pansvm.output("export", "model.npz", "--out", "new/model.onnx")
    assert "differ from the model's" in out
    assert (tmp_path / "new" / "model.onnx").exists()
    code, _, err = pansvm("export", "model.npz", "--out", "taken.onnx")
    assert (code, err.startswith("Error: taken.onnx exists. ")) == (1, True)
    assert (tmp_path / "taken.onnx").read_text() == "kept"
    code, _, _ = pansvm("export", "model.npz", "--out", "taken.onnx", "--overwrite")
    assert code == 0
    assert (tmp_path / "taken.onnx").read_bytes() == (tmp_path / "new" / "model.onnx").read_bytes()

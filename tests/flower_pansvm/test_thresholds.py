"""Thresholds that a person chooses: no prediction contradicts the probability or the sensitivity that was named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from flower_pansvm.errors import SettingError
from flower_pansvm.thresholds import operating_point
from tests.command_line import Run, finished

RESULT = {
    "classes": ["healthy", "ill"],
    "confusion": [[25, 2], [3, 10]],
    "decision_groups": [
        [
            {"others": 15, "of_class": 1, "probability": 0.1, "least": None},
            {"others": 10, "of_class": 2, "probability": 0.4, "least": -0.5},
            {"others": 2, "of_class": 10, "probability": 0.9, "least": 0.7},
        ]
    ],
}


def test_operating_points_by_hand() -> None:
    strict, lax, everybody = (operating_point(RESULT, wanted) for wanted in (10 / 13, 0.9, 0.95))
    assert (strict.decision, lax.decision, everybody.decision) == (0.7, -0.5, None)
    assert (strict.sensitivity.value, strict.specificity.value) == (10 / 13, 25 / 27)
    assert (lax.sensitivity.value, lax.specificity.value, lax.ppv.value, lax.npv.value) == (
        12 / 13,
        15 / 27,
        12 / 24,
        15 / 16,
    )
    assert (everybody.sensitivity.value, everybody.npv) == (1.0, None)


def test_a_test_of_one_class_or_without_decision_values_has_no_operating_point() -> None:
    one_class = [[{"others": 0, "of_class": 9, "probability": None, "least": None}]]
    for change in ({"decision_groups": None}, {"decision_groups": one_class}, {"classes": ["a", "b", "c"]}):
        assert operating_point(RESULT | change, 0.9) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with probabilities, and ``new.csv`` in it."""
    home = tmp_path_factory.mktemp("run")
    for name, seed, rows in (("train", 0, 400), ("new", 1, 2000)):
        X, y = make_moons(rows, noise=0.4, random_state=seed)
        frame = pd.DataFrame(X, columns=["u", "v"]).assign(label=np.where(y == 1, "ill", "healthy"))
        frame.to_csv(home / f"{name}.csv", index=False)
    finished(
        home / "out", data=str(home / "train.csv"), privacy="exact", probability=True, class_weight="balanced"
    )
    return home


def predicted(pansvm: Run, folder: Path, *options: object) -> tuple[pd.DataFrame, str]:
    """Return predictions, and what was said of them."""
    out = folder / "predictions.csv"
    code, _, said = pansvm(
        *("predict", folder / "out" / "model.npz", folder / "new.csv", "--out", out, "--overwrite", *options)
    )
    assert code == 0
    return pd.read_csv(out), said


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.93])
def test_predictions_follow_the_probability_that_was_named(
    pansvm: Run, folder: Path, threshold: float
) -> None:
    found, said = predicted(pansvm, folder, "--threshold", threshold)
    assert ((found["prediction"] == "ill") == (found["probability_ill"] >= threshold)).all()
    assert f"{threshold:g}" in said


def test_without_a_threshold_it_is_said_from_which_probability_on_a_class_is_predicted(
    pansvm: Run, folder: Path
) -> None:
    found, said = predicted(pansvm, folder)
    ill = found["prediction"] == "ill"
    boundary = (found["probability_ill"][~ill].max() + found["probability_ill"][ill].min()) / 2
    assert f"{boundary:.2f}" in said


def test_a_sensitivity_that_was_asked_for_holds_for_new_patients_within_its_interval(
    pansvm: Run, folder: Path
) -> None:
    found, _ = predicted(pansvm, folder, "--sensitivity", 0.9)
    truth = pd.read_csv(folder / "new.csv")["label"]
    assert 0.8 < (found["prediction"][truth == "ill"] == "ill").mean() < 1.0
    usual, _ = predicted(pansvm, folder)
    assert (found["prediction"] == "ill").sum() != (usual["prediction"] == "ill").sum()


@pytest.mark.parametrize(
    "options",
    [
        ("--threshold", 2),
        ("--threshold", 0),
        ("--sensitivity", 1.5),
        ("--threshold", 0.2, "--sensitivity", 0.5),
        ("--threshold", "nan"),
    ],
)
def test_thresholds_that_cannot_be(pansvm: Run, folder: Path, options: tuple[object, ...]) -> None:
    assert "--" in pansvm.error("predict", folder / "out" / "model.npz", folder / "new.csv", *options)


def test_models_that_know_no_threshold(tmp_path: Path, folder: Path) -> None:
    from clients.prediction import predict_file  # noqa: PLC0415

    finished(tmp_path / "plain", data=str(folder / "train.csv"), privacy="exact")
    finished(tmp_path / "iris", data="iris", privacy="exact", probability=True)
    for name, table, more in (
        ("plain", "new.csv", {"threshold": 0.3}),
        ("iris", "new.csv", {"threshold": 0.3}),
        ("iris", "new.csv", {"sensitivity": 0.9}),
    ):
        with pytest.raises(SettingError):
            predict_file(tmp_path / name / "model.npz", folder / table, None, **more)
    (tmp_path / "other").mkdir()
    for name, source in (("model.npz", tmp_path / "plain"), ("result.json", folder / "out")):
        (tmp_path / "other" / name).write_bytes((source / name).read_bytes())
    with pytest.raises(SettingError):
        predict_file(tmp_path / "other" / "model.npz", folder / "new.csv", None, sensitivity=0.9)
    (tmp_path / "plain" / "result.json").unlink()
    with pytest.raises(SettingError):
        predict_file(tmp_path / "plain" / "model.npz", folder / "new.csv", None, sensitivity=0.9)

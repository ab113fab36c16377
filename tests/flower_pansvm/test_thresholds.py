"""Thresholds that a person chooses: no prediction contradicts the probability or the sensitivity that was named."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from flower_pansvm.errors import SettingError
from flower_pansvm.thresholds import chosen_point, operating_point
from strategies.report.cautions import cautions
from strategies.settings import make_settings
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


def test_the_point_that_a_run_has_chosen_by_hand() -> None:
    points = [
        chosen_point(RESULT | {"config": config})
        for config in ({}, {"sensitivity": 0.9}, {"threshold": 0.3}, {"threshold": 0.5}, {"threshold": 0.95})
    ]
    assert points[0] is None
    assert [one and one.decision for one in points[1:]] == [-0.5, -0.5, 0.7, None]
    assert (points[4].sensitivity.value, points[4].specificity.value, points[4].ppv) == (0.0, 1.0, None)


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


def test_a_reports_probability_of_a_threshold_predicts_as_the_threshold_does(
    pansvm: Run, folder: Path
) -> None:
    point = operating_point(json.loads((folder / "out" / "result.json").read_text()), 0.9)
    by_decision, _ = predicted(pansvm, folder, "--sensitivity", 0.9)
    by_probability, _ = predicted(pansvm, folder, "--threshold", point.probability)
    pd.testing.assert_frame_equal(by_decision, by_probability)


@pytest.mark.parametrize("asked", [{"sensitivity": 0.95}, {"probability": True, "threshold": 0.2}], ids=str)
def test_the_threshold_of_a_runs_settings_is_in_its_report_and_predictions(
    asked: dict[str, float | bool], pansvm: Run, folder: Path, tmp_path: Path
) -> None:
    finished(tmp_path / "out", data=str(folder / "train.csv"), privacy="exact", **asked)
    shutil.copy(folder / "new.csv", tmp_path)
    (key,) = asked.keys() - {"probability"}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "The run asked for" in report
    chosen = {"chosen on the same patients as these two figures", "0.95, chosen on the same rows"}
    assert [words in report for words in chosen] == [key == "sensitivity"] * 2
    ours, said = predicted(pansvm, tmp_path)
    assert ("chosen on these rows" in said) == (key == "sensitivity")
    named, _ = predicted(pansvm, tmp_path, f"--{key}", asked[key])
    pd.testing.assert_frame_equal(ours, named)
    other, _ = predicted(pansvm, tmp_path, "--sensitivity", 0.6)
    assert (other["prediction"] == "ill").sum() < (ours["prediction"] == "ill").sum()


@pytest.mark.parametrize(
    "asked",
    [
        {"threshold": 0.3},
        {"probability": True, "threshold": 0.3, "sensitivity": 0.9},
        {"sensitivity": 1},
        {"sensitivity": 0.9, "test_fraction": 0.0},
    ],
)
def test_a_threshold_that_cannot_be_is_refused_before_the_run(asked: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        make_settings(**asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"probability": True, "threshold": 0.999}, "probability of 0.999"),
        ({"probability": True, "threshold": 0.3, "test_fraction": 0.0}, "probability of 0.3 "),
        ({"sensitivity": 0.999}, "No threshold of the test's finds"),
    ],
)
def test_a_runs_own_threshold_is_used_or_it_is_said_that_it_is_not(
    asked: dict[str, float | bool], told: str, pansvm: Run, tmp_path: Path
) -> None:
    """Rows whose labels are drawn by a coin: only who takes all rows for ill finds nearly all ill ones."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(300, 2)), columns=["u", "v"])
    frame.assign(label=generator.choice(["ill", "well"], 300)).to_csv(tmp_path / "train.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    finished(tmp_path / "out", data=str(tmp_path / "train.csv"), privacy="exact", **asked)
    _, said = predicted(pansvm, tmp_path)
    assert told in said
    if "sensitivity" in asked:
        assert "keeps to the model" in (tmp_path / "out" / "report.html").read_text()


def test_a_result_whose_settings_were_changed_is_an_error(pansvm: Run, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "out", tmp_path / "out")
    file = tmp_path / "out" / "result.json"
    for config, code in (({"sensitivity": "much"}, 1), (None, 0)):
        told = json.loads(file.read_text())
        file.write_text(json.dumps({**told, "config": config}))
        found, _, _ = pansvm(
            *("predict", tmp_path / "out" / "model.npz", folder / "new.csv"),
            *("--out", tmp_path / "p.csv", "--overwrite"),
        )
        assert found == code


def test_a_threshold_goes_with_two_classes(tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        finished(tmp_path, data="wine", privacy="exact", sensitivity=0.9)


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


def test_the_report_says_it_too_and_export_names_the_runs_threshold(
    pansvm: Run, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    _, said = predicted(pansvm, folder)
    boundary = json.loads((folder / "out" / "result.json").read_text())["predicted_from"]
    assert f"from a probability of {boundary:.3f} on" in said
    assert (
        f"is predicted from a probability of {boundary:.3f} on"
        in (folder / "out" / "report.html").read_text()
    )
    assert "threshold" not in pansvm.output("export", folder / "out" / "model.npz", "--out", "plain.onnx")
    finished(
        tmp_path / "out", data=str(folder / "train.csv"), privacy="exact", probability=True, threshold=0.2
    )
    exported = pansvm.output("export", tmp_path / "out" / "model.npz", "--out", "strict.onnx")
    assert "from a probability of 0.2 on. Compare the output probabilities" in exported


def test_predictions_of_several_classes_that_are_not_the_most_probable_are_counted(
    pansvm: Run, tmp_path: Path
) -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice(["a", "b", "c"], 500, p=[0.8, 0.12, 0.08])
    frame = pd.DataFrame(generator.normal(size=(500, 2)), columns=["u", "v"])
    frame["u"] += np.where(labels == "b", 1.5, 0)
    frame["v"] += np.where(labels == "c", 1.5, 0)
    frame.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    for weights, privacy in (("balanced", "exact"), ("none", "exact")):
        finished(
            *(tmp_path / "out",),
            **{"data": str(tmp_path / "train.csv"), "privacy": privacy, "probability": True},
            class_weight=weights,
        )
        found, said = predicted(pansvm, tmp_path)
        given = found[[f"probability_{name}" for name in "abc"]]
        wrong = int((given.idxmax(axis=1) != "probability_" + found["prediction"]).sum())
        assert (f"{wrong} of 500 predictions are not the class with the largest probability" in said) == (
            wrong > 0
        )
        assert wrong > 50 if weights == "balanced" else wrong == 0
        report = (tmp_path / "out" / "report.html").read_text()
        assert ("pansvm predict</code> says how often" in report) == (weights == "balanced")


@pytest.mark.parametrize("seed", range(3))
def test_where_labels_are_a_coins_no_probability_is_turned_round(
    pansvm: Run, tmp_path: Path, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(generator.normal(size=(300, 3)), columns=["u", "v", "w"])
    frame.assign(label=generator.choice(["ill", "well"], 300)).to_csv(tmp_path / "train.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    finished(tmp_path / "out", data=str(tmp_path / "train.csv"), privacy="exact", probability=True)
    found, said = predicted(pansvm, tmp_path)
    ill, other = (found["probability_ill"][found["prediction"] == name] for name in ("ill", "well"))
    assert ill.empty or other.empty or ill.min() >= other.max()
    assert ("Every row has the same probability" in said) == (found["probability_ill"].nunique() == 1)


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


def test_predict_repeats_the_caution_of_probabilities_from_copies(
    pansvm: Run, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder / "new.csv", tmp_path)
    asked = {"data": str(folder / "train.csv"), "privacy": "perturbed", "probability": True}
    run = finished(tmp_path / "out", **asked)
    (caution,) = [text for text in cautions(run) if "fitted on perturbed records" in text]
    assert f"Caution: {caution}" in predicted(pansvm, tmp_path)[1]
    finished(tmp_path / "out", **{**asked, "probability": False})
    assert "Caution" not in predicted(pansvm, tmp_path)[1]
    assert "Caution" not in predicted(pansvm, folder)[1]

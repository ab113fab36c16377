"""Prediction of tables that training would refuse: what can be predicted is, and it is said what was not known."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.prediction import Predictions, predict_file
from flower_pansvm.errors import TableError
from flower_pansvm.models.model import load_model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from tests.command_line import Run

SCHEMA = """\
label = "outcome"
classes = ["no", "yes"]

[columns.age]
range = [0, 120]

[columns.ward]
kind = "category"
categories = ["A", "B", "C"]

[columns.smoker]
kind = "yes/no"

[columns.dose]
missing = [-999, "n/d"]
"""


def ward(rows: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": generator.uniform(20, 90, rows).round(),
            "ward": generator.choice(["A", "B", "C"], rows),
            "smoker": generator.choice(["yes", "no"], rows),
            "dose": generator.normal(5, 1, rows).round(2),
        }
    )
    risk = frame["age"] / 20 + 2 * (frame["ward"] == "A") + (frame["smoker"] == "yes")
    return frame.assign(outcome=np.where(risk > risk.median(), "yes", "no"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a model whose sites had a schema file, and one of sites with numbers only."""
    from simulations.engines.in_process import train_in_process  # noqa: PLC0415
    from strategies.settings import make_settings  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("models")
    (folder / "schema.toml").write_text(SCHEMA)
    ward(120).to_csv(folder / "ward.csv", index=False)
    ward(120)[["age", "dose", "outcome"]].to_csv(folder / "numbers.csv", index=False)
    common = {"sites": 3, "landmarks": "10", "tol": 0.1, "privacy": "exact"}
    found = {}
    (folder / "positive.toml").write_text('positive = ["yes"]\n' + SCHEMA)
    for name, more in (
        ("schema", {"data": str(folder / "ward.csv"), "schema": str(folder / "schema.toml")}),
        ("positive", {"data": str(folder / "ward.csv"), "schema": str(folder / "positive.toml")}),
        ("numbers", {"data": str(folder / "numbers.csv"), "label": "outcome"}),
    ):
        found[name] = folder / f"{name}.npz"
        outcome = train_in_process(make_settings(**common, **more)).outcome
        outcome.model.save(found[name])
    return found


Cells = dict[tuple[int, str], Any]

# What is written into some cells, and which data rows of which columns are not known. Only where there was no schema,
# the model is that of sites with numbers only.
UNKNOWN: dict[str, tuple[Cells, dict[str, tuple[int, ...]]]] = {
    "too old": ({(3, "age"): 131}, {"age": (4,)}),
    "below the range": ({(0, "age"): -1}, {"age": (1,)}),
    "a new ward": ({(7, "ward"): "D"}, {"ward": (8,)}),
    "two new wards": ({(7, "ward"): "D", (9, "ward"): "E"}, {"ward": (8, 10)}),
    "neither yes nor no": ({(2, "smoker"): "formerly"}, {"smoker": (3,)}),
    "text for a number": ({(5, "dose"): "<5"}, {"dose": (6,)}),
    "infinite": ({(5, "dose"): "inf"}, {"dose": (6,)}),
    "too large": ({(5, "dose"): "1e300"}, {"dose": (6,)}),
    "a date": ({(5, "dose"): "2024-01-02"}, {"dose": (6,)}),
    "several in a row": (
        {(4, "dose"): "high", (4, "ward"): "?!", (4, "age"): 999},
        {"age": (5,), "ward": (5,), "dose": (5,)},
    ),
    "first and last": ({(0, "ward"): "D", (19, "age"): 500}, {"ward": (1,), "age": (20,)}),
    "what stands for missing": ({(3, "dose"): -999, (4, "dose"): "n/d", (5, "ward"): ""}, {}),
    "text without a schema": ({(5, "dose"): "trace"}, {"dose": (6,)}),
    "infinite without a schema": ({(5, "age"): "-inf"}, {"age": (6,)}),
    "empty without a schema": ({(5, "age"): ""}, {}),
}


def predicted(model: Path, table: pd.DataFrame, folder: Path, cells: Cells, **options: Any) -> Predictions:
    table = table.astype(object)
    for (row, column), value in cells.items():
        table.loc[row, column] = value
    table.to_csv(folder / "rows.csv", index=False)
    return predict_file(model, folder / "rows.csv", None, **options)


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_cell_is_named_and_counts_as_missing(
    case: str, models: dict[str, Path], tmp_path: Path
) -> None:
    cells, unknown = UNKNOWN[case]
    table = ward(20, seed=1).drop(columns="outcome")
    model = models["numbers" if "without a schema" in case else "schema"]
    found = predicted(model, table, tmp_path, cells)
    assert found.unknown == unknown
    assert found.not_predicted == ()
    empty = predicted(model, table, tmp_path, dict.fromkeys(cells, ""))
    assert empty.unknown == {}
    pd.testing.assert_frame_equal(
        found.frame.drop(columns="unknown", errors="ignore"), empty.frame, check_dtype=False
    )
    rows = sorted({row for where in unknown.values() for row in where})
    if rows:
        told = found.frame["unknown"]
        assert [place + 1 for place, text in enumerate(told) if text] == rows
        assert set(told[rows[0] - 1].split("; ")) <= set(unknown)


def test_a_table_that_is_written_otherwise_is_predicted_alike(
    models: dict[str, Path], tmp_path: Path
) -> None:
    table = ward(20, seed=1).drop(columns="outcome")
    first = predicted(models["schema"], table, tmp_path, {(3, "dose"): -999}).frame
    other = table[["smoker", "dose", "ward", "age"]].assign(junk="x", ward=table["ward"].str.lower())
    other["smoker"] = (table["smoker"] == "yes").astype(int)
    other.loc[3, "dose"] = np.nan
    other.to_parquet(tmp_path / "other.parquet")
    again = predict_file(models["schema"], tmp_path / "other.parquet", None)
    pd.testing.assert_frame_equal(again.frame, first)
    assert again.unused == ("junk",)


def test_of_a_column_that_is_not_there_the_nearest_name_is_told_that_the_model_does_not_need(
    models: dict[str, Path], tmp_path: Path
) -> None:
    table = ward(20).rename(columns={"smoker": "Smoker"})
    with pytest.raises(TableError, match="no column 'smoker', which the model needs") as error:
        predicted(models["schema"], table, tmp_path, {})
    assert error.value.with_detail().endswith("The nearest column names are 'Smoker'.")


def test_a_row_of_which_nothing_is_known_is_not_predicted(models: dict[str, Path], tmp_path: Path) -> None:
    cells = {(2, "age"): 999, (2, "ward"): "Z", (2, "smoker"): "", (2, "dose"): "none"}
    found = predicted(models["schema"], ward(20).drop(columns="outcome"), tmp_path, cells)
    assert found.not_predicted == (3,)
    assert np.flatnonzero(found.frame["prediction"].isna()).tolist() == [2]


def test_a_row_of_empty_cells_is_not_predicted(models: dict[str, Path], tmp_path: Path) -> None:
    found = predicted(
        models["numbers"], ward(20)[["age", "dose"]], tmp_path, {(4, "age"): "", (4, "dose"): ""}
    )
    assert (found.unknown, found.not_predicted, found.empty) == ({}, (), 1)
    assert len(found.frame) == 19


@pytest.mark.parametrize("name", ["prediction", "unknown", "decision"])
def test_the_ids_may_have_any_name(name: str, models: dict[str, Path], tmp_path: Path) -> None:
    table = ward(20).drop(columns="outcome").assign(**{name: range(20)})
    found = predicted(models["schema"], table, tmp_path, {(2, "ward"): "D"}, row_id=name)
    assert list(found.frame) == [name, "prediction", "decision", "unknown"]
    assert found.frame.iloc[:, 0].tolist() == list(map(str, range(20)))


@pytest.mark.parametrize("rows", [1, 9])
def test_a_few_patients_out_of_range_are_predicted(
    rows: int, models: dict[str, Path], tmp_path: Path
) -> None:
    table = ward(rows).drop(columns="outcome").assign(age=130)
    assert predicted(models["schema"], table, tmp_path, {}).unknown == {"age": tuple(range(1, rows + 1))}


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("age", 400, "numbers from 0 to 120"),
        ("ward", "north", "the categories A, B, C"),
        ("smoker", "perhaps", "yes and no"),
        ("dose", "5,25", "--decimal ','"),
    ],
)
def test_a_column_that_is_written_otherwise_is_refused_in_words_for_a_prediction(
    column: str, value: object, words: str, models: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(TableError, match=words) as caught:
        predicted(models["schema"], ward(30).assign(**{column: value}), tmp_path, {})
    assert f"column '{column}'" in str(caught.value)
    assert "schema file" not in str(caught.value)
    assert str(value) not in str(caught.value)


def test_many_different_texts_are_refused_without_trying_each(
    models: dict[str, Path], tmp_path: Path
) -> None:
    table = ward(2000).assign(dose=[f"{number / 7:.4f}".replace(".", ",") for number in range(2000)])
    with pytest.raises(TableError, match="'dose'"):
        predicted(models["schema"], table, tmp_path, {})


LABELS: dict[str, tuple[list[str], int, int, int]] = {
    "all": (["yes", "no"] * 10, 20, 0, 0),
    "some": (["yes", "no", "", "NA"] * 5, 10, 10, 0),
    "none": ([""] * 20, 0, 20, 0),
    "one that is no class": (["yes", "no"] * 9 + ["yes", "unclear"], 19, 0, 1),
    "no classes at all": (["unclear"] * 20, 0, 0, 20),
    "written otherwise": (["Yes", "NO"] * 10, 20, 0, 0),
    "some of each": (["yes", "", "unclear", "no"] * 5, 10, 5, 5),
}


@pytest.mark.parametrize("case", LABELS)
def test_the_accuracy_is_over_the_rows_with_labels(
    case: str, models: dict[str, Path], tmp_path: Path
) -> None:
    labels, counted, unlabelled, no_class = LABELS[case]
    found = predicted(models["schema"], ward(20).assign(outcome=labels), tmp_path, {})
    assert len(found.frame.dropna()) == 20
    assert (found.unlabelled, found.no_class) == (unlabelled, no_class)
    assert (found.right.of if found.right else 0) == counted
    if counted:
        known = pd.Series(labels).str.lower().isin(["yes", "no"])
        right = (found.frame["prediction"] == pd.Series(labels).str.lower())[known].mean()
        assert found.right.value == pytest.approx(right)


def test_labels_that_no_site_could_have_are_no_negative_ones(models: dict[str, Path], tmp_path: Path) -> None:
    """Where labels are named as positive, all other classes of the schema file are the negative one, and no others."""
    for labels, counted in ((["dead", "alive"], 0), (["yes", "alive"], 10), (["yes", "No"], 20)):
        found = predicted(models["positive"], ward(20).assign(outcome=labels * 10), tmp_path, {})
        assert (found.right.of if found.right else 0, found.no_class) == (counted, 20 - counted)


def test_rows_that_are_not_predicted_do_not_count(models: dict[str, Path], tmp_path: Path) -> None:
    cells = {(row, column): "?" for row in (2, 3) for column in ("age", "ward", "smoker", "dose")}
    assert predicted(models["schema"], ward(20), tmp_path, cells).right.of == 18
    assert predicted(models["schema"], ward(20), tmp_path, {(2, "ward"): "D"}).right.of == 20


COMMANDS: dict[str, tuple[Cells, int, list[str]]] = {
    "nothing unknown": ({}, 0, []),
    "unknown": ({(2, "ward"): "D"}, 3, ["'ward'.* 1 of 20 rows, data row 3", "1 row with .* missing"]),
    "seven": (
        {(row, "age"): 999 for row in range(7)},
        3,
        ["7 of 20 rows, data row 1, 2, 3, 4, 5 and 2 more"],
    ),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_says_what_was_done(
    case: str, models: dict[str, Path], pansvm: Run, tmp_path: Path
) -> None:
    cells, expected, told = COMMANDS[case]
    table = ward(20).drop(columns="outcome").assign(mrn=range(100, 120)).astype(object)
    for (row, column), value in cells.items():
        table.loc[row, column] = value
    table.to_csv("rows.csv", index=False)
    code, out, err = pansvm("predict", models["schema"], "rows.csv", "--id", "mrn")
    assert code == expected, err
    assert all(re.search(words, err) for words in told), err
    assert len(out.splitlines()) == 21
    assert out.splitlines()[3].startswith("102,")


def test_nothing_predicted_is_a_failure(models: dict[str, Path], pansvm: Run) -> None:
    ward(3).assign(age=999, ward="D", smoker="?", dose="?").to_csv("rows.csv", index=False)
    err = pansvm.error("predict", models["schema"], "rows.csv", "--out", "said.csv")
    assert "Not predicted: 3 of 3 rows" in err


def test_whole_classes_stay_whole_where_a_row_is_not_predicted(models: dict[str, Path], pansvm: Run) -> None:
    model = load_model(models["numbers"])
    model.schema_ = replace(model.schema_, classes=("0", "1"))
    model.save("whole.npz")
    table = ward(20)[["age", "dose"]].assign(mrn="a")
    table.loc[3, ["age", "dose"]] = np.nan
    table.to_csv("rows.csv", index=False)
    _, out, _ = pansvm("predict", "whole.npz", "rows.csv")
    classes = [line.split(",")[0] for line in out.splitlines()[1:]]
    assert classes[3] == ""
    assert {*classes} == {"0", "1", ""}


@pytest.mark.parametrize("model", ["schema", "numbers"])
def test_columns_that_are_far_from_the_trainings_are_told(
    model: str, models: dict[str, Path], tmp_path: Path
) -> None:
    """Within the range another unit is no error, and predictions in it are wrong."""

    def far(frame: pd.DataFrame) -> tuple[str, ...]:
        frame.drop(columns="outcome").to_csv(tmp_path / "new.csv", index=False)
        return predict_file(models[model], tmp_path / "new.csv", None).far

    frame = ward(40, 7)
    assert far(frame) == ()
    assert far(frame.assign(ward="C", smoker="no")) == ()
    assert far(frame.assign(age=frame["age"] / 365)) == ()  # within three deviations of a broad column
    assert far(frame.assign(dose=frame["dose"] * 10)) == ("dose",)
    assert far(frame.assign(dose=frame["dose"] / 1000)) == ("dose",)
    assert far(frame.assign(dose=frame["dose"] * 10).head(3)) == ()


def test_of_columns_that_were_not_scaled_nobody_knows_what_is_far(
    models: dict[str, Path], tmp_path: Path
) -> None:
    model = load_model(models["numbers"])
    assert isinstance(model, PanSVC)
    mean = model.scaling_.fill
    model.scaling_ = Scaling(mean, np.zeros_like(mean), np.ones_like(mean))
    model.save(tmp_path / "model.npz")
    ward(40, 7).assign(age=30)[["age", "dose"]].to_csv(tmp_path / "new.csv", index=False)
    assert predict_file(tmp_path / "model.npz", tmp_path / "new.csv", None).far == ()


def test_a_file_that_the_model_was_made_of_is_told(pansvm: Run, tmp_path: Path) -> None:
    ward(120)[["age", "dose", "outcome"]].to_csv(tmp_path / "ward.csv", index=False)
    ward(40, 7)[["age", "dose", "outcome"]].to_csv(tmp_path / "new.csv", index=False)
    options = ("--engine", "in-process", "--sites", 3, "--privacy", "exact", "--label", "outcome")
    pansvm.output("run", "--data", "ward.csv", *options, "--out", "out")
    for name, told in (("ward.csv", True), ("new.csv", False)):
        _, _, errors = pansvm("predict", "out/model.npz", name, "--label", "outcome")
        assert ("has seen most of these rows" in errors) == told

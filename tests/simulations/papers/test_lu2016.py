"""The tables and figures of Lu 2016: what they declare fits together, without running them, and one small one runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simulations.data.datasets import load_dataset, locate
from simulations.papers.data import check, source
from simulations.papers.lu2016 import sets
from simulations.papers.lu2016.selections import Column, Curves, SelectionTable, selection
from simulations.papers.lu2016.table_3_2 import Table32
from simulations.papers.lu2016.table_5_2 import Table52
from simulations.papers.reproduction import all_reproductions
from simulations.papers.run import execute

LU = [name for name in all_reproductions() if name.startswith("lu-")]
SETS = [one for one in vars(sets).values() if isinstance(one, sets.ThesisSet)]


def test_every_table_and_figure_is_there() -> None:
    tables = [
        "3.2",
        "3.3",
        "3.4",
        "3.5",
        "3.6",
        *(f"5.{n}" for n in range(2, 10)),
        *(f"6.{n}" for n in range(2, 7)),
    ]
    figures = ["3.5", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", *(f"4.{n}" for n in range(5, 10))]
    assert sorted(LU) == sorted(
        [f"lu-table-{number}" for number in tables] + [f"lu-figure-{number}" for number in figures]
    )


@pytest.mark.parametrize("name", LU)
@pytest.mark.slow
def test_every_run_has_settings_that_work(name: str) -> None:
    what = all_reproductions()[name]()
    assert 1 <= what.quick_repeats <= what.repeats
    assert 0 < what.quick_minutes <= what.minutes
    plan = what.plan(what.quick_repeats)
    runs = {run for cell in plan.values() for run in cell}
    assert runs
    for run in runs:
        settings = run.settings("iris")
        assert settings.sites in (3, 5, 10, 20)
        assert run.config["data"] in {one.data for one in SETS}
    # A full run goes on from a quick one.
    assert runs <= {run for cell in what.plan(what.quick_repeats + 1).values() for run in cell}


@pytest.mark.parametrize("name", LU)
def test_every_number_of_the_paper_is_in_a_cell_and_what_is_lost_is_told(name: str) -> None:
    what = all_reproductions()[name]()
    cells = what.cells(1, {})
    assert {(cell.row, cell.column): cell.paper for cell in cells if cell.paper is not None} == dict(
        what.paper
    )
    assert all(cell.ours is None and cell.runs == 0 for cell in cells)
    assert what.paper or what.said
    assert what.substituted


@pytest.mark.parametrize(
    "name", [name for name in LU if issubclass(all_reproductions()[name], SelectionTable)]
)
def test_the_papers_sums_gains_and_counts_fit_together(name: str) -> None:
    what = all_reproductions()[name]()
    assert isinstance(what, SelectionTable)
    rows = [one.name for one in what.sets]
    features = {one.name: one.features for one in what.sets}
    for title, column in what.columns.items():
        numbers = [what.paper.get((row, title)) for row in rows]
        if None in numbers:
            assert set(numbers) == {None}
            continue
        if column.what == "features":
            assert all(1 <= what.paper[row, title] <= features[row] for row in rows)
        elif column.what != "gain":
            assert all(50 <= what.paper[row, title] <= 100 for row in rows)
        if ("SUM", title) in what.paper:
            # Each is rounded to a hundredth.
            assert what.paper["SUM", title] == pytest.approx(
                sum(what.paper[row, title] for row in rows), abs=0.04
            )


@pytest.mark.parametrize("name", ["lu-table-5.2", "lu-table-5.3"])
def test_the_papers_gains_are_after_minus_before(name: str) -> None:
    paper = all_reproductions()[name].paper
    for one in sets.SIX:
        for scheme in ("CV1", "CV2"):
            after, before, gain = (
                paper[one.name, f"{scheme} {what}"] for what in ("after", "before", "gain")
            )
            assert gain == pytest.approx(after - before, abs=0.021)


def test_tables_of_the_same_selections_print_the_same_numbers() -> None:
    """5.2 and 5.5 have the same gains, and so have 6.2, 6.3 and 6.5."""
    paper = {name: all_reproductions()[name].paper for name in LU}
    for one in sets.SIX:
        row = one.name
        assert paper["lu-table-5.5"][row, "PPFSVW"] == paper["lu-table-5.2"][row, "CV2 gain"]
        assert paper["lu-table-5.6"][row, "PPFSVW"] == paper["lu-table-5.2"][row, "CV1 gain"]
        assert paper["lu-table-6.5"][row, "PPFSVW CV2"] == paper["lu-table-5.2"][row, "CV2 gain"]
        assert paper["lu-table-6.5"][row, "PPFSIFW CV1"] == paper["lu-table-6.2"][row, "PAN CV1"]
        assert paper["lu-table-6.3"][row, "CV2"] == paper["lu-table-6.2"][row, "PAN CV2"]
        assert paper["lu-table-6.6"][row, "PPFSVW CV2"] == paper["lu-table-5.9"][row, "PPFSVW features"]
        assert paper["lu-table-6.3"][row, "CV1 features"] == paper["lu-table-6.6"][row, "PPFSIFW CV1"]


# The data sets


def test_every_set_is_there(shared_data: Path) -> None:
    for one in SETS:
        check(one.data, shared_data)


@pytest.mark.parametrize(
    "one",
    [
        # Genes take seconds to read.
        pytest.param(one, marks=[pytest.mark.slow] * (one.features > 1000), id=one.name)
        for one in SETS
    ],
)
def test_every_set_has_its_rows_and_features(one: sets.ThesisSet, shared_data: Path, tmp_path: Path) -> None:
    table = load_dataset(source(one.data, shared_data, tmp_path))
    assert table.X.shape == (one.rows, one.features)


def test_raw_intensities_become_logarithms_in_a_file_for_the_sites(tmp_path: Path) -> None:
    cells = pd.DataFrame({"g1": [-50.0, 400.0], "g2": [50_000.0, 1600.0], "label": ["ALL", "AML"]})
    cells.to_csv(tmp_path / "leukemia.csv.gz", index=False)
    pd.DataFrame({"label3": ["ALL-B", "AML"], "label": [0, 0]}).to_csv(
        tmp_path / "leukemia_labels.csv.gz", index=False
    )
    for name, labels in (("leukemia-log2", ["ALL", "AML"]), ("leukemia-3c", ["ALL-B", "AML"])):
        prepared = pd.read_csv(source(name, tmp_path, tmp_path / "out"))
        assert 2 ** prepared["g1"].to_numpy() == pytest.approx([100, 400])
        assert 2 ** prepared["g2"].to_numpy() == pytest.approx([16_000, 1600])
        assert prepared["label"].tolist() == labels
    assert locate("leukemia", tmp_path) is not None


# Selections


def result(accuracies: Mapping[int, float], chosen: int, **more: Any) -> dict[str, Any]:
    """Return the result of a selection by the accuracy on test rows; over the folds it is half of that."""
    points = [
        {"features": count, "accuracy": accuracy / 2, "deviation": 0.0, "test_accuracy": accuracy}
        for count, accuracy in accuracies.items()
    ]
    return {
        "accuracy_by_count": points,
        "selected": chosen,
        "steps_by_accuracy": 0,
        "steps_tied": 0,
        **more,
    }


def test_the_best_point_is_that_of_the_mean_curve_with_the_fewest_features() -> None:
    runs = [result({8: 0.6, 4: 0.9, 2: 0.7, 1: 0.5}, 2), result({8: 0.7, 4: 0.5, 2: 0.7, 1: 0.4}, 8)]
    curves = Curves(runs, "CV2")
    assert curves.best == 2
    assert curves.values("after") == pytest.approx([70, 70])
    assert curves.values("before") == pytest.approx([60, 70])
    assert curves.values("gain") == pytest.approx([10, 0])
    assert curves.values("chosen") == pytest.approx([70, 70])
    assert curves.values("features") == [2, 2]
    assert Curves(runs, "CV1").values("before") == pytest.approx([30, 35])


def test_a_curve_after_filters_starts_where_all_seeds_have_models() -> None:
    runs = [result({8: 0.6, 5: 0.99, 4: 0.8, 1: 0.5}, 4), result({8: 0.6, 3: 0.9, 1: 0.5}, 3)]
    assert Curves(runs, "CV2").best == 3
    assert Curves(runs, "CV2").values("after") == pytest.approx([80, 90])


def test_ties_are_a_share_of_the_steps_that_accuracy_was_to_decide() -> None:
    runs = [
        result({2: 0.6, 1: 0.5}, 1, steps_by_accuracy=4, steps_tied=3),
        result({2: 0.6, 1: 0.5}, 1, steps_by_accuracy=0, steps_tied=0),
    ]
    assert Curves(runs, "CV2").values("ties") == [75]


def test_a_sum_is_only_there_if_all_sets_are() -> None:
    table = Table52()
    done = {run: result({8: 0.6, 1: 0.7}, 1) for cell in table.plan(1).values() for run in cell}
    sums = {cell.column: cell.ours for cell in table.cells(1, done) if cell.row == "SUM"}
    assert sums["CV2 gain"] == pytest.approx(60)
    dlbcl = selection(sets.DLBCL, Column("PPFSVW", "PAN", "CV2", "gain"), 0)
    sums = {
        cell.column: cell.ours for cell in table.cells(1, done | {dlbcl: {"error": "?"}}) if cell.row == "SUM"
    }
    assert sums["CV2 gain"] is None
    assert sums["CV1 gain"] == pytest.approx(30)


# On real data


def test_a_column_of_table_3_2_on_heart(shared_data: Path, tmp_path: Path) -> None:
    table = Table32()
    plan = table.plan(2)
    places = [place for place in plan if place[0] == "Heart" and place[1] in ("LIBSVM RBF", "naive Bayes")]
    results = {run: execute(run, shared_data, tmp_path) for place in places for run in plan[place]}
    cells = {cell.column: cell for cell in table.cells(2, results) if cell.row == "Heart"}
    for column in ("LIBSVM RBF", "naive Bayes"):
        assert cells[column].runs == 2
        difference = cells[column].difference
        assert difference is not None
        assert np.abs(difference) < 6
    assert cells["PAN-SVM 25 %"].ours is None

"""Mangasarian & Wild 2008: 24 of 24 numbers of rows of B, and folds that are what the plan says."""

from pathlib import Path

import numpy as np
import pytest

from simulations.papers.mangasarian2008 import experiment
from simulations.papers.mangasarian2008.experiment import ALONE, IDEAL, ROWS, SHARED, fold_run, load, split
from simulations.papers.mangasarian2008.nested_design import choose
from simulations.papers.mangasarian2008.sets import PRINTED, SETS
from simulations.papers.reproduction import all_reproductions
from simulations.papers.run import execute

OURS = [name for name in all_reproductions() if name.startswith("mangasarian-")]


def test_table_and_figures_are_there_and_share_their_runs() -> None:
    assert sorted(OURS) == ["mangasarian-figure-3", "mangasarian-figure-4", "mangasarian-table-1"]
    known = all_reproductions()
    plans = {name: known[name]().plan(3) for name in OURS}
    table = {run for cell in plans["mangasarian-table-1"].values() for run in cell}
    for name in ("mangasarian-figure-3", "mangasarian-figure-4"):
        assert {run for cell in plans[name].values() for run in cell} <= table
    assert {row for row, _ in plans["mangasarian-figure-4"]} == {"CH", "IO", "WD", "AR", "PI", "GC"}
    assert known["mangasarian-table-1"].paper[("IO, s = 8", "PPSVM")] == 0.26


@pytest.mark.slow
def test_rows_of_b_are_the_paper_s_in_all_24_rows(shared_data: Path, tmp_path: Path) -> None:
    for (name, blocks), (rows, *_) in PRINTED.items():
        run = fold_run(ROWS, SETS[name], blocks, 0)
        assert execute(run, shared_data, tmp_path)["rows_of_matrix"] == rows


def test_the_heart_set_has_the_paper_s_rows_and_majority(shared_data: Path, tmp_path: Path) -> None:
    assert execute(fold_run(ROWS, SETS["CH"], 4, 0), shared_data, tmp_path)["rows_of_matrix"] == 2
    whole = load(str(tmp_path / "data" / "heart-297.csv.gz"))
    assert whole.X.shape == (297, 13)
    assert (whole.d == 1).mean() == pytest.approx(0.46, abs=0.005)
    tests = [split(whole, fold)[1] for fold in range(10)]
    assert sum(len(test.d) for test in tests) == 297


@pytest.mark.parametrize("what", [SHARED, IDEAL, ALONE])
@pytest.mark.slow
def test_a_fold_of_each_way_is_better_than_chance(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulations.papers.mangasarian2008.nested_design.POINTS", 4)
    monkeypatch.setattr(experiment, "CELLS", 1)
    run = fold_run(what, "breast_cancer", 2, 0)
    assert run.command == ""
    assert execute(run, tmp_path, tmp_path)["accuracy"] > 0.7


def test_the_nested_design_finds_a_minimum_and_takes_the_smaller_nu_of_equals() -> None:
    nu, mu = choose(2.0, lambda mu, nus: np.abs(np.log10(nus) - 2) + abs(np.log10(mu)), 0)
    assert abs(np.log10(nu) - 2) + abs(np.log10(mu)) < 1.5
    smallest, _ = choose(2.0, lambda mu, nus: np.zeros(1), 0)
    assert smallest < 1e-6

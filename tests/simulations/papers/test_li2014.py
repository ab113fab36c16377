"""The figures of Li et al. 2014: what they declare fits together, and so does the stand-in for their census."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simulations.papers.data import PREPARED, source
from simulations.papers.li2014.census import COLUMNS, DIMENSIONS, HYBRID, PRIVATE, RATES, census
from simulations.papers.reproduction import all_reproductions
from simulations.papers.run import execute, make_run

LI = [name for name in all_reproductions() if name.startswith("li-")]


def test_every_figure_is_there() -> None:
    assert sorted(LI) == [f"li-figure-{number}" for number in range(3, 10)]


@pytest.mark.parametrize("name", LI)
def test_every_run_has_settings_that_work_and_says_what_stands_in(name: str) -> None:
    what = all_reproductions()[name]()
    assert 1 <= what.quick_repeats <= what.repeats
    plan = what.plan(what.quick_repeats)
    runs = {run for cell in plan.values() for run in cell}
    for run in runs:
        settings = run.settings("iris")
        assert settings.sites == 5
        assert run.config["data"] in PREPARED
        assert settings.strategy in ("hybrid-svm", "private-svm", "pan-svm")
    assert runs <= {run for cell in what.plan(what.quick_repeats + 1).values() for run in cell}
    assert what.said
    for told in ("Adult", "D = 10", "C / n"):
        assert told in " ".join(what.substituted)


def test_the_small_public_sets_are_the_same_at_each_epsilon() -> None:
    assert census("adult-14", "50", 0, 0.5) == census("adult-14", "50", 0, 4.0)
    assert census("adult-14", PRIVATE, 0, 0.5) != census("adult-14", PRIVATE, 0, 4.0)
    assert census("adult-14", HYBRID, 0).config["strategy"] == "hybrid-svm"


@pytest.mark.slow
def test_the_stand_in_has_the_papers_rows_and_columns(shared_data: Path, tmp_path: Path) -> None:
    whole = pd.read_csv(source("adult-14", shared_data, tmp_path))
    assert whole.shape == (30_000, 14)
    assert list(whole.columns) == [*COLUMNS, "label"]
    cells = whole.drop(columns="label").to_numpy()
    assert cells.min() == 0
    assert cells.max() == 1
    assert set(np.unique(whole["sex"])) == {0.0, 1.0}
    assert set(np.unique(whole["age"])) == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert (whole["label"] == 1).mean() == pytest.approx(0.24, abs=0.01)
    # Married men earn more in this table, and nobody is both single and married.
    assert (whole["single"] * whole["married"]).max() == 0
    rich = whole["label"] == 1
    assert whole.loc[rich, "married"].mean() > whole.loc[~rich, "married"].mean() + 0.3
    small = pd.read_csv(source("adult-5", shared_data, tmp_path))
    pd.testing.assert_frame_equal(small, whole[[*list(COLUMNS)[: DIMENSIONS[5]], "label"]])
    tenth = pd.read_csv(source(f"adult-14-{RATES[0]:g}", shared_data, tmp_path))
    assert len(tenth) == 3_000 + 2_700


def test_few_public_rows_are_of_all_classes(tmp_path: Path) -> None:
    found = [
        execute(make_run(f"public:{count}", "breast_cancer", seed=0), tmp_path, tmp_path)["auc"]
        for count in (4, 200)
    ]
    assert 0.5 < found[0] < found[1]

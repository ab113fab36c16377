"""What the tables and figures of all papers declare fits together, without running them."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from simulations.data.datasets import SHIPPED, load_dataset
from simulations.papers import lu2016_sets
from simulations.papers.declared import all_reproductions
from simulations.papers.li2014 import COLUMNS, DIMENSIONS, RATES
from simulations.papers.luo2009 import at_sites
from simulations.papers.page import VERDICTS, WORKS, paper_of
from simulations.papers.record import recorded
from simulations.papers.reproduction import EXPERIMENTS, Prepared, Reproduction
from simulations.papers.table_runs import PREPARED, check, source

ROOT = Path(__file__).parents[3]
REPRODUCTIONS = all_reproductions()
TABLES = list(REPRODUCTIONS)
SELECTIONS = [name for name in TABLES if name.startswith(("lu-table-5", "lu-table-6"))]
SETS = [one for one in vars(lu2016_sets).values() if isinstance(one, lu2016_sets.ThesisSet)]


def test_every_table_and_figure_is_there() -> None:
    numbers = {
        **{"lu-table-3.": range(2, 7), "lu-table-5.": range(2, 10), "lu-table-6.": range(2, 7)},
        **{"lu-figure-3.": (5, *range(7, 13)), "lu-figure-4.": range(5, 10)},
        **{"lu-figure-5.": (8,), "luo-table-": (2,), "luo-figure-": (10, 11), "mangasarian-table-": (1,)},
        **{"li-figure-": range(3, 10), "lin-table-": range(2, 6)},
    }
    assert set(TABLES) == {f"{what}{number}" for what, own in numbers.items() for number in own}


@pytest.mark.parametrize("name", TABLES)
def test_every_run_has_settings_that_work_and_more_repeats_go_on_from_fewer(name: str) -> None:
    what = REPRODUCTIONS[name]
    assert what.repeats >= 1
    assert what.minutes > 0
    runs = {run for cell in what.plan(1).values() for run in cell}
    assert runs
    for run in runs:
        word, colon, _ = run.strategy.partition(":")
        assert not colon or word in EXPERIMENTS
        assert (run.command == "") == bool(colon)
        settings = run.settings("iris")
        assert settings.sites in (3, 5, 10, 20)
        assert settings.level == "exact"
    assert runs <= {run for cell in what.plan(2).values() for run in cell}


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_papers_sums_and_counts_fit_together(name: str) -> None:
    what = REPRODUCTIONS[name]
    features = {one.name: one.features for one in lu2016_sets.SIX}
    columns: dict[str, dict[str, float]] = {}
    for (row, column), number in what.paper.items():
        columns.setdefault(column, {})[row] = number
    assert (name in ("lu-table-5.4", "lu-table-5.9", "lu-table-6.4", "lu-table-6.6")) == (not what.summed)
    for column, numbers in columns.items():
        total = numbers.pop("SUM", None)
        if total is not None:
            # Each is rounded to a hundredth.
            assert total == pytest.approx(sum(numbers.values()), abs=0.04)
        if "features" in column or what.unit == "features":
            assert all(1 <= number <= features[row] for row, number in numbers.items())
        elif what.unit == "%" and "gain" not in column:
            assert all(50 <= number <= 100 for number in numbers.values())


@pytest.mark.parametrize("name", ["lu-table-5.2", "lu-table-5.3"])
def test_the_papers_gains_are_after_minus_before(name: str) -> None:
    paper = REPRODUCTIONS[name].paper
    for one in lu2016_sets.SIX:
        for scheme in ("CV1", "CV2"):
            after, before, gain = (
                paper[one.name, f"{scheme} {what}"] for what in ("after", "before", "gain")
            )
            assert gain == pytest.approx(after - before, abs=0.021)


def test_tables_of_the_same_selections_print_the_same_numbers() -> None:
    """5.2 and 5.5 have the same gains, and so have 6.2, 6.3 and 6.5."""
    paper = {name: REPRODUCTIONS[name].paper for name in SELECTIONS}
    for one in lu2016_sets.SIX:
        row = one.name
        assert paper["lu-table-5.5"][row, "PPFSVW"] == paper["lu-table-5.2"][row, "CV2 gain"]
        assert paper["lu-table-5.6"][row, "PPFSVW"] == paper["lu-table-5.2"][row, "CV1 gain"]
        assert paper["lu-table-6.5"][row, "PPFSVW CV2"] == paper["lu-table-5.2"][row, "CV2 gain"]
        assert paper["lu-table-6.5"][row, "PPFSIFW CV1"] == paper["lu-table-6.2"][row, "PAN CV1"]
        assert paper["lu-table-6.3"][row, "CV2"] == paper["lu-table-6.2"][row, "PAN CV2"]
        assert paper["lu-table-6.6"][row, "PPFSVW CV2"] == paper["lu-table-5.9"][row, "PPFSVW features"]
        assert paper["lu-table-6.3"][row, "CV1 features"] == paper["lu-table-6.6"][row, "PPFSIFW CV1"]


@pytest.mark.parametrize("name", TABLES)
def test_every_number_of_the_paper_is_in_a_cell_and_what_is_lost_is_told(name: str) -> None:
    what = REPRODUCTIONS[name]
    cells = what.cells(1, {})
    printed = {(cell.row, cell.column): cell.paper for cell in cells if cell.paper is not None}
    assert printed == dict(what.paper)
    assert all(cell.ours is None and cell.runs == 0 for cell in cells)
    assert what.paper or what.said
    if what.plot is not None:
        drawn = [what.cell(place, [1.0, 3.0]) for place in what.setups]
        assert isinstance(what.plot(what.title, drawn), Figure)


@pytest.mark.parametrize("work", WORKS)
def test_the_figures_of_the_pages_are_of_these_tables_and_say_their_commit(work: str) -> None:
    lines = recorded(work)
    assert lines
    for (name, *place), line in lines.items():
        what, (row, column) = REPRODUCTIONS[name], place
        assert what.work == work
        assert (row, column) in what.setups
        assert np.isfinite(float(line["ours"]))
        assert re.fullmatch(r"[0-9a-f]{7}( [0-9a-f]{7})*", line["commit"])
        printed = what.paper.get((row, column))
        assert line["paper"] == ("" if printed is None else f"{printed:.6g}")
        assert (line["low"] == "") == (line["high"] == "")


@pytest.mark.parametrize("work", WORKS)
def test_claims_name_what_there_is(work: str) -> None:
    known = paper_of(work)
    assert known.summary
    assert known.not_run
    for claim in known.claims:
        assert claim.verdict in VERDICTS
        assert claim.cells or claim.compare or claim.test or claim.why, claim.text
        assert bool(claim.code) == bool(claim.test), claim.text
        assert not claim.code or (ROOT / claim.code).is_file(), claim.text
        for cell in claim.cells:
            table, *place = cell.split("|")
            assert tuple(place) in REPRODUCTIONS[table].setups, cell
        if claim.compare:
            table, *columns = claim.compare.split("|")
            assert {column for _, column in REPRODUCTIONS[table].setups} >= set(columns)


def test_every_table_has_a_claim_or_a_reason_why_it_is_not_run() -> None:
    claimed = {table for work in WORKS for claim in paper_of(work).claims for table in claim.tables}
    reasons = " ".join(place for work in WORKS for place in paper_of(work).not_run)
    for name in set(TABLES) - claimed:
        number = name.rpartition("-")[2]
        assert number in reasons, name


NUMBERED = {
    "lu2016": {
        "table": {3: 6, 4: 1, 5: 9, 6: 6},
        "figure": {3: 12, 4: 9, 5: 8, 6: 4},
    },
    "mangasarian2008": {"table": {0: 1}, "figure": {0: 4}},
    "li2014": {"table": {0: 1}, "figure": {0: 9}},
    "lin2011": {"table": {0: 6}, "figure": {0: 6}},
    "luo2009": {"table": {0: 2}, "figure": {0: 16}},
}
"""How many tables and figures a paper has by chapter; 0 if it has none."""
ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4", "V": "5", "VI": "6"}


def named_places(text: str) -> set[tuple[str, int, int]]:
    """Return the tables and figures that a text names, each of a range: ``Figures 5.2 to 5.4, 6.1; Table II``."""
    found = set()
    for kind, numbers in re.findall(r"(Table|Figure)s? ((?:[\dIVX.]+(?:, | and | to )?)+)", text):
        plain = re.sub(r"\b[IVX]+\b", lambda roman: ROMAN[roman[0]], numbers)
        for first, last in re.findall(r"(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?", plain):
            (chapter, start), (_, end) = split(first), split(last or first)
            found |= {(kind.lower(), chapter, number) for number in range(start, end + 1)}
    return found


def split(number: str) -> tuple[int, int]:
    chapter, _, own = number.rpartition(".")
    return int(chapter or 0), int(own)


@pytest.mark.parametrize("work", WORKS)
def test_each_table_and_figure_of_a_paper_is_run_or_said_not_to_be(work: str) -> None:
    paper = paper_of(work)
    known = named_places("; ".join([*(claim.place for claim in paper.claims), *paper.not_run]))
    for name, what in REPRODUCTIONS.items():
        _, kind, number = name.split("-")
        known |= {(kind, *split(number))} if what.work == work else set()
    for kind, chapters in NUMBERED[work].items():
        there = {(kind, chapter, number + 1) for chapter, most in chapters.items() for number in range(most)}
        assert there - known == set()


def test_the_small_public_sets_are_the_same_at_each_epsilon() -> None:
    plan = REPRODUCTIONS["li-figure-3"].plan(1)
    assert plan["50 public rows", "0.5"] == plan["50 public rows", "4"]
    assert plan["private", "0.5"] != plan["private", "4"]


# The data sets


def data_of(what: Reproduction) -> set[str]:
    return {setup.data for setups in what.setups.values() for setup in setups}


def test_every_set_is_there(shared_data: Path) -> None:
    for data in set().union(*map(data_of, REPRODUCTIONS.values())):
        assert (
            data in SHIPPED or data in PREPARED or (shared_data / f"{data}.csv.gz").exists() or "a9a" in data
        )
        check(data, shared_data)


@pytest.mark.parametrize(
    "one",
    [
        # Genes take seconds to read.
        pytest.param(one, marks=[pytest.mark.slow] * (one.features > 1000), id=one.name)
        for one in SETS
    ],
)
def test_every_set_has_its_rows_and_features(
    one: lu2016_sets.ThesisSet, shared_data: Path, tmp_path: Path
) -> None:
    table = load_dataset(source(one.data, shared_data, tmp_path))
    assert table.X.shape == (one.rows, one.features)


def test_raw_intensities_become_logarithms_in_a_file_for_the_sites(tmp_path: Path) -> None:
    cells = pd.DataFrame({"g1": [-50.0, 400.0], "g2": [50_000.0, 1600.0], "label": ["ALL", "AML"]})
    cells.to_csv(tmp_path / "leukemia.csv.gz", index=False)
    labels_of: Mapping[str, list[object]] = {"label3": ["ALL-B", "AML"], "label": [0, 0]}
    pd.DataFrame(labels_of).to_csv(tmp_path / "leukemia_labels.csv.gz", index=False)
    for name, labels in (("leukemia-log2", ["ALL", "AML"]), ("leukemia-3c", ["ALL-B", "AML"])):
        prepared = pd.read_csv(source(name, tmp_path, tmp_path / "out"))
        assert 2 ** prepared["g1"].to_numpy() == pytest.approx([100, 400])
        assert 2 ** prepared["g2"].to_numpy() == pytest.approx([16_000, 1600])
        assert prepared["label"].tolist() == labels


def test_a_set_is_prepared_once_where_several_runs_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run refuses a table that is written anew after it has begun."""
    pd.DataFrame({"x": [1], "label": [0]}).to_csv(tmp_path / "cells.csv.gz", index=False)
    together, made = Barrier(3), []

    def make(frame: pd.DataFrame) -> pd.DataFrame:
        made.append(frame)
        return frame

    monkeypatch.setitem(PREPARED, "twice", Prepared(("cells",), make))

    def run(_: int) -> int:
        together.wait()
        return Path(source("twice", tmp_path, tmp_path / "out")).stat().st_ino

    with ThreadPoolExecutor(3) as pool:
        assert len({*pool.map(run, range(3))}) == len(made) == 1


@pytest.mark.slow
def test_the_stand_in_for_the_census_has_the_papers_rows_and_columns(
    shared_data: Path, tmp_path: Path
) -> None:
    whole = pd.read_csv(source("adult-14", shared_data, tmp_path))
    assert whole.shape == (30_000, 14)
    assert list(whole.columns) == [*COLUMNS, "label"]
    cells = whole.drop(columns="label").to_numpy()
    assert cells.min() == 0
    assert cells.max() == 1
    assert set(np.unique(whole["sex"])) == {0.0, 1.0}
    assert set(np.unique(whole["age"])) == {0.0, 0.25, 0.5, 0.75, 1.0}
    rich = whole["label"] == 1
    assert rich.mean() == pytest.approx(0.24, abs=0.01)
    # Married men earn more in this table, and nobody is both single and married.
    assert (whole["single"] * whole["married"]).max() == 0
    assert whole.loc[rich, "married"].mean() > whole.loc[~rich, "married"].mean() + 0.3
    small = pd.read_csv(source("adult-5", shared_data, tmp_path))
    pd.testing.assert_frame_equal(small, whole[[*list(COLUMNS)[: DIMENSIONS[5]], "label"]])
    tenth = pd.read_csv(source(f"adult-14-{RATES[0]:g}", shared_data, tmp_path))
    assert len(tenth) == 3_000 + 2_700


def test_the_sites_have_half_three_tenths_and_a_fifth_of_the_rows() -> None:
    table = pd.DataFrame({"x": np.arange(5000.0), "label": 0})
    shares = at_sites(table)["site"].value_counts(normalize=True)
    np.testing.assert_allclose(shares[[0, 1, 2]], (0.5, 0.3, 0.2), atol=0.03)

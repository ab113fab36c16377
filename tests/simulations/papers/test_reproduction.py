"""Reproductions: what is run once, what is kept, what is written, and what a person gets wrong."""

import csv
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from simulations.baselines.registry import BASELINES, BaselineFigures
from simulations.comparison.finished import RUNS_FILE, read_runs
from simulations.data.pooling import PooledRows
from simulations.papers.declared import REPRODUCTIONS
from simulations.papers.plots import bars, curves
from simulations.papers.reproduction import Cell, Reproduction, Run, Setup, make_run
from simulations.papers.table_runs import do_runs, execute
from simulations.papers.writing import text_of
from strategies.svm_settings import PanSvmSettings
from tests.command_line import Run as Command

WINE = {"landmarks": 20, "min_cluster": 1, "test_fraction": 0.3}

INVENTED = Reproduction(
    title="Table 0, an invented one",
    setups={
        ("wine", "central"): [Setup("central:svc", "wine", WINE)],
        ("wine", "tree"): [Setup("central:tree", "wine", WINE)],
    },
    minutes=1,
    repeats=2,
    paper={("wine", "central"): 97.0, ("wine", "cited"): 50.0},
    substituted=("Everything.",),
    errors=("All of it.",),
    plot=partial(bars, ylabel="accuracy, %"),
)
"""Two classifiers of wine; a third is cited only."""


def wine(strategy: str, seed: int) -> Run:
    return make_run(strategy, "wine", seed=seed, **WINE)


@pytest.fixture
def invented() -> Iterator[str]:
    REPRODUCTIONS["invented-table"] = INVENTED
    yield "invented-table"
    del REPRODUCTIONS["invented-table"]


def reproduce(pansvm: Command, folder: Path, *arguments: str) -> str:
    return pansvm.output("reproduce", *arguments, "--data-dir", folder, "--out", folder / "out")


# What is run and kept


@pytest.mark.usefixtures("_in_this_process")
def test_ours_the_papers_and_the_difference_are_printed_and_written(
    invented: str, pansvm: Command, tmp_path: Path
) -> None:
    out = reproduce(pansvm, tmp_path, invented)
    with (tmp_path / "out" / f"{invented}.csv").open(newline="") as stream:
        rows = {row["column"]: row for row in csv.DictReader(stream)}
    runs = [execute(wine("central:svc", seed), tmp_path, tmp_path)["accuracy"] for seed in (0, 1)]
    assert float(rows["central"]["ours"]) == pytest.approx(50 * sum(runs), rel=1e-5)
    assert float(rows["central"]["low"]) <= 50 * sum(runs) <= float(rows["central"]["high"])
    assert rows["central"]["date"].startswith("20")
    assert (rows["cited"]["ours"], rows["cited"]["paper"], rows["tree"]["paper"]) == ("", "50", "")
    assert rows["central"]["runs"] == "2"
    text = (tmp_path / "out" / f"{invented}.md").read_text()
    for told in ("Everything.", "All of it.", "(97.00;", "4 runs, 2 repeats, 0 failed"):
        assert told in text
        assert told in out
    assert (tmp_path / "out" / f"{invented}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("_in_this_process")
def test_runs_on_file_are_not_done_again(invented: str, pansvm: Command, tmp_path: Path) -> None:
    quick = reproduce(pansvm, tmp_path, invented, "--repeats", "1")
    file = tmp_path / "out" / RUNS_FILE
    first = file.read_text().splitlines()
    assert ("2 runs" in quick, len(first)) == (True, 2)
    # What is on file is believed: another number there is another number in the table.
    key, result = json.loads(first[0])
    changed = json.dumps([key, {**result, "accuracy": 0.125}])
    file.write_text("\n".join([changed, *first[1:], '[["cut o']))
    out = reproduce(pansvm, tmp_path, invented)
    assert "; 1 left" in out
    assert "; 2 left" not in out
    assert 0.125 in [one["accuracy"] for one in read_runs(tmp_path / "out").values()]


@pytest.mark.usefixtures("_in_this_process")
def test_runs_on_other_data_are_not_mixed(tmp_path: Path) -> None:
    wines = load_wine(as_frame=True).frame.rename(columns={"target": "label"})
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder, frame in zip(folders, (wines, wines[::-1]), strict=True):
        folder.mkdir()
        frame.to_csv(folder / "colon.csv.gz", index=False)
    runs = [make_run("central:tree", "colon", seed=seed, **WINE) for seed in (0, 1)]
    do_runs(runs[:1], folders[0], tmp_path / "out", 1, lambda *_: None)
    with pytest.raises(SettingError, match="colon"):
        do_runs(runs, folders[1], tmp_path / "out", 1, lambda *_: None)
    do_runs(runs, folders[0], tmp_path / "out", 1, lambda *_: None)


@pytest.mark.usefixtures("_in_this_process")
def test_runs_that_failed_are_told_with_their_reason_and_by_the_exit_code(
    invented: str, pansvm: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SettingError("It cannot be.")

    monkeypatch.setitem(BASELINES, "central:tree", fails)
    code, out, _ = pansvm("reproduce", invented, "--data-dir", tmp_path, "--out", tmp_path / "out")
    assert code == 1
    assert "It cannot be." in out
    assert "2 failed" in (tmp_path / "out" / f"{invented}.md").read_text()


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    load_wine(as_frame=True).frame.rename(columns={"target": "label"}).to_csv(
        tmp_path / "colon.csv.gz", index=False
    )
    # The last data set is made from a file, in each process.
    runs = [
        wine("central:svc", 0),
        make_run("owner:original", "wine", seed=1),
        make_run("central:svc", "colon-log2", seed=0),
    ]
    found = [
        {
            run: result["accuracy"]
            for run, result in do_runs(runs, tmp_path, folder, count, lambda *_: None).items()
        }
        for folder, count in ((tmp_path / "one", 1), (tmp_path / "two", 2))
    ]
    assert found[0] == found[1]
    assert list(found[0]) == runs
    assert found[0][runs[2]] > 0.9


def test_folds_of_a_central_classifier_are_all_rows_once(tmp_path: Path) -> None:
    found = execute(make_run("folds:central:svc", "wine", test_fraction=0.0, seed=0), tmp_path, tmp_path)
    assert 0.95 < found["accuracy"] < 1
    # Means over five folds of 35 or 36 rows are no share of all rows, but nearly so.
    assert found["accuracy"] * 178 == pytest.approx(round(found["accuracy"] * 178), abs=0.2)


@pytest.mark.parametrize(("share", "trained"), [(100, 142), (50, 71)])
def test_a_central_classifier_is_trained_on_its_share_of_four_fifths(
    share: int, trained: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = []

    def central(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
        rows.append((len(train.X), len(test.X)))
        return BaselineFigures(Evaluation(len(test.X), 1.0, 1.0, 1.0, None))

    monkeypatch.setitem(BASELINES.data, "counting", central)
    execute(make_run(f"rotated:counting {share}", "wine", seed=0), tmp_path, tmp_path)
    ((train, test),) = rows
    assert train == pytest.approx(trained, abs=0 if share == 100 else 2)
    assert test == 36


def test_a_federated_run_is_made_again_by_its_command() -> None:
    run = make_run("pan-svm", "wine", seed=3, C=2.0, min_cluster=1)
    command = "pansvm run --C 2.0 --data wine --min-cluster 1 --privacy exact --seed 3 --strategy pan-svm"
    assert run.command == command
    assert wine("central:svc", 0).command == ""


def test_what_there_is_is_listed_with_how_long_it_takes(invented: str, pansvm: Command) -> None:
    lines = {line.split()[0]: line for line in pansvm.output("reproduce", "--list").splitlines()}
    assert "an invented one" in lines[invented]
    assert lines[invented].split()[-2:] == ["1", "2"]
    assert "lu-table-3.2" in lines


# What is written


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell("", "", 85.6, 2.2, 5, 85.46), "85.60 ± 2.20 (85.46; +0.14)"),
        (Cell("", "", 85.6, 0.0, 1, 86.0), "85.60 (86.00; -0.40)"),
        (Cell("", "", None, None, 0, 86.0), "– (86.00)"),
        (Cell("", "", 3.0, 1.0, 2, None), "3.00 ± 1.00"),
        (None, ""),
    ],
)
def test_a_cell_says_ours_deviation_the_papers_and_the_difference(cell: Cell | None, text: str) -> None:
    assert text_of(cell, 2) == text


def test_curves_go_by_the_numbers_of_the_columns() -> None:
    cells = [Cell("a", f"{x} %", y, 0.1, 2, None) for x, y in ((5, 1.0), (15, 2.0))]
    (axes,) = curves("", [*cells, Cell("a", "25 %", None, None, 0, None)], "x", "y").axes
    assert axes.lines[0].get_xydata().tolist() == [[5, 1], [15, 2]]

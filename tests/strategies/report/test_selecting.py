"""A selection as a person sees it: in the terminal, in the figures and in the report."""

import re
from pathlib import Path
from typing import Any

from strategies.report import selecting
from strategies.settings import make_settings
from tests.strategies.report.test_section import BARE, page_of


def step(features: int, removed: str, votes: bool) -> dict[str, Any]:
    return {
        "features": features,
        "candidates": {"svm-rfe": [removed], "rsvm": [removed], "svm-t": ["another"]},
        "accuracies": {} if votes else {"svm-rfe": 0.91, "rsvm": 0.91, "svm-t": 0.89},
        "removed": [removed],
        "round_trips": 9,
        "bytes_up": 30_000,
    }


def point(features: int, distance: int) -> dict[str, Any]:
    """Return the accuracy with a number of features, the less the further it is from the chosen one."""
    lost = 0.001 * min(distance, 100)
    return {"features": features, "accuracy": 0.95 - lost, "deviation": 0.0123, "test_accuracy": 0.93 - lost}


def selection(features: int, chosen: int, left: int | None = None) -> dict[str, Any]:
    """Return a ``result.json`` in which one feature went after the other, the last of the ranking first."""
    ranking = [f"x{number}" for number in range(1, features + 1)]
    steps = range(left or features, 1, -1)
    filters = None
    if left is not None:
        thresholds = {"fisher": "50%", "welch": "p=0.01", "scatter": "40"}
        passed = {"fisher": features // 2, "welch": left + 1, "scatter": 40}
        filters = {"thresholds": thresholds, "passed": passed, "kept": ranking[:left]}
    return {
        **BARE,
        "ranking": ranking,
        "selected": ranking[:chosen],
        "accuracy_by_count": [
            point(count, abs(count - chosen)) for count in sorted({features, *steps, 1}, reverse=True)
        ],
        "votes": [step(count, ranking[count - 1], votes=bool(count % 2)) for count in steps],
        "filters": filters,
        "sites_with_one_class": [],
        "site_differences": [],
        "tested_on": "true records",
        "config": make_settings(strategy="voted-wrapper").to_config(),
    }


def rows_of(page: str, title: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, without those of its first line."""
    table = page.split(f">{title}<", 1)[1].split("</table>", 1)[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in table.split("<tr")[2:]]
    return [[cell.strip() for cell in row] for row in rows]


def test_a_selection_that_removed_nothing_has_tables_and_a_report(tmp_path: Path) -> None:
    only = selection(5, 1, left=1)
    assert selecting.cost(only) == "No feature was removed."
    assert ">Feature selection<" in page_of(only, tmp_path)


def test_the_report_ranks_the_features_with_the_accuracy_of_each_number(tmp_path: Path) -> None:
    page = page_of(selection(30, 12), tmp_path)
    assert page.count("<svg") == 1
    ranked = rows_of(page, "Ranking")
    assert [row[1] for row in ranked] == [f"x{place}" for place in range(1, 31)]
    assert ranked[11] == ["12", "x12", "0.9500 ± 0.0123", "0.9300", "chosen to here"]
    assert page.count('<tr class="in">') == 12


def test_the_report_shows_the_filters(tmp_path: Path) -> None:
    page = page_of(selection(100, 12, left=30), tmp_path)
    assert rows_of(page, "Filters") == [
        ["fisher", "50%", "50"],
        ["welch", "p=0.01", "31"],
        ["scatter", "40", "40"],
        ["all of them", "", "30"],
    ]
    assert "the 30 that the filters left" in page


def test_the_report_of_thousands_of_genes_is_bounded(tmp_path: Path) -> None:
    page = page_of(selection(3000, 37), tmp_path)
    assert len(rows_of(page, "Ranking")) == 50
    assert len(page) < 1_000_000


def test_advice_when_no_feature_was_spared_and_when_the_filters_took_too_many() -> None:
    assert selecting.advice(selection(30, 12)) == ""
    assert "--features 10 takes 10" in selecting.advice(selection(30, 30))
    assert "--features 3 takes 3" in selecting.advice(selection(6, 6)), "ten of six were offered"
    filtered = selection(100, 12, left=30)
    assert selecting.advice(filtered) == ""
    filtered["accuracy_by_count"][0]["accuracy"] = 0.99
    assert "--filters fisher=80%" in selecting.advice(filtered)
    filtered["config"]["features"] = "12"
    assert selecting.advice(filtered) == ""


def test_beside_the_folds_stands_the_test_which_proves_nothing_of_them(tmp_path: Path) -> None:
    run = selection(30, 12)
    over_folds = selecting.chosen_subset(run)["accuracy"]
    for tested, words in (
        (over_folds - 0.1, f"had no part in the selection, {over_folds - 0.1:.1%} are right"),
        (
            over_folds + 0.1,
            f"can make it too good; of the test rows, which had no part in the selection, "
            f"{over_folds + 0.1:.1%} are right",
        ),
        (None, "no test row tells"),
    ):
        page = page_of({**run, "accuracy": tested}, tmp_path)
        assert words in page
        assert "makes it a little too good" not in page

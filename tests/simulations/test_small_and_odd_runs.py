"""What a run says of sites that are coded otherwise, of classes that its test does not have, and of small tests."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.shares import balanced_interval
from simulations.baselines.registry import judge
from simulations.running import check_data, doubts_of
from strategies.settings import make_settings
from tests.command_line import Run


@pytest.fixture
def trained(pansvm: Run, tmp_path: Path) -> Callable[..., tuple[str, dict[str, Any], str]]:
    """Return a function that runs tables, one a site: what the terminal shows, ``result.json``, the report."""

    def run(tables: list[pd.DataFrame], *arguments: object) -> tuple[str, dict[str, Any], str]:
        given: list[object] = []
        for number, table in enumerate(tables):
            table.to_csv(tmp_path / f"h{number}.csv", index=False)
            given += ["--data", tmp_path / f"h{number}.csv"]
        usual = ("--engine=in-process", "--set=landmarks=10", "--set=tol=0.1", "--set=privacy=exact")
        code, out, err = pansvm("run", *given, *usual, *arguments, "--out", "out")
        assert code == 0, err
        page = re.sub(r"\s+", " ", (tmp_path / "out" / "report.html").read_text())
        return out, json.loads((tmp_path / "out" / "result.json").read_text()), page

    return run


def table(
    seed: int, codes: tuple[object, object] = (0, 1), rows: int = 60, factor: float = 1.0
) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    ill = np.arange(rows) % 2
    return pd.DataFrame(
        {
            "glucose": factor * (5 + 2 * ill + generator.normal(0, 0.5, rows)).clip(2, 11),
            "age": generator.normal(60, 10, rows),
            "label": [codes[one] for one in ill],
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (table(2, (1, 2)), "site-002 alone names 2 and never 0: is it coded otherwise?"),
        (table(2, ("case", "control")), "site-002 alone names case, control and never 0, 1"),
        (
            table(2).assign(label=lambda own: own["label"].mask(own.index < 6, 7)),
            "site-002 alone names 7: is it coded otherwise",
        ),
    ],
)
def test_a_site_coded_otherwise_is_told_on_terminal_result_and_report(
    odd: pd.DataFrame, words: str, trained: Callable[..., Any]
) -> None:
    out, result, page = trained([table(0), table(1), odd], "--set", "min-cluster=2")
    assert out.count(words) == 2  # as soon as it is known, and at the end
    assert any(text.startswith(words) for text in result["site_differences"])
    assert words in page


@pytest.mark.slow
def test_another_unit_is_told_where_extremes_are_disclosed_anyway(trained: Callable[..., Any]) -> None:
    tables = [table(0), table(1), table(2, factor=18)]
    out, result, _ = trained(tables, "--set", "scaling=minmax")
    assert "site-002 in column 'glucose' are above those of all other sites" in out
    assert len(result["site_differences"]) == 1
    _, result, _ = trained(tables, "--overwrite")
    assert result["site_differences"] == []


@pytest.mark.slow
def test_what_a_small_test_says_has_an_interval_or_a_caution_everywhere(trained: Callable[..., Any]) -> None:
    out, result, page = trained([table(seed, rows=12) for seed in range(3)], "--set", "min-cluster=2")
    low, high = result["accuracy_interval"]
    assert low < result["accuracy"] <= high
    assert high - low > 0.2
    low, high = result["balanced_accuracy_interval"]
    assert low < result["balanced_accuracy"] <= high
    for text in (out, page):
        assert len(re.findall(r"95% interval \d+% to \d+", text)) >= 2
        assert "There are few patients of" in text


@pytest.mark.slow
def test_a_test_of_one_class_has_no_figures_of_two(
    trained: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two hospitals' rows, those of the rare class are all for training."""
    rare = [table(seed, rows=40).assign(label=lambda own: (own.index < 2).astype(int)) for seed in range(3)]
    for seed in range(8):
        out, result, page = trained(rare, "--seed", seed, "--test-fraction", 0.05, "--overwrite")
        if result["classes_not_tested"]:
            break
    assert result["classes_not_tested"] == ["1"]
    assert (result["balanced_accuracy"], result["f1"], result["auc"]) == (None, None, None)
    assert re.search(r"balanced accuracy +not measured \(no test row has 1\)", out)
    for text in (out, page):
        assert "No test patient has “1”" in text


def test_baselines_keep_to_the_same_rule() -> None:
    found = judge(np.ones(5, dtype=np.int64), np.ones(5, dtype=np.int64), np.ones((5, 1)), 2)
    assert (found.accuracy, found.balanced_accuracy, found.f1, found.auc) == (1.0, None, None, None)
    true = np.array([0, 0, 1, 1])
    found = judge(true, true, np.eye(3)[true], 3)
    assert (found.balanced_accuracy, found.f1, found.auc) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("shares", [(0.9, 0.6), (0.95, 0.95), (0.5, 1.0)])
def test_the_interval_of_the_balanced_accuracy_holds_it(shares: tuple[float, float]) -> None:
    generator, rows, hits, times = np.random.default_rng(0), 25, 0, 1000
    for right in generator.binomial(rows, shares, size=(times, 2)):
        confusion = [[int(right[0]), int(rows - right[0])], [int(rows - right[1]), int(right[1])]]
        result = {"balanced_accuracy": right.sum() / (2 * rows), "confusion": confusion, "count_noise": 0.0}
        low, high = balanced_interval(result)
        hits += low <= np.mean(shares) <= high
    assert hits / times > 0.92


def test_what_the_check_of_the_tables_has_warned_of_stands_in_the_report_once(
    trained: Callable[..., tuple[str, dict[str, Any], str]],
) -> None:
    repeated = [table(n).assign(mrn=[1000 * n + row // 3 for row in range(60)]) for n in range(3)]
    _, result, page = trained(repeated)
    asked = [text for text in result["table_warnings"] if "mrn" in text]
    assert len(asked) == 1
    assert all(f"h{n}.csv" in asked[0] for n in range(3))
    assert page.count("repeats as ids do") == 1


def test_a_run_without_a_test_says_of_no_record_that_it_was_tested(
    trained: Callable[..., tuple[str, dict[str, Any], str]],
) -> None:
    _, result, page = trained([table(n) for n in range(3)], "--set=test-fraction=0")
    assert result["accuracy"] is result["tested_on"] is None
    assert "What is kept from whom" in page
    assert "was tested on" not in page


def test_a_rare_label_is_a_class_of_simulated_sites_and_said_to_be(tmp_path: Path) -> None:
    """They name every label, and the report said that a site does not name a rare one."""
    files = []
    for number in range(3):
        frame = table(number, ("no", "yes"))
        frame.loc[0, "label"] = frame["label"].iloc[0] if number else "third"
        files.append(str(tmp_path / f"h{number}.csv"))
        frame.to_csv(files[-1], index=False)
    settings = make_settings(data="|".join(files), sites=3)
    assert "third" in check_data(settings)
    assert any("1 labels" in text and "A simulated site names all" in text for text in doubts_of(settings))

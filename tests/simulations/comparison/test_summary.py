"""Means, blocks, and the pages that are made of them."""

from pathlib import Path

import pandas as pd
import pytest

from simulations.comparison.page import PAGE_FILE, SUMMARY_FILE, write_summary
from simulations.comparison.summary import blocks_of, frame, named, overview, summary
from tests.simulations.comparison.conftest import line

ORIGIN = {"date": "2026-01-02T03:04Z", "commit": "abc", "versions": {"python": "3.11"}}


def test_mean_and_deviation_are_over_the_runs_that_did_not_fail() -> None:
    lines = [
        line("a", 0, accuracy=0.8, round_trips=4, converged=True, seconds=1.0),
        line("a", 1, accuracy=0.9, round_trips=6, converged=False, seconds=3.0),
        line("a", 2, error="no"),
        line("b", 0, accuracy=0.5, auc=None, round_trips=2),
    ]
    found = summary(frame(lines)).set_index("strategy")
    first = found.loc["a"]
    assert (first["runs"], first["failed"], first["not_converged"]) == (3, 1, 1)
    assert first["accuracy"] == pytest.approx(0.85)
    assert first["accuracy_sd"] == pytest.approx(0.0707107)
    assert (first["round_trips"], first["seconds"]) == (5, 2)
    assert pd.isna(found.loc["b", "auc"])
    assert pd.isna(found.loc["b", "accuracy_sd"])


def test_a_block_is_the_mean_of_a_sets_repeats() -> None:
    lines = [
        line(name, repeat, data=f"set{number}", accuracy=0.5 + 0.1 * repeat + 0.01 * number)
        for number in range(6)
        for repeat in range(2)
        for name in ("a", "b")
    ]
    found = blocks_of(frame(lines))
    assert found.shape == (6, 2)
    assert found["a"].tolist() == pytest.approx([0.55 + 0.01 * number for number in range(6)])


def test_secure_sums_do_not_make_more_blocks() -> None:
    lines = [
        line(name, aggregation=protocol, accuracy=0.8) for name in "ab" for protocol in ("ring", "k-secure")
    ]
    assert blocks_of(frame(lines)).shape == (1, 2)


def test_splits_and_settings_of_a_set_make_no_more_blocks() -> None:
    lines = [
        line(name, split=split, settings=settings, accuracy=0.8)
        for name in "ab"
        for split in ("iid", "dirichlet:1")
        for settings in ("C=1", "C=2", "C=3")
    ]
    assert blocks_of(frame(lines)).shape == (1, 2)


def test_a_system_that_fails_on_hard_splits_is_no_better_for_it() -> None:
    accuracies = [0.95, 0.94, 0.6, 0.55]
    lines = [line("b", repeat, accuracy=one) for repeat, one in enumerate(accuracies)]
    lines += [
        line("a", repeat, accuracy=one - 0.01) if repeat < 2 else line("a", repeat, error="no")
        for repeat, one in enumerate(accuracies)
    ]
    found = overview(frame(lines))
    assert found.index.tolist() == ["b", "a"]
    assert found["accuracy"].tolist() == pytest.approx([0.945, 0.935])
    assert found["failed"].tolist() == [0, 2]


def test_a_repeat_that_lacks_a_strategy_is_left_out_and_a_strategy_that_lacks_all() -> None:
    lines = [line(name, repeat, accuracy=0.8 - repeat / 10) for name in ("a", "b") for repeat in range(4)]
    lines += [line("never", repeat, error="no") for repeat in range(4)]
    lines[0] = line("a", 0, error="no")
    found = blocks_of(frame(lines))
    assert list(found.columns) == ["a", "b"]
    assert found.to_numpy().tolist() == [pytest.approx([0.6, 0.6])]


@pytest.mark.slow
def test_the_page_has_plots_tests_and_why_runs_failed(tmp_path: Path) -> None:
    lines = [
        line(name, repeat, data=f"set{number}", accuracy=0.9 - worse - 0.01 * number, round_trips=trips,
             bytes_up=1000 * trips, bytes_down=10, seconds=1.0, disclosed="join: name")
        for number in range(8)
        for repeat in range(2)
        for name, worse, trips in (("pan-svm", 0.0, 10), ("local-only", 0.1, 2), ("central:svc", 0.001, 0))
    ]  # fmt: skip
    lines.append(line("svm-rfe", data="set0", error="<b>it</b> failed"))
    write_summary(tmp_path, frame(lines), ["set0: one class <i>only</i>"], ORIGIN, "md")
    page = (tmp_path / PAGE_FILE).read_text()
    assert page.count("<svg") == 8
    assert "https://" not in page.replace("https://www.w3.org", "").replace("https://matplotlib.org", "")
    assert "&lt;b&gt;it&lt;/b&gt; failed" in page
    assert "&lt;i&gt;only&lt;/i&gt;" in page
    for words in ("1 run has failed", "8 data sets", "3 of 3 pairs", "svm-rfe did not finish a run"):
        assert words in page, words
    assert len(pd.read_csv(tmp_path / SUMMARY_FILE)) == 8 * 3 + 1


def test_a_single_run_makes_a_page(tmp_path: Path) -> None:
    lines = [line("pan-svm", accuracy=None, level="exact"), line("central:svc")]
    write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    page = (tmp_path / PAGE_FILE).read_text()
    assert "too little to test" in page
    assert "Level exact: pan-svm. Baselines, which train on the true rows at any level: central:svc." in page
    assert "All are tested on the same true rows." in page
    write_summary(tmp_path, frame([line("dp-svm", level="dp"), *lines]), [], ORIGIN, "md")
    assert "the same true rows; at level dp with noise" in (tmp_path / PAGE_FILE).read_text()


def test_deviations_of_a_site_that_is_left_out_are_not_said_to_be_of_its_patients(tmp_path: Path) -> None:
    for split, told in (("iid", "on the test rows of all sites."), ("tested on a.csv", "of training alone")):
        write_summary(tmp_path, frame([line("pan-svm", split=split)]), [], ORIGIN, "md")
        page = (tmp_path / PAGE_FILE).read_text()
        assert [words in page for words in ("on the test rows of all sites.", told)] == [split == "iid", True]


def test_five_blocks_are_too_few_to_test_and_six_are_enough(tmp_path: Path) -> None:
    for sets, told in ((5, "too little to test"), (6, "6 data sets")):
        lines = [
            line(name, data=f"set{number}", accuracy=0.8 - worse)
            for number in range(sets)
            for name, worse in (("a", 0.0), ("b", 0.1))
        ]
        write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
        assert told in (tmp_path / PAGE_FILE).read_text()


def test_names_have_the_level_and_baselines_are_marked() -> None:
    lines = [
        line("pan-svm", level="exact"),
        line("local-only", level="perturbed, noise 0.25"),
        line("central:svc", level=""),
    ]
    names = ["pan-svm (exact)", "local-only (perturbed 0.25)", "central:svc (true rows)"]
    assert named(frame(lines))["strategy"].tolist() == names


def test_runs_of_several_commits_are_told(tmp_path: Path) -> None:
    lines = [
        line("a", repeat, accuracy=0.8, commit=commit, date=f"2026-01-0{repeat + 1}")
        for repeat, commit in enumerate(("first", "second", "second"))
    ]
    assert "commit first second, seeds" in write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    (found,) = pd.read_csv(tmp_path / SUMMARY_FILE).to_dict("records")
    assert (found["commit"], found["date"]) == ("first second", "2026-01-03")


def test_a_table_made_again_later_has_the_date_versions_and_sizes_of_its_runs(tmp_path: Path) -> None:
    lines = [
        line(
            "a",
            repeat,
            date=date,
            commit="abc",
            versions="python 3.10",
            sites=3,
            rows_train=80 + repeat,
            rows_test=20,
        )
        for repeat, date in enumerate(("2025-01-01T00:00Z", "2025-01-02T00:00Z"))
    ]
    text = write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    assert "2025-01-02T00:00Z, commit abc, seeds 0 to 1." in text
    assert "3 sites, 80 to 81 rows to train and 20 to test. python 3.10." in text
    assert ORIGIN["date"] not in text


@pytest.mark.parametrize(("form", "file"), [("csv", "table.csv"), ("md", "table.md"), ("latex", "table.tex")])
def test_a_table_counts_failures_and_names_its_origin(tmp_path: Path, form: str, file: str) -> None:
    lines = [
        line(name, repeat, accuracy=0.8 + 0.01 * repeat - worse, sites=3, rows_train=80, rows_test=20)
        for repeat in range(6)
        for name, worse in (("a", 0.0), ("b", 0.1))
    ]
    lines[1] = line("b", 0, error="no")
    text = write_summary(tmp_path, frame(lines), [], ORIGIN, form)
    assert (tmp_path / file).read_text() == text
    for words in (
        "1 of 6",
        "0 of 6",
        "mean of 5 of 6 splits",
        "2026-01-02",
        "abc",
        "80 rows",
        "seeds 0 to 5",
    ):
        assert words in text, words
    assert "Nadeau" in (tmp_path / PAGE_FILE).read_text()


def test_a_system_that_always_fails_on_a_split_does_not_end_the_tests_of_the_others(tmp_path: Path) -> None:
    lines = [
        line(
            name, repeat, split=split, accuracy=accuracy + 0.01 * repeat, rows_train=80, rows_test=20, sites=3
        )
        for split in ("iid", "dirichlet:1")
        for repeat in range(5)
        for name, accuracy in (("a", 0.8), ("b", 0.7 - 0.01 * repeat))
    ]
    for split in ("iid", "dirichlet:1"):
        lines += [
            line("c", repeat, split=split, error="no")
            if split == "dirichlet:1"
            else line("c", repeat, split=split, accuracy=0.6, rows_train=80, rows_test=20, sites=3)
            for repeat in range(5)
        ]
    write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    page = (tmp_path / PAGE_FILE).read_text()
    both, other = page.split(": over its repeats</h3>")[1:]
    assert "<td>c</td>" in both
    assert "<td>a</td>" in other.split("<h2>")[0]
    assert "<td>c</td>" not in other.split("<h2>")[0]


@pytest.mark.parametrize(("split", "noisy"), [("iid", True), ("tested on west.csv", False)])
def test_figures_at_level_dp_carry_noise_but_on_a_site_that_is_left_out(
    tmp_path: Path, split: str, noisy: bool
) -> None:
    write_summary(tmp_path, frame([line("a", level="dp", split=split, accuracy=0.8)]), [], ORIGIN, "md")
    assert ("at level dp with noise" in (tmp_path / PAGE_FILE).read_text()) == noisy


def test_a_table_that_is_not_tested_beside_others_is_named(tmp_path: Path) -> None:
    sizes = {"rows_train": 80, "rows_test": 20, "sites": 3}
    lines = [
        line(name, repeat, split=split, accuracy=accuracy + 0.01 * repeat, **sizes)
        for split in ("iid", "dirichlet:1")
        for repeat in range(5)
        for name, accuracy in (("a", 0.8), ("b", 0.7 - 0.01 * repeat))
    ]
    write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    assert "Not tested" not in (tmp_path / PAGE_FILE).read_text()
    lines[-1] = line("b", 4, split="dirichlet:1", error="no")
    write_summary(tmp_path, frame(lines), [], ORIGIN, "md")
    assert "Not tested: iris, dirichlet:1. A test on one table takes" in (tmp_path / PAGE_FILE).read_text()


@pytest.mark.parametrize("form", ["csv", "md", "latex"])
def test_the_positive_class_is_named_wherever_f1_is(tmp_path: Path, form: str) -> None:
    lines = [
        line("a", 0, data="ward", f1=0.8, positive_class="ill"),
        line("b", 0, data="ward", error="no"),
        line("a", 0, f1=0.9, positive_class=None),
    ]
    text = write_summary(tmp_path, frame(lines), [], ORIGIN, form)
    assert "F1 is that of the positive class: 'ill' of ward." in text
    assert "&#39;ill&#39; of ward" in (tmp_path / PAGE_FILE).read_text()
    found = pd.read_csv(tmp_path / SUMMARY_FILE, keep_default_na=False)["positive_class"]
    assert found.tolist() == ["ill", "", ""]

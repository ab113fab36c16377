"""What is recorded of runs, which figures are older than their code, and what the page makes of claims."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from simulations.comparison.finished import RUNS_FILE
from simulations.papers.ages import Figures, age, figures, git
from simulations.papers.declared import all_reproductions
from simulations.papers.page import claims_table, deviations_list
from simulations.papers.record import record, recorded
from simulations.papers.reproduction import Cell, Setup
from simulations.papers.table_runs import do_runs, execute

TABLE = "lin-table-2"
SOURCE = '"""Words."""\nimport os\n\nx = os.sep\n'
ROOT = Path(__file__).parents[3]


def results_of(table: str, place: tuple[str, str], accuracies: list[float]) -> dict[str, dict[str, object]]:
    """Return what runs of a cell have found, by their keys."""
    runs = all_reproductions()[table].plan(len(accuracies))[place]
    origin = {"commit": "a" * 40, "date": "2026-01-02T03:04Z", "features": 5}
    return {
        json.dumps(run.key): {"accuracy": accuracy, **origin}
        for run, accuracy in zip(runs, accuracies, strict=True)
    }


def test_a_cell_is_recorded_with_its_origin_and_others_stay(tmp_path: Path) -> None:
    record(results_of(TABLE, ("Org", "Sonar"), [0.7, 0.8]), tmp_path)
    record(results_of(TABLE, ("Fs", "Sonar"), [0.6]), tmp_path)
    lines = recorded("lin2011", tmp_path)
    line = lines[TABLE, "Org", "Sonar"]
    assert (float(line["ours"]), line["runs"]) == (pytest.approx(75.0), "2")
    assert (line["paper"], line["commit"], line["date"]) == ("75.96", "aaaaaaa", "2026-01-02T03:04Z")
    assert float(line["low"]) < 75 < float(line["high"])
    assert lines[TABLE, "Fs", "Sonar"]["low"] == ""
    assert (TABLE, "Ep2", "Sonar") not in lines


def test_a_cell_of_more_repeats_stays(tmp_path: Path) -> None:
    record(results_of(TABLE, ("Org", "Sonar"), [0.7, 0.8]), tmp_path)
    record(results_of(TABLE, ("Org", "Sonar"), [0.5]), tmp_path)
    assert recorded("lin2011", tmp_path)[TABLE, "Org", "Sonar"]["runs"] == "2"
    record(results_of(TABLE, ("Org", "Sonar"), [0.5, 0.5]), tmp_path)
    assert float(recorded("lin2011", tmp_path)[TABLE, "Org", "Sonar"]["ours"]) == 50


def test_a_failed_or_missing_run_ends_the_repeats_that_are_recorded(tmp_path: Path) -> None:
    found = results_of(TABLE, ("Org", "Sonar"), [0.7, 0.8, 0.9])
    second = list(found)[1]
    record({**found, second: {"error": "it failed"}}, tmp_path)
    assert recorded("lin2011", tmp_path)[TABLE, "Org", "Sonar"]["runs"] == "1"


def test_the_interval_is_students_widened_by_the_share_tested() -> None:
    """Of 1, 2, 3: deviation 1, t of 2 degrees of freedom 4.303."""
    low, high = Cell("", "", 2.0, (2 / 3) ** 0.5, 3, None).interval or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    low, high = Cell("", "", 2.0, (2 / 3) ** 0.5, 3, None, tested=0.2).interval or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(4.3027 * (1 / 3 + 1 / 4) ** 0.5, rel=1e-4)
    assert Cell("", "", 2.0, 0.0, 1, None).interval is None


def test_the_interval_of_means_over_folds_is_that_of_the_folds() -> None:
    """Of folds 70, 90 and 80, 100: mean 85, variance 500 / 3, of the mean 1/4 + 1/(2 - 1) times that, t of 3 3.1824."""
    both = Cell("", "", 85.0, 5.0, 2, None, tested=0.5, folds=2, within=100.0)
    low, high = both.interval or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(3.18245 * (1.25 * 500 / 3) ** 0.5, rel=1e-4)
    # Of the means 80 and 90 alone: variance 50, of a fold 100, t of one degree of freedom 12.706.
    low, high = replace(both, within=None).interval or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(12.7062 * (1.25 * 100) ** 0.5, rel=1e-4)


def test_runs_that_cross_validate_say_how_their_folds_vary(tmp_path: Path) -> None:
    what = all_reproductions()[TABLE].of_rows(["Org"])
    setup = Setup("folds:central:svc", "wine", {"test_fraction": 0.0})
    both = {("Org", "WBC"): [setup], ("Org", "WBC features"): what.setups["Org", "WBC features"]}
    runs = [run for own in replace(what, setups=both).plan(2).values() for run in own]
    results = {run: execute(run, tmp_path, tmp_path) for run in runs}
    accuracy, features = replace(what, setups=both, paper={}).cells(2, results)
    assert (accuracy.folds, accuracy.tested) == (5, 0.2)
    assert accuracy.within == pytest.approx(
        sum((100 * results[run]["fold_deviation"]) ** 2 for run in runs[:2]) / 2
    )
    assert features.interval == (30, 30)


def test_runs_of_other_versions_are_not_mixed_into_a_table(tmp_path: Path) -> None:
    runs = all_reproductions()[TABLE].plan(2)["Org", "WBC"]
    done = {"accuracy": 0.5, "versions": {"scikit-learn": "0.1"}}
    (tmp_path / RUNS_FILE).write_text(json.dumps([runs[0].key, done]) + "\n")
    with pytest.raises(SettingError, match=r"scikit-learn 0\.1"):
        do_runs(runs, None, tmp_path, 1, lambda *_: None)


def test_a_part_of_a_table_is_named_by_its_rows() -> None:
    part = all_reproductions()[TABLE].of_rows(["Fs"])
    assert {row for row, _ in part.setups} == {"Fs"} == {row for row, _ in part.paper}
    with pytest.raises(SettingError, match="Org; Fs; Ep2; Ep3"):
        all_reproductions()[TABLE].of_rows(["Nothing"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with two modules and their commit."""
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "one.py").write_text(SOURCE)
    (tmp_path / "strategies" / "two.py").write_text("y = 1\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        named = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *named, *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "source", "own", "rest"),
    [
        ("one", SOURCE, "nothing", "nothing"),
        ("one", '"""Other."""\n\nimport os, sys\n# Why.\nx = os.sep\n', "nothing", "nothing"),
        ("moved", SOURCE, "nothing", "nothing"),
        ("moved", SOURCE + "z = 1\n", "1 lines of 1 files", "nothing"),
        ("one", SOURCE.replace("os.sep", "2"), "2 lines of 1 files", "nothing"),
        ("two", "y = 2\n", "nothing", "2 lines of 1 files"),
    ],
)
def test_what_has_changed_since_figures_were_made_is_told_but_for_words(
    checkout: Path, name: str, source: str, own: str, rest: str
) -> None:
    commit = git("rev-parse", "HEAD", root=checkout)
    assert commit
    if name == "moved":
        (checkout / "strategies" / "one.py").unlink()
    (checkout / "strategies" / f"{name}.py").write_text(source)
    git("add", "-A", root=checkout)
    made = Figures("results/some.json", "", commit.strip(), "", ["/one.py", "/moved.py"])
    assert age(made, checkout).endswith(f": since then {own} of its own code, {rest} of the rest")


def test_figures_of_a_commit_that_is_not_there_are_told(checkout: Path) -> None:
    assert "not in this checkout" in age(Figures("some.csv", "", "f" * 40, "2026-11-30", ()), checkout)


def test_all_figures_have_code_of_their_own_and_a_commit() -> None:
    by_name = {one.table or one.file: one for one in figures()}
    assert {*all_reproductions()} >= {one.table for one in by_name.values() if one.table}
    assert [*by_name[TABLE].own] == ["papers/lin2011", "/ssvd"]
    paths = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/*.*")]
    assert all(one.commit and any(one.own[0] in path for path in paths) for one in by_name.values())


def test_the_page_shows_numbers_with_interval_paper_and_commit() -> None:
    text = claims_table("lin2011")
    line = recorded("lin2011")[TABLE, "Org", "Sonar"]
    assert f"paper 76; {line['runs']} runs, {line['commit']})" in text
    assert "[" in text
    assert "Table VI" in deviations_list("lin2011")
    assert "other-wbc" not in deviations_list("lin2011")


def test_an_interval_ends_where_its_unit_does() -> None:
    """Of few runs Student's t gives accuracies above 100 %."""
    line = recorded("lu2016")["lu-table-5.2", "Colon", "CV1 after"]
    assert float(line["high"]) > 100
    shown = f"Colon, CV1 after: {float(line['ours']):.3g} [{float(line['low']):.3g}, 100]"
    assert shown in claims_table("lu2016")


def test_a_gain_may_be_a_loss_and_an_accuracy_beside_features_ends_at_100() -> None:
    lines, text = recorded("lu2016"), claims_table("lu2016")
    gain = lines["lu-table-5.2", "Colon", "CV2 gain"]
    assert float(gain["low"]) < 0
    assert f"Colon, CV2 gain: 10.1 [{float(gain['low']):.3g}, {float(gain['high']):.3g}]" in text
    accuracy = lines["lu-table-5.9", "Ionosphere", "RSVM accuracy"]
    assert float(accuracy["high"]) > 100
    assert f"Ionosphere, RSVM accuracy: 93.8 [{float(accuracy['low']):.3g}, 100]" in text
    assert "SVM-RFE features: 4,278 (paper 4,565;" in text
    assert not re.search(r"\de\+", text)


def test_what_claims_count_and_sum_is_in_their_files() -> None:
    lines, text = recorded("lu2016"), claims_table("lu2016")

    def column(table: str, name: str) -> dict[str, float]:
        return {key[1]: float(line["ours"]) for key, line in lines.items() if key[::2] == (table, name)}

    after, before = column("lu-table-5.2", "CV1 after"), column("lu-table-5.2", "CV1 before")
    gains = {row: after[row] - before[row] for row in after}
    assert f"as a sum over six sets, {sum(gains.values()):.0f}, of it {gains['DLBCL']:.0f} on DLBCL" in text
    gained, chosen, at_first = (
        sum(column("lu-table-5.2", f"CV2 {what}").values()) for what in ("gain", "chosen", "before")
    )
    assert (chosen - at_first) / gained == pytest.approx(0.5, abs=0.05)
    assert "of what feature selection gains under CV2 about half is hindsight" in text
    filtered, wrapped = column("lu-table-6.6", "PPFSIFW CV2"), column("lu-table-6.6", "PPFSVW CV2")
    assert sum(filtered[row] < wrapped[row] for row in wrapped) == 3
    assert "on three sets of six under CV2" in text
    totals = [sum(column("lu-table-6.3", f"{way} features").values()) for way in ("CV2", "CV1")]
    assert f"({totals[0]:.0f} for {totals[1]:.0f};" in text
    methods = ("SVM-RFE", "RSVM", "SVM-t", "PPFSVW")
    four = [column("lu-table-5.5", method) for method in methods]
    apart = {row: max(one[row] for one in four) - min(one[row] for one in four) for row in four[0]}
    assert {row for row in apart if apart[row] > 1} == {"Colon", "WBC"}
    assert max(apart.values()) < 2
    assert "within a point on four sets, within two on colon and WBC" in text
    for table, told in (("lu-table-3.4", "8 to 88 times"), ("lu-table-3.5", "87 to 215")):
        printed = all_reproductions()[table].paper
        slower = [
            seconds / printed[row.replace("SVM-ADMM", "PAN-SVM"), column]
            for (row, column), seconds in printed.items()
            if row.endswith("SVM-ADMM") and column == "seconds"
        ]
        assert f"{min(slower):.0f} to {max(slower):.0f}" in told
        assert told in text

"""The folder of a comparison: goes on where it stopped, and is never another comparison's."""

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from simulations.comparison.plan import Plan
from simulations.comparison.run import Finished
from simulations.comparison.table import PLAN_FILE, TABLE_FILE, ComparisonTable, opened

Line = Callable[..., Finished]

PLAN = Plan(
    data=("iris",),
    strategies=("local-only", "central:tree"),
    splits=("iid",),
    aggregations=("ring",),
    repeats=2,
    seed=0,
    common={"label": "", "positive": "", "sites": 3, "test-fraction": 0.2, "data-dir": ""},
    varied={},
)


@pytest.fixture
def lines() -> list[Finished]:
    """All lines of the plan."""
    return [
        Finished.of(case, accuracy=0.1 + case.repeat / 3, round_trips=2, converged=None, disclosed='a "b", c')
        for case in PLAN.cases()
    ]


def test_a_table_that_was_stopped_lacks_what_is_missing_and_is_in_order_at_the_end(
    tmp_path: Path, lines: list[Finished]
) -> None:
    table = ComparisonTable(tmp_path, PLAN.cases())
    for one in reversed(lines[1:]):
        table.add(one)
    again = ComparisonTable(tmp_path, PLAN.cases())
    assert again.missing() == PLAN.cases()[:1]
    again.add(lines[0])
    again.sort()
    last = ComparisonTable(tmp_path, PLAN.cases())
    assert (last.missing(), last.lines()) == ([], lines)
    order = [text.split(",")[0] for text in (tmp_path / TABLE_FILE).read_text().splitlines()]
    assert order == ["strategy", "local-only", "central:tree", "local-only", "central:tree"]


def test_half_a_line_is_run_again(tmp_path: Path, lines: list[Finished]) -> None:
    table = ComparisonTable(tmp_path, PLAN.cases())
    for one in lines:
        table.add(one)
    file = tmp_path / TABLE_FILE
    file.write_text(file.read_text()[:-5])
    again = ComparisonTable(tmp_path, PLAN.cases())
    assert again.missing() == PLAN.cases()[-1:]
    assert again.lines() == lines[:-1]


def test_a_failed_run_is_kept_in_the_table_and_tried_again(tmp_path: Path, lines: list[Finished]) -> None:
    table = ComparisonTable(tmp_path, PLAN.cases())
    table.add(replace(lines[0], accuracy=None, error="it did not work,\nreally"))
    again = ComparisonTable(tmp_path, PLAN.cases())
    assert again.lines()[0].error == "it did not work,\nreally"
    assert len(again.missing()) == len(lines)
    again.add(lines[0])
    assert ComparisonTable(tmp_path, PLAN.cases()).lines() == lines[:1]


def test_a_damaged_table_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / TABLE_FILE).write_text("strategy,data\npan-svm,iris\n")
    with pytest.raises(SettingError, match="damaged"):
        ComparisonTable(tmp_path, PLAN.cases())
    assert (tmp_path / TABLE_FILE).read_text() == "strategy,data\npan-svm,iris\n"


def test_the_folder_of_another_comparison_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with opened(folder, PLAN):
        pass
    with opened(folder, PLAN):
        pass
    for other in (
        replace(PLAN, repeats=3),
        replace(PLAN, data=("wine",)),
        replace(PLAN, varied={"C": ("2",)}),
    ):
        with pytest.raises(SettingError, match="comparison"), opened(folder, other):
            pass


def test_data_that_have_changed_are_another_comparison(tmp_path: Path, hospital_files: list[Path]) -> None:
    plan = replace(PLAN, data=(str(hospital_files[0]),))
    with opened(tmp_path / "out", plan):
        pass
    hospital_files[0].write_text(hospital_files[1].read_text())
    with pytest.raises(SettingError, match="sha256"), opened(tmp_path / "out", plan):
        pass


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(SettingError, match="empty"), opened(tmp_path, PLAN):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "out", PLAN),
        pytest.raises(SettingError, match="process"),
        opened(tmp_path / "out", PLAN),
    ):
        pass
    (tmp_path / "out" / PLAN_FILE).write_text("{")
    with pytest.raises(SettingError, match="damaged"), opened(tmp_path / "out", PLAN):
        pass
    assert not multiprocessing.active_children()

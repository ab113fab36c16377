"""Each rule by which level perturbed refuses a table is needed, stands in the list, and suffices for its case."""

from collections.abc import Callable

import numpy as np
import pytest

from clients.perturb import rules
from clients.perturb.marks import Marks, fingerprints, marks_of
from clients.perturb.rules import Export, checked_marks
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError

ROWS, COLUMNS = 60, 4
NOTHING = np.full((1, COLUMNS), np.nan)
FIRST = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
TWO_THIRDS, A_TENTH, A_FIFTH = ROWS * 2 // 3, ROWS // 10, ROWS // 5


def export(X: Floats, ids: list[int]) -> Export:
    key, columns = bytes(32), [f"x{index}" for index in range(COLUMNS)]
    cells, empty = (marks_of(key, np.ascontiguousarray(one).view("<u8")) for one in (X, NOTHING))
    return Export(fingerprints(key, [b"P%d" % one for one in ids]), cells, empty, columns, True, None)


def same(ids: list[int]) -> Export:
    return export(FIRST, ids)


def in_another_unit() -> Export:
    return export(FIRST * [1.8, 1, 1, 1], [*range(ROWS)])


CASES: dict[str, Callable[[], Export]] = {
    "check_records_stay": lambda: export(FIRST[TWO_THIRDS:], [*range(TWO_THIRDS, ROWS)]),
    "check_columns_stay": in_another_unit,
    "check_few_came_back": lambda: same([*range(1000, 1000 + A_TENTH), *range(A_TENTH, ROWS)]),
    "check_no_second_source": lambda: export(
        np.vstack([FIRST, FIRST[:A_FIFTH]]), [*range(ROWS), *range(1000, 1000 + A_FIFTH)]
    ),
}


@pytest.fixture
def begun() -> Marks:
    return checked_marks(Marks(), same([*range(ROWS)]), repeats=False)


@pytest.mark.parametrize("rule", CASES)
def test_a_table_that_one_rule_refuses_no_other_does(
    rule: str, begun: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TableError):
        checked_marks(begun, CASES[rule](), repeats=False)
    monkeypatch.setattr(rules, rule, lambda *_: None)
    assert checked_marks(begun, CASES[rule](), repeats=False).first.keys() == begun.first.keys()


def test_a_copy_does_not_begin_with_records_that_are_there_twice() -> None:
    with pytest.raises(TableError, match="twice"):
        checked_marks(Marks(), CASES["check_no_second_source"](), repeats=False)


def test_all_rules_stand_in_the_list_in_the_order_of_their_comparison() -> None:
    listed = [line.split("`")[1] for line in (rules.__doc__ or "").splitlines() if line[:1].isdigit()]
    checks = [name for name in vars(rules) if name.startswith("check_")]
    assert listed == [*CASES, "labels_moved"] == [*checks, "labels_moved"]


def test_a_table_that_did_not_change_keeps_its_marks(begun: Marks) -> None:
    assert checked_marks(begun, same([*range(ROWS)]), repeats=False) == begun


def test_records_that_came_back_one_after_the_other_do_not_count_as_if_all_at_once(begun: Marks) -> None:
    """Where chance, or an export without these rows, hid them once, the next correction was refused."""
    three, four = ([*range(1000, 1000 + many), *range(many, ROWS)] for many in (3, 4))
    marks = checked_marks(begun, same(three), repeats=False)
    marks = checked_marks(marks, export(FIRST[3:], three[3:]), repeats=False)
    assert checked_marks(marks, same(four), repeats=False).moved == 4

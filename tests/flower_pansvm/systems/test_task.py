"""A task declares how each part of its answer leaves, or it cannot be made."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import clients.systems
import flower_pansvm.systems
from clients.gate.levels import DP, SIMULATED, SUMS, TESTED
from clients.site import Site
from clients.systems import WORK, answers
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.consents import CONSENTS
from flower_pansvm.systems.output_perturbation import LOCAL_WEIGHTS
from flower_pansvm.systems.pan_svm.tasks import CUTS
from flower_pansvm.systems.scaling import EXTREMES, MOMENTS, RANGES, MomentsAnswer
from flower_pansvm.tasks import Nothing, Task, disclosed, dp, summed
from tests.tasks import ROWS, TASKS


@dataclass(frozen=True)
class Undeclared:
    rows: Floats = summed()
    more: Floats = field()


@dataclass(frozen=True)
class WholeNumbers:
    rows: Ints = summed()


@dataclass(frozen=True)
class Both:
    rows: Floats = summed()
    name: str = disclosed()


@dataclass(frozen=True)
class Mixed:
    rows: Floats = dp(lambda _: 1.0, shape=(1,))
    exact: Floats = summed()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Undeclared, "does not say how 'more' leaves a site"),
        (WholeNumbers, "'rows' is summed: its type must be Floats"),
        (Both, "both sums and discloses"),
        (Mixed, "has parts that are dp and others that are not"),
    ],
)
def test_an_answer_that_does_not_say_how_it_leaves_makes_no_task(answer: type, reason: str) -> None:
    with pytest.raises(TypeError, match=f"'weigh'.*{reason}"):
        Task("weigh", "train", Nothing, answer)


def test_a_consent_that_does_not_exist_cannot_be_declared() -> None:
    with pytest.raises(KeyError, match="'extreme'"):
        disclosed(consent="extreme")


def test_a_task_knows_how_its_parts_leave() -> None:
    assert CUTS.summed == ("a", "d", "m", "loss", "curvature")
    assert (CUTS.dp, CUTS.disclosed, CUTS.consents, CUTS.simulated) == (False, (), set(), False)
    assert (EXTREMES.disclosed, EXTREMES.consents) == (("low", "high"), {"extremes"})
    assert (LOCAL_WEIGHTS.dp, LOCAL_WEIGHTS.consents) == (True, {"own-weights"})
    assert RANGES.simulated


def test_every_consent_belongs_to_a_task() -> None:
    declared = {consent for task in TASKS for consent in task.consents}
    assert declared == CONSENTS.keys()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_table_that_is_checked_before_the_import_says_what_the_task_declares(
    task: Task[Any, Any],
) -> None:
    row = ROWS[task.name]
    assert row.category == task.category
    assert row.leaves in ((SIMULATED,) if task.simulated else (DP, TESTED) if task.dp else (SUMS,))
    assert set(row.consents) == task.consents


def test_every_task_is_in_the_table_and_every_system_has_one_name_in_both_rooms() -> None:
    assert WORK.keys() | {"relay"} == ROWS.keys()
    names = {row.system for row in ROWS.values()}
    for systems in (flower_pansvm.systems, clients.systems):
        (folder,) = systems.__path__
        assert {path.stem for path in Path(folder).iterdir() if not path.name.startswith("__")} == names


def test_two_functions_cannot_answer_one_task() -> None:
    def again(site: Site, question: Nothing) -> MomentsAnswer:
        raise NotImplementedError

    with pytest.raises(ValueError, match="Two functions answer the task 'moments'"):
        answers(MOMENTS)(again)

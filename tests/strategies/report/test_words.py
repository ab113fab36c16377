"""What leaves a site is told in words, for every task that there is."""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import flower_pansvm.summing
import flower_pansvm.systems
from flower_pansvm.consents import LEVELS
from flower_pansvm.tasks import Task
from strategies.report.clinician import level
from strategies.report.engineer import departures
from strategies.report.words.system import words_of_tasks

PREFIX = f"{flower_pansvm.systems.__name__}."


def every_task() -> list[Task]:
    """Return the tasks whose answers hold anything."""
    modules = [flower_pansvm.summing]
    modules += [import_module(one.name) for one in walk_packages(flower_pansvm.systems.__path__, PREFIX)]
    found = {one.name: one for module in modules for one in vars(module).values() if isinstance(one, Task)}
    return [one for one in found.values() if one.declared]


def test_every_task_has_words_and_no_words_are_without_a_task() -> None:
    assert {one.name for one in every_task()} == words_of_tasks().keys()


@pytest.mark.parametrize("way", [*LEVELS, "disclosed"])
def test_every_way_of_leaving_has_words(way: str) -> None:
    left = {"task": "landmarks", "result": "centres", "how": way, "numbers_per_site": 9, "times": 1}
    assert f"How: {way}." not in departures({"disclosed": [left]})


def test_a_task_is_told_once_with_all_ways_in_which_it_left() -> None:
    disclosed = [
        {"task": "landmarks", "result": "centres", "how": "perturbed", "numbers_per_site": 9, "times": 1},
        {"task": "landmarks", "result": "filled", "how": "exact", "numbers_per_site": 3, "times": 1},
        {"task": "<of their own>", "result": "x", "how": "disclosed", "numbers_per_site": 1200, "times": 1},
    ]
    page = departures({"disclosed": disclosed})
    assert page.count("Centres of groups of similar patients") == 1
    assert "copy of the table: only the sum over all sites can be read; masked: only the sum" in page
    assert "&lt;of their own&gt;" in page
    assert "1,200" in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"level": "exact", "disclosed": [{"task": "cuts", "how": "exact"}]}, "can compute most records"),
        (
            {"level": "exact", "disclosed": [{"task": "local_scores", "how": "exact"}]},
            "sees sums over all hospitals.",
        ),
        ({"level": "perturbed", "noise": 0.5}, "noise of 0.5 standard deviations"),
        ({"level": "perturbed", "noise": 0.5}, "real hospitals does not see"),
        (
            {"level": "perturbed", "noise": 0.5, "tested_on": "perturbed records"},
            "tested on perturbed records.",
        ),
        ({"level": "dp"}, "ε and δ"),
        ({"level": "exact", "disclosed": [{"task": "held_out", "how": "disclosed"}]}, "Test patients’ rows"),
    ],
)
def test_the_level_is_told_in_words(changes: dict[str, Any], words: str) -> None:
    result = {"noise": None, "accuracy": 0.9, "tested_on": "true records", "disclosed": [], **changes}
    assert words in level(result)


@pytest.mark.parametrize("name", LEVELS)
def test_every_level_has_words(name: str) -> None:
    assert f"level {name})" in level(
        {"level": name, "noise": 0.5, "accuracy": None, "tested_on": "", "disclosed": []}
    )

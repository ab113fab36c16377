"""Measures several things in turns, so that whatever else the machine does meets all of them alike.

Seconds are those of the processor: on a shared machine the clock on the wall measures the others as well.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

ONCE_SECONDS = 3.0
"""What takes longer is done once."""

Name = TypeVar("Name")
Result = TypeVar("Result")


def take_turns(tasks: Mapping[Name, Callable[[], Result]], repeats: int) -> dict[Name, list[Result]]:
    """Do all tasks, several times, in an order drawn anew for each turn.

    Parameters
    ----------
    tasks : mapping
        What to do, by name.
    repeats : int
        How many results of each task are wanted. There is one turn more, to warm up, whose results count only
        for the tasks that are done once.

    Returns
    -------
    dict
        The results of each task.
    """
    results: dict[Name, list[Result]] = {name: [] for name in tasks}
    again = []
    for name, task in tasks.items():
        started = time.process_time()
        result = task()
        if time.process_time() - started > ONCE_SECONDS:
            results[name].append(result)
        else:
            again.append(name)
    for _ in range(repeats):
        random.shuffle(again)
        for name in again:
            results[name].append(tasks[name]())
    return results


def seconds_of(task: Callable[[], object]) -> Callable[[], float]:
    """Return a function that does a task and returns its processor seconds."""

    def timed() -> float:
        started = time.process_time()
        task()
        return time.process_time() - started

    return timed

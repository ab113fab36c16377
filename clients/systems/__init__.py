"""What a site computes, one file a system, under the same names as in ``flower_pansvm/systems/``.

A file enters each task that it answers as it is imported, and the gate imports it only once the hospital agrees to it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from clients.site import Site
from flower_pansvm.tasks import Task

Q = TypeVar("Q")
A = TypeVar("A")
Work = Callable[[Site, Q], A]

WORK: dict[str, tuple[Task[Any, Any], Work[Any, Any]]] = {}
"""The tasks of the systems that this process has imported, by name, and the work that answers each."""


def answers(task: Task[Q, A]) -> Callable[[Work[Q, A]], Work[Q, A]]:
    """Return a decorator of a task's local work: a function that gets site and question, and returns the answer.

    ValueError if another function answers the task already.
    """

    def enter(work: Work[Q, A]) -> Work[Q, A]:
        if task.name in WORK:
            raise ValueError(f"Two functions answer the task '{task.name}'. Take one of them out.")
        WORK[task.name] = task, work
        return work

    return enter

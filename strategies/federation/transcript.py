"""What the coordinator asked and told its sites and the sums it learned, in order, for ``pansvm run --audit``.

It is the checkpoint of a finished run (:mod:`strategies.federation.checkpoint`). What sites have disclosed one by one
is not in it, only that they were asked.

The coordinator knows all of it anyway. An audit puts the same questions to the simulated sites again, and so finds out
which rows were in which sum; an attack tries to find the rows from the sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.records import Values, message_of
from flower_pansvm.tasks import Broadcast, Task

Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")

FOLDER = "transcript"
ROSTER = "sites"
TOLD, ASKED = "told", "asked"
"""Kinds of entries besides sums."""

TRANSCRIPT = "The coordinator that wrote the transcript"
"""Who sent what is read here, for errors."""

LEARNED = "learned."
"""Before the names of what came back, which may be those of what was asked."""


@dataclass(frozen=True)
class TranscriptSum:
    """A sum that the coordinator has learned; one of nothing stands for a question whose answers are disclosed."""

    task: str  # name of its task
    inputs: Mapping[str, Any]  # the question's values
    # All that the sites had been told by then: the latest broadcast of each name. The same object for one sum and the
    # next unless they were told something in between.
    told: Mapping[str, Values]
    sites: tuple[str, ...]  # the sites it is over
    sums: Mapping[str, NDArray[np.float64]]  # what came back

    def question(self, task: Task[Q, A]) -> Q:
        """Return the question, which is the task's."""
        return message_of(task.question, self.inputs, "inputs", TRANSCRIPT)

    def answer(self, task: Task[Q, A]) -> A:
        """Return the sums as the task's answer."""
        return message_of(task.answer, self.sums, "sums", TRANSCRIPT)

    def heard(self, broadcast: Broadcast[M]) -> M:
        """Return a broadcast that the sites had heard by then."""
        return message_of(broadcast.message, self.told[broadcast.name], broadcast.name, TRANSCRIPT)


def read_transcript(folder: Path) -> list[TranscriptSum]:
    """Return the sums of the record in a run's folder, in order."""
    found: list[TranscriptSum] = []
    told: dict[str, Values] = {}
    for path in sorted((folder / FOLDER).glob("[0-9]*.npz")):
        *kind, name = path.stem.split("-")[1:]
        with np.load(path, allow_pickle=False) as file:
            values: dict[str, Any] = {key: _value(file[key]) for key in file.files}
        if TOLD in kind:
            told = {**told, name: values}
        else:
            sites = tuple(values.pop(ROSTER))
            sums = {
                key.removeprefix(LEARNED): values.pop(key) for key in list(values) if key.startswith(LEARNED)
            }
            found.append(TranscriptSum(name, values, told, sites, sums))
    return found


def remove_transcript(folder: Path) -> None:
    """Delete the record in a run's folder, if there is one."""
    for path in (folder / FOLDER).glob("*.npz"):
        path.unlink()
    if (folder / FOLDER).is_dir():
        (folder / FOLDER).rmdir()


def _value(array: NDArray[Any]) -> Any:
    """Return a value as it was before it became an array in a file."""
    return array if array.ndim and array.dtype.kind != "U" else array.tolist()

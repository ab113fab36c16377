"""Questions, broadcasts and sums of a run, in order, for ``pansvm run --audit``.

A transcript is the checkpoint of a finished run (:mod:`strategies.federation.checkpoint`). Of tasks whose results are
disclosed it has the questions only. It holds nothing that the coordinator does not know.

An audit puts the same questions to the simulated sites again to learn the rows of each sum; an attack reconstructs rows
from the sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.records import Values, message_of
from flower_pansvm.tasks import Broadcast, Task

Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")

FOLDER = "transcript"
ROSTER = "sites"
BROADCAST, QUESTION = "broadcast", "question"
"""Kinds of entries besides sums."""

TRANSCRIPT = "The coordinator that wrote the transcript"
"""The sender in errors."""

LEARNED = "learned."
"""Prefix of the names of sums, which may equal names of the question's values."""


@dataclass(frozen=True)
class TranscriptSum:
    """A sum of a run; without any numbers for a question whose answers are disclosed."""

    task: str
    inputs: Mapping[str, Any]  # the question's values
    # The latest broadcast of each name: the same object as the sum before has, without broadcasts in between.
    broadcasts: Mapping[str, Values]
    sites: tuple[str, ...]  # the sites of the sum
    sums: Mapping[str, Floats]

    def question(self, task: Task[Q, A]) -> Q:
        """Return the question as the task's dataclass."""
        return message_of(task.question, self.inputs, "inputs", TRANSCRIPT)

    def answer(self, task: Task[Q, A]) -> A:
        """Return the sums as the task's answer."""
        return message_of(task.answer, self.sums, "sums", TRANSCRIPT)

    def received(self, broadcast: Broadcast[M]) -> M:
        """Return a broadcast that the sites had received."""
        return message_of(broadcast.message, self.broadcasts[broadcast.name], broadcast.name, TRANSCRIPT)


def read_transcript(folder: Path) -> list[TranscriptSum]:
    """Return the sums of the transcript in a run's folder, in order."""
    entries: list[TranscriptSum] = []
    broadcasts: dict[str, Values] = {}
    for path in sorted((folder / FOLDER).glob("[0-9]*.npz")):
        *kind, name = path.stem.split("-")[1:]
        with np.load(path, allow_pickle=False) as file:
            values: dict[str, Any] = {key: _value(file[key]) for key in file.files}
        if BROADCAST in kind:
            broadcasts = {**broadcasts, name: values}
        else:
            sites = tuple(values.pop(ROSTER))
            sums = {
                key.removeprefix(LEARNED): values.pop(key) for key in list(values) if key.startswith(LEARNED)
            }
            entries.append(TranscriptSum(name, values, broadcasts, sites, sums))
    return entries


def remove_transcript(folder: Path) -> None:
    """Delete the transcript in a run's folder, if there is one."""
    for path in (folder / FOLDER).glob("*.npz"):
        path.unlink()
    if (folder / FOLDER).is_dir():
        (folder / FOLDER).rmdir()


def _value(array: NDArray[Any]) -> Any:
    """Return a value of the file as it was written: a list or number that became an array."""
    return array if array.ndim and array.dtype.kind != "U" else array.tolist()

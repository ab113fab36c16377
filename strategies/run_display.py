"""What a run shows while it lasts: on a terminal the last line moves, in a pipe or a file every line stays."""

import math
import re
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")
"""In front of each line of a run on SuperNodes; those of a simulated run have none."""

_BEGINS = re.compile(r".+ begins$")
_ENDED = re.compile(r".+ [\d.]+ s  \d+ round trips?$")
_ROUND = re.compile(r"cutting planes, round ")
_STEP = re.compile(r" *(\d+) features, accuracy ")
_WAITING = re.compile(r"waiting for ")
_NUMBERS = re.compile(r"[\d.]+(e[+-]?\d+)?")

SPINNER = 2
"""Columns of a terminal in front of the line that moves."""

SHRUNK = 0.75
"""A selection's step has a line of its own when so small a share of the features is left since the last line."""


class RunDisplay:
    """Shows the lines of a run's log, in a ``with`` block; ``offered`` if one has said how to go on with the run.

    On a terminal the last line moves; of what begins, of rounds and of who is waited for, no other line stays. To be
    brief it leaves out rounds, most steps, and lines that differ from an earlier one in numbers only: a selection
    trains again and again.
    """

    def __init__(self, console: Console | None = None, quiet: bool = False, brief: bool = False) -> None:
        console = console or Console(highlight=False, soft_wrap=True, markup=False)
        self.offered = False
        self._console, self._quiet, self._brief = console, quiet, brief
        self._moving = console.status("starting") if console.is_terminal and not quiet else None
        self._features = math.inf
        self._seen: set[str] = set()

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._moving is not None:
            self._moving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line that moves away."""
        if self._moving is not None:
            self._moving.stop()

    def show(self, line: str) -> None:
        """Show a line of the log."""
        self.offered |= "--resume" in line
        text = STAMP.sub("", line)
        if self._moving is not None:
            moving = Text(text, style="dim")
            moving.truncate(self._console.width - SPINNER, overflow="ellipsis")
            self._moving.update(moving)
        passes = self._moving is not None and (_ROUND.match(text) or _WAITING.match(text))
        if not (self._quiet or passes or _BEGINS.match(text)) and self._worth_a_line(text):
            self._console.print(line)

    def _worth_a_line(self, line: str) -> bool:
        if not self._brief or _ENDED.match(line):
            return True
        if step := _STEP.match(line):
            if int(step[1]) > SHRUNK * self._features:
                return False
            self._features = int(step[1])
            return True
        kind = _NUMBERS.sub("", line)
        new = kind not in self._seen
        self._seen.add(kind)
        return new and not _ROUND.match(line)

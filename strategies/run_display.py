"""The display of a run's log: on a terminal the last line changes in place, in a pipe or a file every line stays."""

import math
import re
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")
"""Prefix of the lines of a run on SuperNodes; those of a simulated run have none."""

_BEGINS = re.compile(r".+ begins$")
_ENDED = re.compile(r".+ [\d.]+ s  \d+ round trips?$")
_ROUND = re.compile(r"cutting planes, round ")
_STEP = re.compile(r" *(\d+) features, accuracy ")
_WAITING = re.compile(r"waiting for ")
# No site of a simulation has joined yet.
_UNNAMED = re.compile(r"waiting for (node \d+(?:, node \d+)*) since ")
_NUMBERS = re.compile(r"[\d.]+(e[+-]?\d+)?")

SPINNER = 2
"""Columns of a terminal in front of the changing line."""

SHRUNK = 0.75
"""A selection's step has a line of its own once at most this share of the last line's features remains."""


class RunDisplay:
    """Shows the lines of a run's log, in a ``with`` block; ``offered`` if one has a hint how to resume the run.

    On a terminal the last line changes in place; lines about beginnings, rounds and waiting do not stay. In brief it
    leaves out rounds, most steps, and lines that differ from an earlier one in numbers only, since a selection trains
    many times.
    """

    def __init__(self, console: Console | None = None, quiet: bool = False, brief: bool = False) -> None:
        console = console or Console(highlight=False, soft_wrap=True, markup=False)
        self.offered = False
        self._console, self._quiet, self._brief = console, quiet, brief
        self._moving = console.status("starting") if console.is_terminal and not quiet else None
        self._features = math.inf
        self._seen: set[str] = set()

    def __enter__(self) -> Self:
        """Show the changing line."""
        if self._moving is not None:
            self._moving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the changing line."""
        if self._moving is not None:
            self._moving.stop()

    def show(self, line: str) -> None:
        """Show a line of the log."""
        self.offered |= "--resume" in line
        line = _UNNAMED.sub(lambda late: f"waiting for {late[1].count('node')} sites since ", line)
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
        is_new = kind not in self._seen
        self._seen.add(kind)
        return is_new and not _ROUND.match(line)

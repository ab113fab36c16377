"""What a run shows while it lasts: a line that moves on a terminal, plain lines in a pipe or a file."""

import math
import re
import time
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from strategies.settings import Settings

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")
"""In front of each line of a run on SuperNodes; those of a simulated run have none."""

_BEGINS = re.compile(r"(.+) begins$")
_ENDED = re.compile(r".+ [\d.]+ s  \d+ round trips?$")
_ROUND = re.compile(r"cutting planes, round +(\d+): .*?\bgap ([\d.e+-]+)")
_STEP = re.compile(r" *(\d+) features, accuracy ")
_WAITING = re.compile(r"waiting for .+")
_LAST = re.compile(r"results are in |Stopping ")
_NUMBERS = re.compile(r"[\d.]+(e[+-]?\d+)?")

SHRUNK = 0.75
"""A selection's step has a line of its own when so small a share of the features is left since the last line."""


class RunDisplay:
    """Shows the lines of a run's log, in a ``with`` block.

    On a terminal the phase, the round, the gap and who is waited for are in one line that moves, and
    what stays is a line for each phase. Elsewhere every line stays.

    Parameters
    ----------
    console : Console
        Where to.
    tol : float
        The gap at which training ends; 0 if there is none.
    quiet : bool
        Show nothing.
    brief : bool
        Leave out rounds, most steps, and lines that differ from an earlier one in numbers only: a selection trains
        again and again.

    Attributes
    ----------
    offered : bool
        Whether a line has said how to go on with the run.
    """

    def __init__(self, console: Console, tol: float, quiet: bool = False, brief: bool = False) -> None:
        self.offered = False
        self._console, self._tol, self._quiet, self._brief = console, tol, quiet, brief
        self._live = (
            Live(self, console=console, transient=True) if console.is_terminal and not quiet else None
        )
        self._phase, self._detail, self._waiting = "starting", "", ""
        self._begun = time.monotonic()
        self._features = math.inf
        self._seen: set[str] = set()

    @classmethod
    def of(
        cls, settings: Settings, *, quiet: bool = False, brief: bool = False, stderr: bool = False
    ) -> Self:
        """Return the display of a run with these settings, on this process's output or error output."""
        console = Console(highlight=False, soft_wrap=True, markup=False, stderr=stderr)
        return cls(console, float(getattr(settings, "tolerance", 0.0)), quiet, brief)

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line that moves away."""
        if self._live is not None:
            self._live.stop()

    def __rich__(self) -> Text:
        """Return the line that moves."""
        taken = str(timedelta(seconds=round(time.monotonic() - self._begun)))
        # Names of sites last: they are what a narrow terminal cuts off.
        parts = [self._phase, self._detail, taken, self._waiting]
        return Text(" · ".join(filter(None, parts)), style="dim", no_wrap=True, overflow="ellipsis")

    def show(self, line: str) -> None:
        """Show a line of the log."""
        self.offered |= "--resume" in line
        text = STAMP.sub("", line)
        moves = self._take_in(text)
        if _BEGINS.match(text) or (moves and self._live is not None):
            return
        if not self._quiet and self._worth_a_line(text):
            self._console.print(line)

    def _take_in(self, line: str) -> bool:
        """Take in what the moving line shows; tell whether that is all that a line is for."""
        self._waiting = ""
        if begins := _BEGINS.match(line):
            self._begin(begins[1])
        elif found := _ROUND.match(line):
            self._detail = f"round {found[1]}, gap {float(found[2]):.2g}, ends at {self._tol:g}"
        elif _WAITING.match(line):
            self._waiting = line
        elif step := _STEP.match(line):
            self._detail = f"{step[1]} features"
            return False
        else:
            if _LAST.match(line):
                self._begin("ending")
            return False
        return True

    def _begin(self, phase: str) -> None:
        self._phase, self._detail, self._begun = phase, "", time.monotonic()

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

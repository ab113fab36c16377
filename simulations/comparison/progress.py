"""How far a comparison is: a live table on a terminal, elsewhere a line for each run."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from simulations.comparison.run import Case, Finished

LAST = 5
"""Failed runs whose reason the live table shows."""


class ProgressDisplay:
    """Shows each run as it finishes, in a ``with`` block.

    Parameters
    ----------
    console : Console
        Where to.
    cases : sequence of Case
        All runs of the comparison.
    before : sequence of Finished
        Those that an earlier process has run.
    """

    def __init__(self, console: Console, cases: Sequence[Case], before: Sequence[Finished]) -> None:
        self.console, self.total = console, len(cases)
        self.strategies = list(dict.fromkeys(case.strategy for case in cases))
        self.data = list(dict.fromkeys(case.data for case in cases))
        self.finished = {one.key: one for one in before if not one.error}
        self.begun, self.had = time.monotonic(), len(self.finished)
        self.live: Live | None = None

    def __enter__(self) -> Self:
        """Begin to show."""
        if self.console.is_terminal:
            self.live = Live(self._table(), console=self.console, auto_refresh=False)
            self.live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the table as it is."""
        if self.live is not None:
            self.live.stop()

    def add(self, one: Finished) -> None:
        """Show a run that has finished."""
        self.finished[one.key] = one
        if self.live is not None:
            self.live.update(self._table(), refresh=True)
            return
        name = f"{one.strategy}, {one.place}, repeat {one.repeat}"
        self.console.print(f"[{len(self.finished)}/{self.total}] {name}: {_outcome(one)}", soft_wrap=True)

    def _table(self) -> Group:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("mean accuracy so far", *self.data, "runs", "failed", "seconds a run"):
            table.add_column(Text(name), justify="left" if name == "mean accuracy so far" else "right")
        for strategy in self.strategies:
            own = [one for one in self.finished.values() if one.strategy == strategy]
            seconds = [one.seconds for one in own if one.seconds is not None]
            failed = sum(bool(one.error) for one in own)
            table.add_row(
                Text(strategy),
                *(_mean([one.accuracy for one in own if one.data == data]) for data in self.data),
                str(len(own)),
                str(failed) if failed else "",
                f"{sum(seconds) / len(seconds):.1f}" if seconds else "",
            )
        failures = [one for one in self.finished.values() if one.error][-LAST:]
        told = [
            Text(
                f"{one.strategy}, {one.data}, {one.split}: {_outcome(one)}",
                "red",
                no_wrap=True,
                overflow="ellipsis",
            )
            for one in failures
        ]
        return Group(table, *told, Text(self._pace()))

    def _pace(self) -> str:
        done, passed = len(self.finished) - self.had, time.monotonic() - self.begun
        left = self.total - len(self.finished)
        rest = f", about {_clock(passed / done * left)} to go" if done and left else ""
        return f"{len(self.finished)} of {self.total} runs, {_clock(passed)}{rest}"


def _outcome(one: Finished) -> str:
    if one.error:
        return f"failed: {one.error}"
    accuracy = "accuracy not measured" if one.accuracy is None else f"accuracy {one.accuracy:.4f}"
    trips = f", {one.round_trips} round trips" if one.round_trips else ""
    return f"{accuracy}{trips}, {one.seconds or 0:.1f} s"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.4f}" if known else "…"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"

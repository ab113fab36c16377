"""Tables and figures of papers: their runs, and the paper's numbers beside ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import t

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import setting_fields
from flower_pansvm.errors import SettingError
from flower_pansvm.terms import Scalar
from simulations.comparison.workers import Result
from strategies.registry import STRATEGIES
from strategies.settings import Settings, settings_from

Position = tuple[str, str]
"""Row and column of a cell."""

Work = Callable[[str, Settings], Result]
"""Does a run other than a training, from the text after the colon of its ``strategy``, and its settings."""


class Experiment(NamedTuple):
    """Work other than a training, and the strategy of its settings; empty: the one that a run names."""

    strategy: str
    work: Work


EXPERIMENTS: dict[str, Experiment] = {}
"""By the word before the colon of a run's ``strategy``."""


def experiment(word: str, strategy: str) -> Callable[[Work], Work]:
    """Return a decorator that registers a function in `EXPERIMENTS`."""

    def enter(work: Work) -> Work:
        EXPERIMENTS[word] = Experiment(strategy, work)
        return work

    return enter


@dataclass(frozen=True)
class Run:
    """The settings of a run."""

    # Run config, sorted by name. ``data`` is the name of a shipped data set, of one in the folder of data
    # sets or of a prepared one; ``strategy`` may begin with a word of `EXPERIMENTS`.
    items: tuple[tuple[str, Scalar], ...]

    @property
    def config(self) -> dict[str, Scalar]:
        """The run config."""
        return dict(self.items)

    @property
    def key(self) -> dict[str, Scalar]:
        """The run config, which identifies the run."""
        return self.config

    @property
    def strategy(self) -> str:
        """The strategy, or an experiment and its argument."""
        return str(self.config["strategy"])

    def settings(self, data: str) -> Settings:
        """Return the settings, with ``data`` as on this machine; SettingError if a value is invalid."""
        return settings_from({**self.config, "strategy": _settings_of(self.strategy), "data": data})

    @property
    def command(self) -> str:
        """The command that makes a federated run again; empty for what runs in one place."""
        if ":" in self.strategy:
            return ""
        return " ".join(["pansvm run", *(f"--{key} {value}" for key, value in self.items)])


def _settings_of(strategy: str) -> str:
    """Return the strategy of a run's settings."""
    word, _, name = strategy.partition(":")
    return (EXPERIMENTS[word].strategy or name) if name else strategy


def make_run(strategy: str, data: str, **values: Scalar) -> Run:
    """Return a run by the Python names of settings; settings that the strategy lacks are left out.

    Papers train on the true records, and so do these runs: ``privacy`` is ``exact``.
    """
    config = {name.replace("_", "-"): value for name, value in values.items()}
    known = setting_fields(STRATEGIES[_settings_of(strategy)].settings_class)
    config = {key: value for key, value in {"privacy": "exact", **config}.items() if key in known}
    return Run(tuple(sorted({"strategy": strategy, "data": data, **config}.items())))


@dataclass(frozen=True)
class Setup:
    """A run, as `Run` has it, but for its seed."""

    strategy: str
    data: str
    # Settings by their names in Python; those that the strategy lacks are left out.
    values: Mapping[str, Scalar]

    def run(self, repeat: int) -> Run:
        """Return the run of a repeat, counted from 0: its seed."""
        return make_run(self.strategy, self.data, **self.values, seed=repeat)


@dataclass(frozen=True)
class Prepared:
    """A data set that has to be made from files of the folder."""

    files: tuple[str, ...]  # names of the data sets that it is made from
    make: Callable[..., pd.DataFrame]  # makes the table, label column included, from theirs


@dataclass(frozen=True)
class Cell:
    """One number, ours and the paper's."""

    row: str
    column: str
    # ours, deviation: mean and standard deviation over the runs that were done; None without one.
    ours: float | None
    deviation: float | None
    runs: int  # how many these are
    paper: float | None  # what is printed in the paper, if anything is
    tested: float = 0.0  # share of the rows that a run leaves out for its test; 0 if it leaves none out
    folds: int = 1  # tests that a run's number is the mean of
    within: float | None = None  # variance of these in a run, the mean over the runs; None if it is not known
    commits: tuple[str, ...] = ()  # of the code that the runs were done with
    date: str = ""  # of the last of them

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of our mean, by Student's t over all tests; None with fewer than two runs.

        Tests share most of their training rows, so that the variance of their mean is (1 / tests + test rows / training
        rows) times that of one (Nadeau and Bengio 2003, "Inference for the generalization error", doi
        10.1023/A:1024068626366). Of k folds the ratio is 1 / (k - 1), and each fold is a test (Bouckaert and Frank
        2004, "Evaluating the replicability of significance tests for comparing learning algorithms", doi
        10.1007/978-3-540-24775-3_3). Where only means over folds are known, a fold is taken to vary k times as much as
        they do: the interval is too short if folds of a run balance each other.
        """
        if self.ours is None or self.deviation is None or self.runs < 2:
            return None
        tests = self.runs * self.folds
        freedom = (self.runs if self.within is None else tests) - 1
        square = self.deviation**2
        # Deviations are those of the numbers themselves, divided by their number.
        square = self.folds * square if self.within is None else square + self.within
        variance = square * (freedom + 1) / freedom
        error = np.sqrt(variance * (1 / tests + self.tested / (1 - self.tested)))
        half = float(t.ppf(0.975, freedom) * error)
        return self.ours - half, self.ours + half


Measure = Callable[[Position, Sequence[Result]], Sequence[float]]
"""Gives the numbers of a cell from its runs' results, one for each run that has such a number."""

Plot = Callable[[str, Sequence[Cell]], Figure]
"""Draws a figure from its title and its cells."""


def per_run(read: Callable[[Result], float | None]) -> Measure:
    """Return a measure that reads one number from each run."""
    return per_cell(lambda _, result: read(result))


def per_cell(read: Callable[[Position, Result], float | None]) -> Measure:
    """Return a measure that reads from each run the number of a cell's row and column."""
    return lambda position, results: [
        float(value) for result in results if (value := read(position, result)) is not None
    ]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * float(share)


ACCURACY = per_run(lambda result: _percent(result.get("cv_accuracy", result["accuracy"])))
"""Accuracy in percent: over the folds if the run has cross-validated, else on the rows left out."""


FOLD_DEVIATION = per_run(lambda result: _percent(result.get("fold_deviation")))
"""Standard deviation over the folds of a run, of the accuracy in percent."""


def tested_by_folds(folds: int) -> dict[str, Any]:
    """Return the entries of a result for means over so many folds of all rows."""
    return {"tested": 1 / folds, "folds": folds}


def of_folds(accuracies: Floats) -> dict[str, Any]:
    """Return the entries of a result for these accuracies over folds of all rows."""
    mean, deviation = float(accuracies.mean()), float(accuracies.std())
    return {"accuracy": mean, "fold_deviation": deviation, **tested_by_folds(len(accuracies))}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table or a figure."""

    title: str  # what it shows
    work: str = ""  # the paper it is of: the name of the paper's file without its ending
    setups: Mapping[Position, Sequence[Setup]]  # what is run for each cell, by row and column
    minutes: float  # how long it takes on two cores
    measure: Measure = ACCURACY  # see `Measure`
    deviation: Measure = FOLD_DEVIATION  # of the same numbers over the folds of a run, where they are known
    unit: str = "%"  # of all numbers
    digits: int = 2  # digits after the point
    repeats: int = 5  # seeds
    timed: bool = False  # whether seconds are measured, so that runs go one by one
    # The paper's numbers by row and column; empty for a figure whose numbers are lost.
    paper: Mapping[Position, float] = field(default_factory=dict)
    summed: bool = False  # whether the columns' sums are in a last row
    said: tuple[str, ...] = ()  # what the paper says of a figure whose numbers are lost
    substituted: tuple[str, ...] = ()  # what is other here than in the paper, and why
    errors: tuple[str, ...] = ()  # errors of the paper that bear on these numbers
    plot: Plot | None = None  # see `Plot`; a table has none

    def plan(self, repeats: int) -> dict[Position, list[Run]]:
        """Return the runs behind each cell; a run may be behind several."""
        return {position: self.runs_of(position, repeats) for position in self.setups}

    def runs_of(self, position: Position, repeats: int) -> list[Run]:
        """Return the runs behind a cell."""
        setups = self.setups[position]
        return list(dict.fromkeys(setup.run(repeat) for setup in setups for repeat in range(repeats)))

    def cells(self, repeats: int, results: Mapping[Run, Result]) -> list[Cell]:
        """Return all cells, with ours as far as there are results: those that are run, sums, and those only cited."""
        cells = []
        for position, runs in self.plan(repeats).items():
            known = {run: results[run] for run in runs if run in results and "error" not in results[run]}
            cells.append(self.measured(position, known))
        columns = dict.fromkeys(cell.column for cell in cells) if self.summed else ()
        cells += [self._sum(column, cells) for column in columns]
        there = {(cell.row, cell.column) for cell in cells}
        return cells + [self.cell(position, []) for position in self.paper if position not in there]

    def of_rows(self, rows: Sequence[str]) -> "Reproduction":
        """Return a table with only some of its rows; SettingError if it lacks one of them."""
        there = dict.fromkeys(row for row, _ in self.setups)
        for row in rows:
            if row not in there:
                raise SettingError(f"{self.title} has no row '{row}'. Its rows are: {'; '.join(there)}.")
        setups = {position: setups for position, setups in self.setups.items() if position[0] in rows}
        paper = {position: value for position, value in self.paper.items() if position[0] in rows}
        return replace(self, setups=setups, paper=paper, summed=False)

    def measured(self, position: Position, results: Mapping[Run, Result]) -> Cell:
        """Return a cell from the results of its runs that have not failed."""
        cell = self.cell(position, self.measure(position, list(results.values())))
        within = np.square(self.deviation(position, list(results.values())))
        known_within = float(within.mean()) if len(within) == cell.runs > 0 else None
        return replace(cell, within=known_within, **_origin_of(results))

    def cell(self, position: Position, values: Sequence[float]) -> Cell:
        """Return the mean of several runs' numbers as a cell."""
        mean, deviation = (float(np.mean(values)), float(np.std(values))) if values else (None, None)
        return Cell(*position, mean, deviation, len(values), self.paper.get(position))

    def _sum(self, column: str, cells: Sequence[Cell]) -> Cell:
        """Return the sum of a column; without ours unless all of its cells have one."""
        summands = [cell for cell in cells if cell.column == column]
        known = [cell.ours for cell in summands if cell.ours is not None]
        ours = float(np.sum(known)) if len(known) == len(summands) else None
        return Cell(
            "SUM", column, ours, None, min(cell.runs for cell in summands), self.paper.get(("SUM", column))
        )


def _origin_of(results: Mapping[Run, Result]) -> dict[str, Any]:
    """Return the share of rows tested, folds, commits and last date of the runs of a cell."""
    tested = {
        float(result.get("tested", run.config.get("test-fraction", 0.0))) for run, result in results.items()
    }
    return {
        "tested": max(tested, default=0.0),
        "folds": max((int(result.get("folds", 1)) for result in results.values()), default=1),
        "commits": tuple(sorted({str(result.get("commit")) for result in results.values()})),
        "date": max((str(result.get("date", "")) for result in results.values()), default=""),
    }

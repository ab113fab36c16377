"""Selections that were run, kept in a file line by line, and what several of them say together."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simulations.benchmarks.paper_data import SEPARATE, SIX
from strategies.selection.outcome import Point


@dataclass(frozen=True)
class SelectionRun:
    """One selection.

    Parameters
    ----------
    data, method, classifier, scheme : str
        Data set; strategy; `PAN_SVM` or `LIBSVM`; `WHOLE` (CV1) or `SEPARATE` (CV2).
    seed : int
        Of the split; runs of one seed have the same test rows and folds.
    points : tuple of Point
        The subsets on the way.
    chosen : int
        Number of features chosen within the training rows.
    seconds : float
        How long it took, all sites in one process.
    round_trips : int
        Messages to every site; 0 for LIBSVM.
    megabytes : float
        What one site sent on average.
    """

    data: str
    method: str
    classifier: str
    scheme: str
    seed: int
    points: tuple[Point, ...]
    chosen: int
    seconds: float
    round_trips: int
    megabytes: float

    def accuracy(self, features: int) -> float:
        """Return the accuracy in percent of the smallest subset with at least so many features.

        It is that on the test rows with CV2 (a separate fifth), that of cross-validation with CV1 (whole).
        """
        point = min((one for one in self.points if one.features >= features), key=lambda one: one.features)
        found = point.test_accuracy if self.scheme == SEPARATE else point.accuracy
        return 100 * (found if found is not None else np.nan)

    @property
    def most(self) -> int:
        """Features of the first subset."""
        return max(point.features for point in self.points)


def read_runs(file: Path) -> list[SelectionRun]:
    """Return the runs of a file, none if there is no file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return [
        SelectionRun(**{**one, "points": tuple(Point(**point) for point in one["points"])}) for one in found
    ]


def add_run(run: SelectionRun, file: Path) -> None:
    """Write a run to the end of a file."""
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(run)) + "\n")


class Curve(NamedTuple):
    """Mean accuracy in percent by number of features, most features first."""

    features: list[int]
    accuracy: list[float]

    @property
    def best(self) -> tuple[int, float]:
        """The most accurate point, of equal ones that with the fewest features. It is picked by hindsight."""
        return min(
            zip(self.features, self.accuracy, strict=True), key=lambda one: (-round(one[1], 9), one[0])
        )


class Figures:
    """What runs say together.

    Parameters
    ----------
    runs : sequence of SelectionRun
        All runs with one kernel.
    """

    def __init__(self, runs: Sequence[SelectionRun]) -> None:
        self.runs = list(runs)
        self.sets = [one.data for one in SIX if any(run.data == one.data for run in self.runs)]

    def of(self, data: str, method: str, classifier: str, scheme: str) -> list[SelectionRun]:
        """Return the runs of one kind, one for each seed."""
        kind = (data, method, classifier, scheme)
        return [run for run in self.runs if (run.data, run.method, run.classifier, run.scheme) == kind]

    def curve(self, data: str, method: str, classifier: str, scheme: str) -> Curve | None:
        """Return the mean over the seeds; None if there is no run."""
        runs = self.of(data, method, classifier, scheme)
        if not runs:
            return None
        # Filters leave more features with one seed than with another: the curve goes on where all seeds have models.
        start = min(max((one.features for one in run.points[1:]), default=1) for run in runs)
        found = {one.features for run in runs for one in run.points}
        counts = sorted((count for count in found if count <= start or count == runs[0].most), reverse=True)
        return Curve(counts, [float(np.mean([run.accuracy(count) for run in runs])) for count in counts])

    def before(self, data: str, method: str, classifier: str, scheme: str) -> float:
        """Return the mean accuracy in percent of models on all features; NaN if there is no run."""
        runs = self.of(data, method, classifier, scheme)
        return float(np.mean([run.accuracy(run.most) for run in runs])) if runs else float("nan")

    def chosen(self, data: str, method: str, classifier: str, scheme: str) -> float:
        """Return the mean accuracy in percent of the subsets that were chosen within the training rows."""
        runs = self.of(data, method, classifier, scheme)
        return float(np.mean([run.accuracy(run.chosen) for run in runs])) if runs else float("nan")

    def best_gain(self, data: str, method: str, classifier: str, scheme: str) -> float:
        """Return percentage points that the best point of the mean curve is above all features."""
        curve = self.curve(data, method, classifier, scheme)
        return curve.best[1] - self.before(data, method, classifier, scheme) if curve else float("nan")

"""What Tables III to VI share: how far the distorted table of one set is from the original."""

from typing import ClassVar

from simulations.papers.lin2011.sets import experiment
from simulations.papers.one_owner import ALL, LARGER_R
from simulations.papers.reproduction import Place, Plan, Reproduction
from simulations.papers.run import Result

METRICS = ("VD", "RP", "RM", "CP", "CK", "SK", "NSV")
OURS = ("E1", "E2", "linked", "matched", "correlation")
"""What the paper does not measure: see :mod:`simulations.papers.one_owner` and :mod:`simulations.distortion`."""

OF_TABLE = ("SK", "NSV", "E1", "E2")
"""Of the whole table that is distorted, whichever columns are looked at."""

PREFIXES = {
    "Ep2": "",
    "Ep2, r = NSV in (6)": LARGER_R,
    "Ep3, columns selected afterwards": "",
    "Ep3, all columns": ALL,
}
"""The rows, and what their numbers are called in a run."""


class LevelsTable(Reproduction):
    """Base of the four. Nothing is random, so that one run of each experiment is all."""

    unit = "as in the column"
    digits = 3
    repeats, quick_repeats = 1, 1
    minutes, quick_minutes = 0.2, 0.2
    data: ClassVar[str]
    errors = (
        "CP is printed with the number of rows for that of columns.",
        "That (9) keeps about 7/10 of the singular values, as the text says, is not so.",
        "Experiment 3 is measured over the columns selected afterwards in some tables, over all in others: both are "
        "here.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return the run of each experiment."""
        return {
            (row, column): [experiment(row[:3], self.data, seed) for seed in range(repeats)]
            for row in PREFIXES
            for column in (*METRICS, *OURS)
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return a metric."""
        row, column = place
        return float(result[column if column in OF_TABLE else PREFIXES[row] + column])


def printed(ep2: tuple[float, ...], ep3: tuple[float, ...]) -> dict[Place, float]:
    """Return a printed table; the paper's numbers stand beside each reading of ours."""
    by_row = {row: ep2 if row.startswith("Ep2") else ep3 for row in PREFIXES}
    return {
        (row, metric): number for row in PREFIXES for metric, number in zip(METRICS, by_row[row], strict=True)
    }

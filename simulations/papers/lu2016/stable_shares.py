"""What Figures 4.8 and 4.9 share: PAN-SVM with 25 to 55 % of the rows as landmarks."""

from collections.abc import Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from simulations.papers.lu2016.many_classes import FOUR, SHARES, SUBSTITUTED, pan
from simulations.papers.plots import curves
from simulations.papers.reproduction import Cell, Plan, Reproduction


class StableFigure(Reproduction):
    """Base of both.

    Attributes
    ----------
    scheme : str
        CV1 or CV2.
    """

    scheme: ClassVar[str]
    digits = 1
    repeats, quick_repeats = 10, 1
    minutes, quick_minutes = 120, 12
    substituted = SUBSTITUTED

    def plan(self, repeats: int) -> Plan:
        """Return a run for each set, share and seed."""
        return {
            (one.name, f"{100 * share:.0f} %"): [
                pan(one, share, self.scheme, seed) for seed in range(repeats)
            ]
            for one in FOUR
            for share in SHARES
            if share <= 0.55
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each set."""
        return curves(cells, "landmarks, % of the rows", "accuracy, %")

"""What Figures 4.6 and 4.7 share: accuracy under both schemes, the mean of all shares of landmarks."""

from abc import abstractmethod
from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.many_classes import ALL, SUBSTITUTED, shares_of
from simulations.papers.lu2016.sets import ThesisSet
from simulations.papers.plots import bar_figure
from simulations.papers.reproduction import Cell, Plan, Reproduction
from simulations.papers.run import Run


class SchemesFigure(Reproduction):
    """Base of both."""

    digits = 1
    repeats, quick_repeats = 10, 1
    substituted = (
        *SUBSTITUTED,
        "C and gamma are given and nothing is chosen, so both schemes estimate the same accuracy.",
    )

    @abstractmethod
    def make(self, one: ThesisSet, share: float, scheme: str, seed: int) -> Run:
        """Return the run of a set, a share of landmarks, a scheme and a seed."""

    def plan(self, repeats: int) -> Plan:
        """Return runs of all shares for each set and scheme."""
        return {
            (one.name, scheme): list(
                dict.fromkeys(
                    self.make(one, share, scheme, seed) for share in shares_of(one) for seed in range(repeats)
                )
            )
            for one in ALL
            for scheme in ("CV1", "CV2")
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return bars."""
        return bar_figure(cells, "accuracy, %", self.title, ylim=(0, 104))

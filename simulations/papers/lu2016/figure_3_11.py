"""Figure 3.11: seconds of training by number of landmarks."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.sets import AUSTRALIAN, DIABETES, GERMAN, IONOSPHERE, STOP, chapter_3
from simulations.papers.lu2016.stability import seconds
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

SHARES = (0.05, 0.15, 0.25, 0.35, 0.45)


@REPRODUCTIONS.register("lu-figure-3.11")
class Figure311(Reproduction):
    """Shares of 5 to 45 % on four sets."""

    title = "Figure 3.11, seconds of training by share of landmarks"
    unit = "seconds"
    repeats, quick_repeats = 3, 1
    minutes, quick_minutes = 15, 5
    timed = True
    said = ("Seconds grow with the number of landmarks.",)
    substituted = (
        "The data sets (not stated): four of Table 3.1.",
        "Seconds of all sites and the coordinator in one process, messages and masks included.",
        STOP,
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run for each set, share and seed."""
        return {
            (one.name, f"{100 * share:.0f} %"): [
                chapter_3(one, seed, landmarks=share) for seed in range(repeats)
            ]
            for one in (AUSTRALIAN, DIABETES, GERMAN, IONOSPHERE)
            for share in SHARES
        }

    def measure(self, place: Place, result: Result) -> float:  # noqa: ARG002
        """Return seconds of the phases that solve the SVM."""
        return seconds(result)

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each set."""
        return curves(cells, "landmarks, % of the rows", "seconds of training")

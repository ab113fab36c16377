"""Figure 3.5: accuracy by share of landmarks."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.sets import EIGHT, FIFTHS, SUBSTITUTED_GAMMA, chapter_3
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan, Reproduction

SHARES = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85)


@REPRODUCTIONS.register("lu-figure-3.5")
class Figure35(Reproduction):
    """Shares of 5 to 85 %."""

    title = "Figure 3.5, accuracy by share of landmarks"
    digits = 1
    minutes, quick_minutes = 100, 20
    said = ("Accuracy varies by about 3 points with the landmarks, and is best at 15 to 35 %.",)
    substituted = (
        FIFTHS,
        SUBSTITUTED_GAMMA["Splice"],
        "preset=exact: the same optimum as the paper's search, in fewer rounds.",
        "The sets of Table 3.2; adult, cod-rna and GSE2990, which the bitmap may have had, are left out.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run for each set, share and seed."""
        return {
            (one.name, f"{100 * share:.0f} %"): [
                chapter_3(one, seed, landmarks=share, preset="exact") for seed in range(repeats)
            ]
            for one in EIGHT
            for share in SHARES
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a line for each set."""
        return curves(cells, "landmarks, % of the rows", "accuracy, %")

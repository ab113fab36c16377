"""Figure 3.10: seconds and iterations by rows and by features."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.scaling_up import SUBSTITUTED, TWELVE, runs_of
from simulations.papers.lu2016.stability import rounds, seconds
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan, Reproduction
from simulations.papers.run import Result

COLUMNS = ("rows", "features", "seconds", "iterations")
PAPER = {("Adult", "seconds"): 14.0, ("Cod_rna", "seconds"): 47.0}


@REPRODUCTIONS.register("lu-figure-3.10")
class Figure310(Reproduction):
    """All twelve sets, 5 sites."""

    title = "Figure 3.10, seconds and iterations by rows and features"
    unit = "seconds, round trips"
    digits = 1
    minutes, quick_minutes = 60, 15
    timed = True
    paper = PAPER
    said = (
        "Less than a second below 1000 rows; Adult 14 s, cod-rna 47 s. Seconds grow with the rows and hardly with the "
        "features. Iterations do not grow and are at most 101.",
    )
    substituted = SUBSTITUTED

    def plan(self, repeats: int) -> Plan:
        """Return the runs of each set, by rows."""
        return {
            (one.name, column): runs_of(one, repeats)
            for one in sorted(TWELVE, key=lambda one: one.rows)
            for column in COLUMNS
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return size, seconds or iterations."""
        (one,) = (one for one in TWELVE if one.name == place[0])
        numbers = {
            "rows": one.rows,
            "features": one.features,
            "seconds": seconds(result),
            "iterations": rounds(result),
        }
        return float(numbers[place[1]])

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return seconds and iterations, the sets by rows on the left, by features on the right."""
        figure = Figure(figsize=(12, 4.6), layout="constrained")
        known = {(cell.row, cell.column): cell.ours for cell in cells if cell.ours is not None}
        for axes, size in zip(figure.subplots(1, 2), ("rows", "features"), strict=True):
            names = sorted({row for row, _ in known}, key=lambda row: known[row, size])
            axes.bar(names, [known[name, "seconds"] for name in names], color="C0", label="seconds")
            axes.set(yscale="log", ylabel="seconds of training", title=f"by {size}")
            axes.set_xticks(
                range(len(names)),
                [f"{name}--{known[name, size]:.0f}" for name in names],
                rotation=45,
                ha="right",
            )
            other = axes.twinx()
            other.plot(names, [known[name, "iterations"] for name in names], "C1o-", label="iterations")
            other.set(ylabel="round trips", ylim=(0, None))
        return figure

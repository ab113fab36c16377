"""Figure 9: seconds of the hybrid SVM by dimensions and by sampling rate, US."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.li2014.census import DIMENSIONS, HYBRID, RATES, SUBSTITUTED, CensusFigure, census
from simulations.papers.plots import bars
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Place, Plan
from simulations.papers.run import Result


@REPRODUCTIONS.register("li-figure-9")
class Figure9(CensusFigure):
    """The runs of Figures 5 and 7."""

    title = "Figure 9, seconds of the hybrid SVM, US"
    unit = "seconds"
    minutes, quick_minutes = 30, 6
    timed = True
    said = ("Dimensions decide how long it takes, up to 400 to 500 s; the sampling rate hardly does.",)
    substituted = (
        *SUBSTITUTED,
        "Seconds of all sites and the coordinator in one process, messages, masks and evaluation included.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run for each number of dimensions, rate and seed."""
        by_dimensions = {
            ("all rows", f"{count} dimensions"): [
                census(f"adult-{count}", HYBRID, seed) for seed in range(repeats)
            ]
            for count in DIMENSIONS
        }
        by_rate = {
            ("14 dimensions", f"rate {rate:g}"): [
                census("adult-14", HYBRID, seed, rate=rate) for seed in range(repeats)
            ]
            for rate in RATES
        }
        return {**by_dimensions, **by_rate}

    def measure(self, place: Place, result: Result) -> float:  # noqa: ARG002
        """Return seconds from start to end."""
        return float(result["wall"])

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a bar for each."""
        figure = Figure(figsize=(8, 4.4), layout="constrained")
        bars(figure.subplots(), cells, "seconds")
        return figure

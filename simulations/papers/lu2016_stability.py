"""Lu 2016, Tables 3.4 and 3.5, Figures 3.7 to 3.9: PAN-SVM and ADMM at 5, 10 and 20 sites, rows split in two ways."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure

from flower_pansvm.terms import Scalar
from simulations.papers.lu2016_chapter_3 import BOYD, STOP, chapter_3, rounds, seconds
from simulations.papers.lu2016_sets import DIABETES, FOURCLASS, ThesisSet
from simulations.papers.plots import bar_figure, bars, legend
from simulations.papers.reproduction import Cell, Place, Reproduction, Result, Setup, per_cell, per_run

SITES = (5, 10, 20)
SPLITS = ("same", "different")
"""The paper's names: rows dealt at random, and by the first feature."""

TRAINED: Mapping[str, tuple[str, Mapping[str, Scalar]]] = {
    "PAN-SVM": ("pan-svm", {}),
    "SVM-ADMM": ("svm-admm", {}),
    "PAN-SVM, fast": ("pan-svm", {"search": "fast"}),
    "SVM-ADMM, tight": ("svm-admm", {"search": "fast"}),
}
"""Strategy and settings: the paper's two, and both of them trained to the optimum."""

STABILITY = (
    "MATLAB on one machine without a network: seconds of the phases that solve the SVM, all sites and the coordinator "
    "in one process, messages and masks included. Rounds and megabytes of all sites are what a federation pays.",
    "The landmarks' share (not stated): 25 %. The feature that Pima is split by (not stated): the first one.",
    STOP,
    BOYD,
    "Boyd's tolerances stop ADMM far from the optimum that PAN-SVM is trained to. 'tight' has tolerances of 1e-5 and "
    "1e-4 and an adaptive rho; 'fast' is PAN-SVM with search=fast.",
)


def at_sites(one: ThesisSet, first: str, split: str, sites: int, name: str) -> Setup:
    """Return a run of one of `TRAINED` but for its seed; ``first`` is the set's first feature."""
    strategy, more = TRAINED[name]
    way = "iid" if split == "same" else f"feature:{first}"
    return chapter_3(one, strategy, split=way, sites=sites, **more)


def cost(place: Place, result: Result) -> float:
    """Return seconds, round trips or megabytes."""
    if place[1] == "MB":
        return float(result["bytes_up"]) / 1e6
    return seconds(result) if place[1] == "seconds" else rounds(result)


def stability(
    title: str, one: ThesisSet, first: str, minutes: tuple[float, float], paper: Mapping[str, Sequence[float]]
) -> Reproduction:
    """Return Table 3.4 or 3.5; ``paper`` has the seconds of a strategy in the order of splits and sites."""
    rows = [(split, sites) for split in SPLITS for sites in SITES]
    return Reproduction(
        title=title,
        setups={
            (f"{split}, {sites} sites, {name}", what): [at_sites(one, first, split, sites, name)]
            for split, sites in rows
            for name in TRAINED
            for what in ("seconds", "rounds", "MB")
        },
        minutes=minutes[0],
        quick_minutes=minutes[1],
        measure=per_cell(cost),
        unit="seconds, round trips, MB that all sites send",
        timed=True,
        paper={
            (f"{split}, {sites} sites, {name}", "seconds"): mean
            for name, means in paper.items()
            for (split, sites), mean in zip(rows, means, strict=True)
        },
        substituted=STABILITY,
    )


TABLE_3_4 = stability(
    "Table 3.4, training on fourclass",
    FOURCLASS,
    "f1",
    (12, 3),
    {"PAN-SVM": (0.094, 0.089, 0.087, 0.093, 0.089, 0.084), "SVM-ADMM": (2.72, 0.73, 2.59, 3.39, 1.96, 7.37)},
)
TABLE_3_5 = stability(
    "Table 3.5, training on Pima diabetes",
    DIABETES,
    "pregnant",
    (60, 12),
    {
        "PAN-SVM": (0.092, 0.088, 0.067, 0.091, 0.090, 0.066),
        "SVM-ADMM": (8.04, 18.91, 7.38, 9.73, 18.09, 7.62),
    },
)
BOTH = {"fourclass": TABLE_3_4, "pima": TABLE_3_5}


def plot_both(title: str, cells: Sequence[Cell]) -> Figure:  # noqa: ARG001
    """Return a panel for each set, bars for each strategy."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), BOTH, strict=True):
        parts = [(cell, cell.row.split(", ", 3)) for cell in cells if cell.row.startswith(name)]
        own = [
            replace(cell, row=f"{split}, {sites}", column=column) for cell, (_, split, sites, column) in parts
        ]
        bars(axes, own, "seconds of training")
        axes.set(title=name, yscale="log")
    legend(figure)
    return figure


FIGURE_3_7 = Reproduction(
    title="Figure 3.7, seconds of training by distribution and sites",
    setups={
        (f"{name}, {row}", column): setups
        for name, table in BOTH.items()
        for (row, column), setups in table.setups.items()
        if column == "seconds"
    },
    minutes=72,
    quick_minutes=15,
    measure=per_run(seconds),
    unit="seconds",
    timed=True,
    paper={
        (f"{name}, {row}", column): number
        for name, table in BOTH.items()
        for (row, column), number in table.paper.items()
    },
    said=("PAN-SVM takes less than 0.1 s, ADMM more than 2.5 s.",),
    substituted=STABILITY,
    plot=plot_both,
)


def iterations(title: str, table: Reproduction) -> Reproduction:
    """Return Figure 3.8 or 3.9: the rounds of a table's runs, PAN-SVM's beside those of ADMM."""
    names = {"same": "RandomSplit", "different": "FeatureSplit"}
    return Reproduction(
        title=title,
        setups={
            (f"{names[split]}-{sites}", name): table.setups[f"{split}, {sites} sites, {name}", "rounds"]
            for split in SPLITS
            for sites in SITES
            for name in TRAINED
        },
        minutes=table.minutes,
        quick_minutes=table.quick_minutes,
        measure=per_run(rounds),
        unit="iterations, each a round trip",
        digits=1,
        said=(
            "Mean and variance grow with the number of sites, and more where rows are split by a feature.",
        ),
        substituted=STABILITY,
        plot=partial(bar_figure, ylabel="round trips", yscale="log"),
    )


TABLES = {
    "lu-table-3.4": TABLE_3_4,
    "lu-table-3.5": TABLE_3_5,
    "lu-figure-3.7": FIGURE_3_7,
    "lu-figure-3.8": iterations("Figure 3.8, iterations of ADMM on fourclass", TABLE_3_4),
    "lu-figure-3.9": iterations("Figure 3.9, iterations of ADMM on Pima diabetes", TABLE_3_5),
}
"""By the name that ``pansvm reproduce`` takes."""

"""H. Luo, J. Fan, X. Lin, A. Zhou, E. Bertino on weak mixture models, 2009: four UCI sets, each at three sites.

The numbers of the paper are lost: what its sentences say of a figure is all that can be compared.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from flower_pansvm.terms import Scalar
from simulations.papers.luo2009_experiments import DRAWS, OWN_ROWS, RATIOS, SELECTIONS, STRENGTHS
from simulations.papers.plots import bar_figure, curves
from simulations.papers.reproduction import Cell, Place, Prepared, Reproduction, Setup, per_cell

DATA = {"Letter": "letter", "Pen": "pendigits", "Satimage": "satimage", "Spam": "spambase"}
SHARES = (0.5, 0.3, 0.2)
MOST_ROWS = 6000
SUBSTITUTED = (
    "All formulas and numbers of the paper's text are lost, Table 1 with its test environments too: what is said of a "
    "figure is what the sentences around it say. Formulas are reconstructed, as their docstrings say.",
    f"Three sites with 50, 30 and 20 % of the rows (no shares are stated), at most {MOST_ROWS} rows, a quarter of them "
    "for the test. Covariances are full with 16 features or fewer, else diagonal.",
    "The two private sets of images (blood, regions of faces) are not to be had.",
)


def some(table: pd.DataFrame) -> pd.DataFrame:
    """Return some rows of a table, drawn at random."""
    return table.iloc[np.random.default_rng(2009).permutation(len(table))[:MOST_ROWS]]


def at_sites(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same rows, each with the number of its site."""
    rows = some(table)
    return rows.assign(site=np.random.default_rng(2009).choice(len(SHARES), len(rows), p=SHARES))


PREPARED = {
    **{f"{name}-some": Prepared((name,), some) for name in DATA.values()},
    **{f"{name}-at-three": Prepared((name,), at_sites) for name in DATA.values()},
}
"""The sets, with and without a column of the sites."""


def experiment(kind: str, data: str, split: str = "by:site") -> list[Setup]:
    """Return the run of an experiment of `simulations.papers.luo2009_experiments` but for its seed."""
    values: dict[str, Scalar] = {"split": split, "sites": 3, "test_fraction": 0.25, "risk_bounds": "1"}
    return [Setup(f"mixture:{kind}", f"{DATA[data]}-{'at-three' if split == 'by:site' else 'some'}", values)]


NAMED_LIKE_COLUMN = per_cell(lambda place, result: result.get(place[1]))
"""Reads the entry of a result that is named like the column."""

luo = partial(Reproduction, repeats=3, measure=NAMED_LIKE_COLUMN)
"""A table or figure of this paper."""

TABLE_2 = luo(
    title="Table 2, accuracy of combined classifiers",
    setups={
        (data + told, column): experiment("combined", data, split)
        for told, split in {"": "by:site", ", skewed": "dirichlet:0.5"}.items()
        for data in DATA
        for column in ("weak, mean of sites", "ours", "mean model", "stacked")
    },
    minutes=40,
    quick_minutes=14,
    said=("The combined classifier is better than stacked generalisation and than the mean model.",),
    substituted=(
        *SUBSTITUTED,
        "Skewed: classes dealt to three sites by Dirichlet .5.",
        "Stacked generalisation: logistic regression of the weak models' outputs on all sites' training rows, which a "
        "federation could not pool.",
    ),
)


def model_selection(number: int, data: str) -> Reproduction:
    """Return one of Figures 4 to 6: accuracy by the way that the number of components is found."""
    return luo(
        title=f"Figure {number}, accuracy by model selection, {data}",
        setups={(data, name): experiment("selected", data) for name in SELECTIONS},
        minutes=10,
        quick_minutes=4,
        said=("The adaptive EM is better than only splitting, only merging, and both of them (SMEM).",),
        substituted=(
            *SUBSTITUTED,
            "All rows in one place. SMEM is merging and splitting without regard to other classes, at the same "
            "constant temperature. Which figure shows which data is not in the text.",
        ),
        plot=partial(bar_figure, ylabel="accuracy, %"),
    )


def dishonest(number: int, data: str) -> Reproduction:
    """Return one of Figures 7 to 9: what a site's own predictor gains by draws from another site's components."""
    unit = "points of accuracy gained"
    return luo(
        title=f"Figure {number}, gain of a dishonest site, {data}",
        setups={
            (f"{most} own rows a class", f"{ratio:g}"): experiment("dishonest", data)
            for most in OWN_ROWS
            for ratio in RATIOS
        },
        minutes=4,
        quick_minutes=2,
        measure=per_cell(lambda place, result: result[f"{place[0].split()[0]} rows a class, {place[1]}"]),
        unit=unit,
        said=("Accuracy rises with synthetic rows for common data, and falls where own rows are few.",),
        substituted=(
            *SUBSTITUTED,
            "The predictor: one diagonal Gaussian a class, by an EM in which the draws' classes are unknown. The "
            "dishonest site is the smallest, the draws are of all components of the largest one. Which figure shows "
            "which data is not in the text.",
        ),
        plot=partial(curves, xlabel="draws for each own row", ylabel=unit),
    )


def risk_setups(names: Iterable[str], columns: Sequence[str]) -> dict[Place, list[Setup]]:
    """Return a row for each data set and each of some numbers, by what is shared."""
    return {
        (f"{data}, {name}", column): experiment("risks", data)
        for data in DATA
        for name in names
        for column in columns
    }


risk_figure = partial(
    luo,
    minutes=14,
    quick_minutes=5,
    measure=per_cell(lambda place, result: result.get(f"{place[0].split(', ')[1]}, {place[1]}")),
    unit="raw risk; total and utility from 0 to 1",
    digits=5,
    substituted=(
        *SUBSTITUTED,
        "At the largest site, mean over the classes that have two components or more; the first, half, or all of each.",
    ),
)
SHARED = ("first", "half", "all")


def plot_totals(title: str, cells: Sequence[Cell]) -> Figure:
    """Return the total risks."""
    return curves(title, [cell for cell in cells if cell.row.endswith("total")], "draws", "total risk")


def quality(number: int, *names: str) -> Reproduction:
    """Return Figure 14 or 15: what the global model loses by the perturbation it is given out with."""
    unit = "divergence, log 2 = 0.693 at most"
    return luo(
        title=f"Figure {number}, loss of quality by perturbation, {' and '.join(names)}",
        setups={
            (data, f"{strength:g}"): experiment("combined", data) for data in names for strength in STRENGTHS
        },
        minutes=12,
        quick_minutes=4,
        unit=unit,
        digits=3,
        said=("The loss of quality grows with the strength of the noise.",),
        substituted=SUBSTITUTED,
        plot=partial(curves, xlabel="strength d", ylabel=unit),
    )


def plot_numbers(title: str, cells: Sequence[Cell]) -> Figure:
    """Return bars of the numbers that are sent."""
    return bar_figure(title, [cell for cell in cells if cell.column != "share"], "numbers", yscale="log")


TABLES = {
    "luo-table-2": TABLE_2,
    "luo-figure-4": model_selection(4, "Letter"),
    "luo-figure-5": model_selection(5, "Pen"),
    "luo-figure-6": model_selection(6, "Satimage"),
    "luo-figure-7": dishonest(7, "Letter"),
    "luo-figure-8": dishonest(8, "Pen"),
    "luo-figure-9": dishonest(9, "Satimage"),
    "luo-figure-10": risk_figure(
        title="Figure 10, risks by number of shared components",
        setups=risk_setups(("identification", "linkage", "interval", "inference", "total"), SHARED),
        said=("Sharing more components may mean more risk.",),
    ),
    "luo-figure-11": risk_figure(
        title="Figure 11, utility and benefit by number of shared components",
        setups=risk_setups(("utility", "benefit"), SHARED),
        digits=3,
        said=("Utility and benefit rise with the number of shared components.",),
    ),
    "luo-figure-12": risk_figure(
        title="Figure 12, risks by number of draws from all components",
        setups=risk_setups(
            ("identification", "interval", "inference", "total"), [f"{draws} draws" for draws in DRAWS]
        ),
        said=("Risk falls with the number of synthetic rows, and at large numbers rises slightly.",),
        plot=plot_totals,
    ),
    "luo-figure-13": risk_figure(
        title="Figure 13, distance of another site's rows from the nearest of 2,000 draws, by perturbation",
        setups=risk_setups(("distance",), [f"{strength:g}" for strength in STRENGTHS]),
        measure=per_cell(lambda place, result: result.get(f"{place[1]} distance")),
        unit="standard deviations",
        digits=3,
        said=("With perturbation of the common components, re-identification is harder.",),
        plot=partial(curves, xlabel="strength d", ylabel="distance, standard deviations"),
    ),
    "luo-figure-14": quality(14, "Letter", "Pen"),
    "luo-figure-15": quality(15, "Satimage", "Spam"),
    "luo-figure-16": luo(
        title="Figure 16, numbers that leave the sites for training",
        setups={
            (data, column): experiment("combined", data)
            for data in DATA
            for column in ("numbers shared", "numbers with perturbed rows", "share")
        },
        minutes=20,
        quick_minutes=7,
        unit="numbers; share in %",
        digits=1,
        said=("Sharing models costs far less than perturbed rows or secure multi-party computation.",),
        substituted=(
            *SUBSTITUTED,
            "Secure multi-party computation is not among them: no protocol is named.",
        ),
        plot=plot_numbers,
    ),
}
"""By the name that ``pansvm reproduce`` takes."""

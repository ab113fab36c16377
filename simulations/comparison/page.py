"""What a comparison says, for a person: ``summary.csv`` and ``comparison.html``, of its table."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pandas as pd

from simulations.baselines.registry import all_baselines
from simulations.comparison.plots import accuracy_figure, limits_of
from simulations.comparison.significance import FEWEST_BLOCKS, LEVEL, Ranking, rank
from simulations.comparison.summary import MEASURES, PLACE, blocks_of, overview, summary
from simulations.report.section import svg

SUMMARY_FILE, PAGE_FILE = "summary.csv", "comparison.html"

TITLES = ("", "accuracy", "balanced accuracy", "AUC", "F1", "round trips", "MB", "seconds")
OVERVIEW_TITLES = ("", "accuracy", "points below the best", "round trips", "MB", "seconds")
PAIR_TITLES = ("better", "worse", "points apart", "p", "p, corrected", "differ")


class Place(NamedTuple):
    """A data set with a split and settings: its name, its table below `TITLES`, and its accuracies as SVG."""

    name: str
    lines: list[list[str]]
    plot: str


def write_summary(folder: Path, runs: pd.DataFrame, notes: Sequence[str]) -> None:
    """Write means and deviations as CSV, and a page of them with tests and plots.

    Parameters
    ----------
    folder : Path
        The comparison's.
    runs : DataFrame
        All runs, from `simulations.comparison.summary.frame`.
    notes : sequence of str
        What is unusual about the data, a sentence each.
    """
    means, ranking = summary(runs), rank(blocks_of(runs))
    means.to_csv(folder / SUMMARY_FILE, index=False)
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("simulations", "comparison"), jinja2.PackageLoader("simulations", "report")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    page = environment.get_template("comparison.html.j2").render(
        words=_words(runs, means, ranking),
        notes=notes,
        titles=TITLES,
        places=[_place(name, group, runs) for name, group in means.groupby(PLACE, sort=False)],
        overview_titles=OVERVIEW_TITLES,
        overview=_overview_lines(overview(means)),
        ranks=ranking.mean_ranks if ranking else {},
        pair_titles=PAIR_TITLES,
        pairs=pair_lines(ranking) if ranking else [],
        failed=runs.loc[runs["error"] != "", ["strategy", *PLACE, "aggregation", "repeat", "error"]],
        disclosed=_disclosed(means),
    )
    (folder / PAGE_FILE).write_text(page, encoding="utf-8")


def pair_lines(ranking: Ranking) -> list[list[str]]:
    """Return a line for each pair of strategies, the surest difference first."""
    return [
        [
            pair.first,
            pair.second,
            f"{100 * pair.difference:+.2f}",
            f"{pair.p:.3g}",
            f"{pair.corrected:.3g}",
            "yes" if pair.found else "not shown",
        ]
        for pair in sorted(ranking.pairs, key=lambda pair: (pair.corrected, pair.p, -abs(pair.difference)))
    ]


def _place(name: Any, means: pd.DataFrame, runs: pd.DataFrame) -> Place:
    data, split, settings = name
    several = means["aggregation"].nunique() > len({""} & set(means["aggregation"])) + 1
    lines = []
    for _, line in means.iterrows():
        title = line["strategy"] + (f" ({line['aggregation']})" if several and line["aggregation"] else "")
        if line["failed"]:
            title += f", {line['failed']} of {line['runs']} failed"
        if line["not_converged"]:
            title += f", {line['not_converged']} not converged"
        sent = (line["bytes_up"] + line["bytes_down"]) / 1e6
        lines.append(
            [
                title,
                *(_measure(line[measure], line[f"{measure}_sd"]) for measure in MEASURES),
                _number(line["round_trips"], ".0f"),
                _number(sent, ".2f"),
                _number(line["seconds"], ".1f"),
            ]
        )
    of_data = runs[runs["data"] == data]
    here = of_data[(of_data["split"] == split) & (of_data["settings"] == settings)]
    strategies, limits = list(dict.fromkeys(runs["strategy"])), limits_of(of_data["accuracy"])
    plot = svg(accuracy_figure(here, limits, strategies, all_baselines()))
    return Place(", ".join(filter(None, name)), lines, plot)


def _overview_lines(points: pd.DataFrame) -> list[list[str]]:
    forms = (".4f", ".2f", ".0f", ".2f", ".1f")
    return [
        [str(name), *(_number(value, form) for value, form in zip(line, forms, strict=True))]
        for name, line in points.iterrows()
    ]


def _words(runs: pd.DataFrame, means: pd.DataFrame, ranking: Ranking | None) -> dict[str, str]:
    """Return what the comparison says in sentences; one that has nothing to say is empty."""
    failed = int((runs["error"] != "").sum())
    sets, repeats = runs["data"].nunique(), runs["repeat"].nunique()
    return {
        "what": (
            f"{len(runs)} runs: {means['strategy'].nunique()} strategies and baselines on "
            f"{sets} data set{'' if sets == 1 else 's'}, {repeats} repeat{'' if repeats == 1 else 's'}. Mean ± "
            "standard deviation over the repeats, on the test rows of all sites."
        ),
        "levels": _level_words(runs),
        "failed": f"{failed} run{' has' if failed == 1 else 's have'} failed and are in no mean."
        if failed
        else "",
        "tests": _test_words(means, ranking),
    }


def _level_words(runs: pd.DataFrame) -> str:
    """Return at which level each strategy ran; a failed run has none."""
    done = runs[runs["error"] == ""]
    named = {
        str(level): ", ".join(dict.fromkeys(own))
        for level, own in done.groupby("level", sort=False)["strategy"]
    }
    central = named.pop("", "")
    parts = [f"Level {level}: {names}." for level, names in named.items()]
    if central:
        parts.append(f"Baselines, which train on the true rows at any level: {central}.")
    return " ".join([*parts, "All are tested on the same true rows."])


def _test_words(means: pd.DataFrame, ranking: Ranking | None) -> str:
    if ranking is None:
        return (
            f"There is too little to test whether strategies differ: that takes two, on {FEWEST_BLOCKS} or more data "
            "sets and splits."
        )
    parts = [
        f"{len(ranking.mean_ranks)} strategies on {ranking.blocks} blocks, which are means over the repeats of a set, "
        "split and setting."
    ]
    without = [name for name in dict.fromkeys(means["strategy"]) if name not in ranking.mean_ranks]
    if without:
        parts.append(f"{', '.join(without)} did not finish a run.")
    if ranking.friedman is not None:
        chance = "at least one differs" if ranking.friedman < LEVEL else "no difference is shown"
        parts.append(f"Friedman's test: p = {ranking.friedman:.3g}, {chance}.")
    found = sum(pair.found for pair in ranking.pairs)
    parts.append(
        f"Wilcoxon's signed-rank test with Holm's correction finds {found} of {len(ranking.pairs)} pairs to differ."
    )
    if ranking.smallest >= LEVEL:
        parts.append(
            f"It could find none: with {ranking.blocks} blocks and {len(ranking.pairs)} pairs, no corrected p-value is "
            f"below {ranking.smallest:.2g}. More data sets, or fewer strategies, would let it."
        )
    return " ".join(parts)


def _disclosed(means: pd.DataFrame) -> list[tuple[str, str]]:
    """Return what left the sites for each strategy, other than in a sum and beyond what all of them need to join."""
    texts = means.groupby("strategy", sort=False)["disclosed"].agg(lambda found: max(found, key=len))
    return [(str(name), text) for name, text in texts.items()]


def _measure(mean: float, deviation: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:.4f}" if math.isnan(deviation) else f"{mean:.4f} ± {deviation:.4f}"


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)

"""The summary of a comparison: ``summary.csv``, ``comparison.html`` and a table."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flower_pansvm.files import write
from simulations.baselines.registry import BASELINES
from simulations.comparison.left_out import TESTED_ON
from simulations.comparison.plots import accuracy_figure, limits_of
from simulations.comparison.significance import (
    FEWEST_BLOCKS,
    FEWEST_REPEATS,
    LEVEL,
    mean_ranks,
    pair_tests,
    resampled_tests,
)
from simulations.comparison.summary import SCENARIO, SIZES, blocks_of, overview, repeats_of, summary
from simulations.markdown import markdown
from simulations.origin import versions_text
from strategies.report.section import svg, templates

SUMMARY_FILE, PAGE_FILE = "summary.csv", "comparison.html"
ENDINGS = {"csv": "csv", "md": "md", "latex": "tex"}

SHOWN = {
    "strategy": ("", "{}"),
    "failed_runs": ("failed runs", "{}"),
    "better": ("better", "{}"),
    "worse": ("worse", "{}"),
    "accuracy": ("accuracy", "{:.4f}"),
    "balanced_accuracy": ("balanced accuracy", "{:.4f}"),
    "auc": ("AUC", "{:.4f}"),
    "f1": ("F1", "{:.4f}"),
    "below": ("points below the best", "{:.2f}"),
    "apart": ("points apart", "{:+.2f}"),
    "low": ("95 %, from", "{:+.2f}"),
    "high": ("to", "{:+.2f}"),
    "p": ("p", "{:.3g}"),
    "corrected": ("p, corrected", "{:.3g}"),
    "round_trips": ("round trips", "{:.0f}"),
    "megabytes": ("MB", "{:.2f}"),
    "seconds": ("seconds", "{:.1f}"),
}
"""Title and format of each printed column, in the order of all tables."""


def write_summary(
    folder: Path, runs: pd.DataFrame, notes: Sequence[str], source: Mapping[str, Any], form: str
) -> str:
    """Write means and deviations as CSV, and a page of them with notes, tests and plots.

    Return the table of all means in a form, csv, md or latex, which is also written. ``source`` is the origin of
    runs that do not tell theirs.
    """
    means, blocks = summary(runs), blocks_of(runs)
    origin = origin_line(runs, source)
    means.to_csv(folder / SUMMARY_FILE, index=False)
    tested = blocks.shape[0] >= FEWEST_BLOCKS and blocks.shape[1] >= 2
    pairs = pair_tests(blocks) if tested else None
    page = (
        templates("simulations/comparison", "strategies/report")
        .get_template("comparison.html.j2")
        .render(
            runs=runs,
            levels=_levels(runs),
            # All rows of a site that is left out are predicted outside of the federation.
            noisy=((runs["level"] == "dp") & ~runs["split"].str.startswith(TESTED_ON)).any(),
            blocks=blocks,
            notes=notes,
            left_out=bool(runs["split"].str.startswith(TESTED_ON).all()),
            origin=origin,
            resampled=_resampled(runs),
            fewest_repeats=FEWEST_REPEATS,
            scenarios=[
                (
                    _scenario_text(name),
                    _shown(_named(group).assign(failed_runs=_failed(group))),
                    _plot(name, runs),
                )
                for name, group in means.groupby(SCENARIO, sort=False)
            ],
            overview=_shown(overview(runs).reset_index().assign(failed_runs=_failed)),
            ranks={} if pairs is None else mean_ranks(blocks),
            pairs=None if pairs is None else _shown(pairs),
            differ=0 if pairs is None else int((pairs["corrected"] < LEVEL).sum()),
            # The smallest p-value after Holm's correction with so many blocks and pairs.
            smallest=0.0 if pairs is None else min(1.0, len(pairs) * 2.0 ** (1 - len(blocks))),
            level=LEVEL,
            fewest=FEWEST_BLOCKS,
            failed=runs.loc[runs["error"] != "", ["strategy", *SCENARIO, "aggregation", "repeat", "error"]],
            disclosed=_disclosed(means),
        )
    )
    write(folder / PAGE_FILE, page, overwrite=True)
    table = _table(means, origin, form)
    write(folder / f"table.{ENDINGS[form]}", table, overwrite=True)
    return table


def origin_line(runs: pd.DataFrame, source: Mapping[str, Any]) -> str:
    """Return date, commits and versions of the runs, or ``source`` if they have none, seeds and sizes, on one line."""
    commits = dict.fromkeys(filter(None, runs["commit"])) or [source["commit"] or "unknown"]
    date = runs["date"].max() or source["date"]
    made_with = "; ".join(dict.fromkeys(filter(None, runs["versions"]))) or versions_text(source["versions"])
    sizes = "; ".join(
        f"{data}: {_ends(group['sites'])} sites, {_ends(group['rows_train'])} rows to train and "
        f"{_ends(group['rows_test'])} to test"
        for data, group in runs.dropna(subset=SIZES).groupby("data", sort=False)
    )
    named = runs[runs["positive_class"] != ""].drop_duplicates(["data", "positive_class"])
    if len(named):
        positive = ", ".join(
            f"'{name}' of {data}" for data, name in named[["data", "positive_class"]].to_numpy().tolist()
        )
        sizes += f". F1 is that of the positive class: {positive}"
    first, last = runs["seed"].min(), runs["seed"].max()
    seeds = f"seeds {first} to {last}" if first < last else f"seed {first}"
    return f"{date}, commit {' '.join(commits)}, {seeds}. {sizes}. {made_with}."


def _ends(sizes: "pd.Series[float]") -> str:
    """Return the smallest and the largest size, once if they are equal."""
    return " to ".join(dict.fromkeys(f"{size:.0f}" for size in (sizes.min(), sizes.max())))


def _table(means: pd.DataFrame, origin: str, form: str) -> str:
    """Return the means as a table in a form, with its origin below or, as CSV, in each line."""
    shown = _shown(_named(means).assign(failed_runs=_failed(means)))
    shown.insert(0, "table", list(map(_scenario_text, means[SCENARIO].to_numpy())))
    shown = shown.rename(columns={"": "system"})
    if form == "csv":
        return str(shown.assign(origin=origin).to_csv(index=False))
    if form == "latex":
        return f"{shown.style.hide(axis='index').format(escape='latex').to_latex(hrules=True)}% {origin}\n"
    return f"{markdown(list(shown.columns), shown.to_numpy().tolist())}\n{origin}\n"


def _scenario_text(scenario: Iterable[object]) -> str:
    """Return data set, split and settings as one text."""
    return ", ".join(filter(None, map(str, scenario)))


def _failed(means: pd.DataFrame) -> list[str]:
    """Return the numbers of failed runs, such as "1 of 5"."""
    return [f"{failed} of {runs}" for failed, runs in zip(means["failed"], means["runs"], strict=True)]


def _resampled(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the resampled t-test of each scenario with at least `FEWEST_REPEATS` repeats.

    A system that always failed in a scenario is left out of its test.
    """
    tables = {}
    for scenario, of_scenario in runs.groupby(SCENARIO, sort=False):
        # The test takes repeats to draw other rows, and a site that is left out is the same each time.
        if str(scenario[SCENARIO.index("split")]).startswith(TESTED_ON):
            continue
        sizes, accuracies = of_scenario[SIZES].dropna(), repeats_of(of_scenario)
        if len(accuracies) >= FEWEST_REPEATS and accuracies.shape[1] >= 2 and len(sizes):
            share = float((sizes["rows_test"] / sizes["rows_train"]).mean())
            tests = resampled_tests(accuracies.droplevel([*SCENARIO]), share)
            tables[_scenario_text(scenario)] = _shown(tests)
    return tables


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of `SHOWN` as texts, titled; a deviation stands behind its mean."""
    columns = {}
    for name, (title, form) in SHOWN.items():
        if name in frame:
            columns[title] = ["–" if pd.isna(value) else form.format(value) for value in frame[name]]
        if f"{name}_sd" in frame:
            spread = ["" if pd.isna(value) else f" ± {form}".format(value) for value in frame[f"{name}_sd"]]
            columns[title] = [mean + after for mean, after in zip(columns[title], spread, strict=True)]
    return pd.DataFrame(columns)


def _named(means: pd.DataFrame) -> pd.DataFrame:
    """Return means with secure sums, where several are compared, and failures behind the strategies' names."""
    protocols = set(means["aggregation"]) - {""}
    named = [
        line["strategy"] + (f" ({line['aggregation']})" if line["aggregation"] and len(protocols) > 1 else "")
        for line in means.to_dict("records")
    ]
    unfinished = [f", {count} not converged" if count else "" for count in means["not_converged"]]
    return means.assign(strategy=named).assign(strategy=lambda frame: _of_finished(frame) + unfinished)


def _of_finished(means: pd.DataFrame) -> "pd.Series[str]":
    """Return the strategies' names, with the number of runs behind a mean if some failed."""
    counts = (means["runs"] - means["failed"]).astype(str) + " of " + means["runs"].astype(str)
    return means["strategy"] + (", mean of " + counts + " splits").where(means["failed"] > 0, "")


def _plot(scenario: Sequence[object], runs: pd.DataFrame) -> str:
    """Return the plot of a scenario's accuracies as SVG."""
    of_data = runs[runs["data"] == scenario[0]]
    of_scenario = of_data[(of_data[SCENARIO] == list(scenario)).all(axis=1)]
    strategies, limits = list(dict.fromkeys(runs["strategy"])), limits_of(of_data)
    baselines = [name for name in strategies if name.split(" (")[0] in BASELINES]
    return svg(accuracy_figure(of_scenario, limits, strategies, baselines))


def _levels(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Return the strategies at each level, baselines at an empty one, without those that failed."""
    done = runs[runs["error"] == ""]
    groups = done.groupby("level", sort=False)["strategy"]
    return {str(level): list(dict.fromkeys(strategies)) for level, strategies in groups}


def _disclosed(means: pd.DataFrame) -> pd.DataFrame:
    """Return the values that left the sites outside of a sum, by strategy."""
    texts = means.groupby("strategy", sort=False)["disclosed"].agg(lambda texts: max(texts, key=len))
    return pd.DataFrame({"": texts.index, "open to read": texts.to_numpy()})

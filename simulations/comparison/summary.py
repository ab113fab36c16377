"""The table of a comparison as means and deviations, and as blocks for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from simulations.comparison.run import COLUMNS, ORIGIN

SCENARIO = ["data", "split", "settings"]
"""Strategies are compared within a scenario."""

MEASURES = ["accuracy", "balanced_accuracy", "auc", "f1"]
SIZES = ["sites", "rows_train", "rows_test"]
COSTS = ["round_trips", "bytes_up", "bytes_down", "seconds"]


def frame(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return runs as a table of `COLUMNS` with numeric columns; missing texts are empty."""
    table = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    texts = table[["level", "positive_class", "disclosed", *ORIGIN, "error"]].fillna("")
    return table.assign(**texts).astype(dict.fromkeys([*SIZES, *MEASURES, *COSTS], "float64"))


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with the level, or for baselines "true rows", behind the strategy's name.

    A strategy at several levels keeps its name: the scenario's settings have the level.
    """
    several = runs.groupby("strategy")["level"].transform("nunique") > 1
    shown = runs["level"].str.replace(", noise", "").where(runs["level"] != "", "true rows")
    return runs.assign(strategy=(runs["strategy"] + " (" + shown + ")").where(~several, runs["strategy"]))


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each data set, split, setting, strategy and secure sum, in the order of the runs.

    Columns
    -------
    level : str
        Privacy level; empty for a baseline.
    sites, rows_train, rows_test, first_seed, last_seed : float
        Sizes, of the first run that did not fail, and the seeds.
    runs, failed, not_converged : int
        Counts.
    accuracy, balanced_accuracy, auc, f1 : float
        Mean over the repeats that did not fail; the standard deviation is in the column of that name with ``_sd``.
    round_trips, bytes_up, bytes_down, seconds, megabytes : float
        Mean; megabytes are those of both ways.
    positive_class : str
        With two classes the class of F1; empty with more.
    disclosed : str
        Values that left the sites outside of a sum.
    date, commit, versions : str
        Of the last run, of all runs and of one; empty if all failed.
    """
    groups = runs.groupby([*SCENARIO, "strategy", "aggregation"], sort=False)
    table = pd.DataFrame(
        {
            "level": groups["level"].first(),
            **{name: groups[name].first() for name in SIZES},
            "first_seed": groups["seed"].min(),
            "last_seed": groups["seed"].max(),
            "runs": groups.size(),
            "failed": groups["error"].agg(lambda errors: int((errors != "").sum())),
            "not_converged": groups["converged"].agg(lambda values: sum(value is False for value in values)),
        }
    )
    for name in MEASURES:
        table[name], table[f"{name}_sd"] = groups[name].mean(), groups[name].std()
    for name in COSTS:
        table[name] = groups[name].mean()
    table["megabytes"] = (table["bytes_up"] + table["bytes_down"]) / 1e6
    table["positive_class"] = groups["positive_class"].max()
    table["disclosed"] = groups["disclosed"].agg(lambda texts: max(texts, key=len))
    table["date"], table["versions"] = groups["date"].max(), groups["versions"].max()
    table["commit"] = groups["commit"].agg(lambda commits: " ".join(dict.fromkeys(filter(None, commits))))
    return table.reset_index()


def overview(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each strategy over all scenarios, the best first; scenarios have equal weight.

    By strategy: ``runs`` and ``failed`` (sums); ``accuracy`` and ``below`` (percentage points below the best strategy
    of each scenario), over repeats in which none failed, as other splits may be easier; ``round_trips``, ``megabytes``
    (sent by and to all sites) and ``seconds``, over its own runs.
    """
    groups, shared = summary(runs).groupby("strategy", sort=False), _scenarios_of(runs)
    table = groups[["runs", "failed"]].sum().join(groups[["round_trips", "megabytes", "seconds"]].mean())
    below = 100 * (shared.max(axis=1).to_numpy()[:, None] - shared)
    return table.assign(accuracy=shared.mean(), below=below.mean()).sort_values("below", kind="stable")


def blocks_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies for tests, by data set (row) and strategy (column), without missing ones.

    A block is a data set's mean over its splits and settings, and over the repeats in which no strategy failed. They
    share rows, so that tests that take them as independent would find false differences. A strategy without any
    accuracy is left out.
    """
    return _scenarios_of(runs).groupby("data", sort=False).mean()


def _scenarios_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each scenario (row) and strategy (column) over the repeats in which none failed."""
    return repeats_of(runs).groupby(SCENARIO, sort=False).mean()


def repeats_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies by scenario and repeat (rows) and strategy (columns), of repeats in which none failed."""
    by_repeat = runs.pivot_table(
        index=[*SCENARIO, "repeat"], columns="strategy", values="accuracy", sort=False, dropna=False
    )
    by_repeat = by_repeat.reindex(columns=list(dict.fromkeys(runs["strategy"])))
    return by_repeat.dropna(how="all").dropna(axis="columns", how="all").dropna()

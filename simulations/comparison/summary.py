"""The table of a comparison as means and deviations, and as blocks that tests can compare."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from simulations.comparison.run import COLUMNS, ORIGIN

PLACE = ["data", "split", "settings"]
"""What strategies have to agree in to be compared."""

MEASURES = ["accuracy", "balanced_accuracy", "auc", "f1"]
SIZES = ["sites", "rows_train", "rows_test"]
COSTS = ["round_trips", "bytes_up", "bytes_down", "seconds"]


def frame(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return runs as a table of `COLUMNS`, in which numbers are numbers and texts that are not there are empty."""
    found = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    texts = found[["level", "positive_class", "disclosed", *ORIGIN, "error"]].fillna("")
    return found.assign(**texts).astype(dict.fromkeys([*SIZES, *MEASURES, *COSTS], "float64"))


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with the level in the names of their strategies, and baselines marked.

    A strategy that is compared at several levels keeps its name: the settings of the place say which.
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
        How many.
    accuracy, balanced_accuracy, auc, f1 : float
        Mean over the repeats that did not fail; the standard deviation is in the column of that name with ``_sd``.
    round_trips, bytes_up, bytes_down, seconds, megabytes : float
        Mean; megabytes are those of both ways.
    positive_class : str
        Of two classes the one that F1 is about; empty with more.
    disclosed : str
        What left the sites other than in a sum.
    date, commit, versions : str
        Of the last run, of all runs and of one; empty if all failed.
    """
    groups = runs.groupby([*PLACE, "strategy", "aggregation"], sort=False)
    found = pd.DataFrame(
        {
            "level": groups["level"].first(),
            **{name: groups[name].first() for name in SIZES},
            "first_seed": groups["seed"].min(),
            "last_seed": groups["seed"].max(),
            "runs": groups.size(),
            "failed": groups["error"].agg(lambda errors: int((errors != "").sum())),
            "not_converged": groups["converged"].agg(lambda known: sum(value is False for value in known)),
        }
    )
    for name in MEASURES:
        found[name], found[f"{name}_sd"] = groups[name].mean(), groups[name].std()
    for name in COSTS:
        found[name] = groups[name].mean()
    found["megabytes"] = (found["bytes_up"] + found["bytes_down"]) / 1e6
    # A run that failed names none.
    found["positive_class"] = groups["positive_class"].max()
    found["disclosed"] = groups["disclosed"].agg(lambda texts: max(texts, key=len))
    found["date"], found["versions"] = groups["date"].max(), groups["versions"].max()
    found["commit"] = groups["commit"].agg(lambda known: " ".join(dict.fromkeys(filter(None, known))))
    return found.reset_index()


def overview(means: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each strategy in `summary` over all places, the best first; places count alike.

    By strategy: ``runs`` and ``failed`` (sums), ``accuracy``, ``below`` (percentage points below the best strategy of
    each place), ``round_trips``, ``megabytes`` (sent by and to all sites), ``seconds``.
    """
    best = means.groupby(PLACE)["accuracy"].transform("max")
    found = means.assign(below=100 * (best - means["accuracy"]))
    columns = ["accuracy", "below", "round_trips", "megabytes", "seconds"]
    groups = found.groupby("strategy", sort=False)
    return groups[["runs", "failed"]].sum().join(groups[columns].mean()).sort_values("below", kind="stable")


def blocks_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies that tests compare, by block (row) and strategy (column), without missing ones.

    A block is a data set with a split and settings, and the mean of its repeats, of which those count that no strategy
    has failed in. Repeats share rows, so that tests that take them for independent would find too much. A strategy
    without any accuracy is not there.
    """
    return repeats_of(runs).groupby(PLACE, sort=False).mean()


def repeats_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies by place and repeat (rows) and strategy (columns), of repeats that none has failed in."""
    by_repeat = runs.pivot_table(
        index=[*PLACE, "repeat"], columns="strategy", values="accuracy", sort=False, dropna=False
    )
    by_repeat = by_repeat.reindex(columns=list(dict.fromkeys(runs["strategy"])))
    return by_repeat.dropna(how="all").dropna(axis="columns", how="all").dropna()

"""The table of a comparison as means and deviations, and as blocks that tests can compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from simulations.comparison.run import COLUMNS
from simulations.comparison.significance import FEWEST_BLOCKS, Ranking, rank

PLACE = ["data", "split", "settings"]
"""What strategies have to agree in to be compared."""

MEASURES = ["accuracy", "balanced_accuracy", "auc", "f1"]
COSTS = ["round_trips", "bytes_up", "bytes_down", "seconds"]


@dataclass(frozen=True)
class Blocks:
    """Accuracies that can be compared, and what each is a mean of.

    Parameters
    ----------
    table : DataFrame
        By block (row) and strategy (column).
    single : bool
        Whether each is one run: there are too few sets and splits to compare their means.
    left_out : int
        Blocks that are not in the table because a strategy has no accuracy there.
    without : tuple of str
        Strategies that are not in the table because they have no accuracy anywhere.
    """

    table: pd.DataFrame
    single: bool
    left_out: int
    without: tuple[str, ...]

    def ranking(self) -> Ranking | None:
        """Return the outcome of the tests; None if there is too little to compare."""
        return rank(self.table)


def frame(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return runs as a table of `COLUMNS`, in which numbers are numbers and texts that are not there are empty."""
    found = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    texts = found[["level", "disclosed", "error"]].fillna("")
    return found.assign(**texts).astype(dict.fromkeys([*MEASURES, *COSTS], "float64"))


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each data set, split, setting, strategy and secure sum, in the order of the runs.

    Columns
    -------
    runs, failed, not_converged : int
        How many.
    accuracy, balanced_accuracy, auc, f1 : float
        Mean over the repeats that did not fail; the standard deviation is in the column of that name with ``_sd``.
    round_trips, bytes_up, bytes_down, seconds : float
        Mean.
    disclosed : str
        What left the sites other than in a sum.
    """
    groups = runs.groupby([*PLACE, "strategy", "aggregation"], sort=False)
    found = pd.DataFrame(
        {
            "runs": groups.size(),
            "failed": groups["error"].agg(lambda errors: int((errors != "").sum())),
            "not_converged": groups["converged"].agg(lambda known: sum(value is False for value in known)),
        }
    )
    for name in MEASURES:
        found[name], found[f"{name}_sd"] = groups[name].mean(), groups[name].std()
    for name in COSTS:
        found[name] = groups[name].mean()
    found["disclosed"] = groups["disclosed"].agg(lambda texts: max(texts, key=len))
    return found.reset_index()


def overview(means: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each strategy over all places, the best first; places count alike.

    Parameters
    ----------
    means : DataFrame
        From `summary`.

    Returns
    -------
    DataFrame
        By strategy: ``accuracy``, ``below`` (percentage points below the best strategy of each place), ``round_trips``,
        ``megabytes`` (sent by and to all sites), ``seconds``.
    """
    best = means.groupby(PLACE)["accuracy"].transform("max")
    found = means.assign(
        below=100 * (best - means["accuracy"]), megabytes=(means["bytes_up"] + means["bytes_down"]) / 1e6
    )
    columns = ["accuracy", "below", "round_trips", "megabytes", "seconds"]
    return found.groupby("strategy", sort=False)[columns].mean().sort_values("below", kind="stable")


def blocks_of(runs: pd.DataFrame) -> Blocks:
    """Return the accuracies that tests compare.

    A block is a data set with a split and settings, and the mean of its repeats. Repeats share rows, so that tests that
    take them for independent find too much; only if there are fewer than `FEWEST_BLOCKS` sets and splits, each repeat
    is a block.
    """
    by_repeat = runs.pivot_table(
        index=[*PLACE, "repeat"], columns="strategy", values="accuracy", sort=False, dropna=False
    )
    strategies = list(dict.fromkeys(runs["strategy"]))
    by_repeat = by_repeat.reindex(columns=strategies).dropna(how="all")
    without = tuple(name for name in strategies if by_repeat[name].isna().all())
    complete = by_repeat.drop(columns=list(without)).dropna()
    means = complete.groupby(PLACE, sort=False).mean()
    single = len(means) < FEWEST_BLOCKS
    return Blocks(complete if single else means, single, len(by_repeat) - len(complete), without)

"""Tests of differences between strategies.

Wilcoxon's signed-rank test compares pairs, as in Benavoli, Corani and Mangili 2016, and Holm's correction keeps the
probability of any false finding below 5 % (Demšar 2006, "Statistical comparisons of classifiers over multiple data
sets"). On one table the corrected resampled t-test compares pairs over its repeats (Nadeau and Bengio 2003, "Inference
for the generalization error", Machine Learning 52, section 3).
"""

from itertools import combinations

import pandas as pd
from scipy.stats import PermutationMethod, t, wilcoxon

LEVEL = 0.05
"""Significance level."""

FEWEST_BLOCKS = 6
"""Fewest data sets of Wilcoxon's test: with five, the smallest p-value is 0.06."""

FEWEST_REPEATS = 5
"""Fewest repeats of one table for the resampled t-test."""

MOST_EXACT = 13
"""Most blocks of the exact test; with more, the normal approximation suffices."""

DIGITS = 9
"""Digits in which equal accuracies agree."""


def mean_ranks(blocks: pd.DataFrame) -> "pd.Series[float]":
    """Return the mean rank of each strategy over blocks (rows), the best first; ties share their ranks."""
    return blocks.round(DIGITS).rank(axis=1, ascending=False).mean().sort_values(kind="stable")


def pair_tests(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each pair of strategies, sorted by p, from accuracies by block and strategy.

    Columns: ``better`` and ``worse`` by mean rank, their difference ``apart`` in points of accuracy, ``p`` of the
    two-sided Wilcoxon test, with differences of zero split, and ``corrected``: p after Holm's correction.
    """
    table, pairs = blocks.round(DIGITS), list(combinations(mean_ranks(blocks).index, 2))
    method = PermutationMethod(n_resamples=2**MOST_EXACT) if len(table) <= MOST_EXACT else "approx"
    tests = pd.DataFrame(pairs, columns=["better", "worse"])
    # Unrounded, equal differences of unequal accuracies would have ranks of their own.
    differences = [(table[better] - table[worse]).round(DIGITS) for better, worse in pairs]
    tests["apart"] = [100 * difference.mean() for difference in differences]
    tests["p"] = [
        wilcoxon(difference, zero_method="zsplit", method=method).pvalue if difference.any() else 1.0
        for difference in differences
    ]
    return _holm(tests)


def resampled_tests(repeats: pd.DataFrame, test_to_train: float) -> pd.DataFrame:
    """Return the corrected resampled t-test of each pair, from accuracies by repeat and strategy of one table.

    Repeats share rows, so that the variance of their mean is (1 / repeats + test rows / training rows) times that of a
    single repeat (Nadeau and Bengio 2003). Columns are those of `pair_tests`, and ``low`` and ``high``: the 95 %
    interval of ``apart``, in points, without correction for several pairs. A difference that is the same in each repeat
    has no variance to go by: no interval, and p only if it is zero.
    """
    count = len(repeats)
    lines = []
    for better, worse in combinations(repeats.mean().sort_values(ascending=False, kind="stable").index, 2):
        difference = (100 * (repeats[better] - repeats[worse])).round(DIGITS)
        mean, error = difference.mean(), difference.std() * (1 / count + test_to_train) ** 0.5
        reach = t.ppf(1 - LEVEL / 2, count - 1) * error if error else float("nan")
        p = 2 * t.sf(abs(mean) / error, count - 1) if error else 1.0 if mean == 0 else float("nan")
        lines.append((better, worse, mean, mean - reach, mean + reach, p))
    return _holm(pd.DataFrame(lines, columns=["better", "worse", "apart", "low", "high", "p"]))


def _holm(tests: pd.DataFrame) -> pd.DataFrame:
    """Return tests sorted by p, with p after Holm's correction (1979): the smallest times their number, and so on."""
    tests = tests.sort_values(["p", "apart"], ascending=[True, False], kind="stable", ignore_index=True)
    known = tests["p"].count()
    return tests.assign(corrected=(tests["p"] * (known - tests.index)).cummax().clip(upper=1.0))

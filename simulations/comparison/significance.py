"""Whether differences between strategies are more than chance: ranks, paired tests, and a correction for their number.

Friedman's test says whether any of the strategies differ, Wilcoxon's signed-rank test which pairs do, and Holm's
correction keeps the probability of a single false finding among all pairs below 5 % (Demšar 2006, "Statistical
comparisons of classifiers over multiple data sets"; pairs by Wilcoxon's test as in Benavoli, Corani and Mangili 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import PermutationMethod, friedmanchisquare, rankdata, wilcoxon

LEVEL = 0.05
"""Probability below which a difference counts as found."""

FEWEST_BLOCKS = 6
"""Blocks that Wilcoxon's test needs to get below 5 %: with five, the smallest p-value is 0.06."""

MOST_EXACT = 13
"""Pairs of which all ways to swap signs are counted; of more, the normal distribution is near enough."""

DIGITS = 9
"""Accuracies that agree in so many digits are equal."""


@dataclass(frozen=True)
class PairTest:
    """Two strategies beside each other.

    Parameters
    ----------
    first, second : str
        The strategies, the one with the better mean rank first.
    difference : float
        Mean accuracy of the first less that of the second.
    p, corrected : float
        p-value of Wilcoxon's test, two-sided, and after Holm's correction for all pairs.
    """

    first: str
    second: str
    difference: float
    p: float
    corrected: float

    @property
    def found(self) -> bool:
        """Whether the two differ by more than chance."""
        return self.corrected < LEVEL


@dataclass(frozen=True)
class Ranking:
    """How strategies compare over all blocks.

    Parameters
    ----------
    mean_ranks : dict of str to float
        Mean rank of each strategy, the best first; 1 is the best, ties share their ranks.
    blocks : int
        Accuracies of each strategy that were compared.
    friedman : float or None
        p-value of Friedman's test; None with two strategies.
    pairs : tuple of PairTest
        All pairs.
    """

    mean_ranks: dict[str, float]
    blocks: int
    friedman: float | None
    pairs: tuple[PairTest, ...]

    @property
    def smallest(self) -> float:
        """The smallest corrected p-value that so many blocks and pairs can have."""
        return min(1.0, len(self.pairs) * 2.0 ** (1 - self.blocks))


def rank(blocks: pd.DataFrame) -> Ranking | None:
    """Compare strategies.

    Parameters
    ----------
    blocks : DataFrame
        Accuracy by block (row) and strategy (column), without missing values.

    Returns
    -------
    Ranking or None
        None with fewer than two strategies, or too few blocks to find anything.
    """
    if blocks.shape[0] < FEWEST_BLOCKS or blocks.shape[1] < 2:
        return None
    table = blocks.to_numpy().round(DIGITS)
    ranks = pd.Series(rankdata(-table, axis=1).mean(axis=0), index=blocks.columns).sort_values(kind="stable")
    names = [str(name) for name in ranks.index]
    column = {str(name): table[:, number] for number, name in enumerate(blocks.columns)}
    pairs = list(combinations(names, 2))
    p = [signed_rank(column[first] - column[second]) for first, second in pairs]
    found = tuple(
        PairTest(first, second, float((column[first] - column[second]).mean()), own, corrected)
        for (first, second), own, corrected in zip(pairs, p, holm(p), strict=True)
    )
    return Ranking(dict(zip(names, ranks.tolist(), strict=True)), len(blocks), _friedman(table), found)


def signed_rank(differences: NDArray[np.float64]) -> float:
    """Return the p-value of Wilcoxon's signed-rank test, two-sided; zeros count half on either side.

    Parameters
    ----------
    differences : ndarray of shape (blocks,)
        At least two.

    Examples
    --------
    >>> signed_rank(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) == 2 / 2**6
    True
    """
    if not differences.any():
        return 1.0
    method = PermutationMethod(n_resamples=2**MOST_EXACT) if len(differences) <= MOST_EXACT else "approx"
    return float(wilcoxon(differences, zero_method="zsplit", method=method).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values after the correction of Holm (1979): the smallest times their number, the next times one less.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.asarray(p)[order] * factors).clip(max=1.0)
    return [float(value) for value in corrected]


def _friedman(table: NDArray[np.float64]) -> float | None:
    if table.shape[1] < 3:
        return None
    if (table == table[:, :1]).all():
        return 1.0
    return float(friedmanchisquare(*table.T).pvalue)

"""The features to remove next: the least important ones by a criterion, or by the vote of several (Lu 2016, 5.2.3)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints

EQUAL = 1e-9
"""Relative difference below which scores are equal: identical features differ by rounding only."""


def least_important(scores: Floats, remaining: Bools, count: int) -> Ints:
    """Return the features with the smallest scores, the least important first.

    Of features with equal scores the later column is less important, so that the order is deterministic.

    Parameters
    ----------
    scores : ndarray of shape (features,)
        Larger is more important; no NaN.
    remaining : ndarray of bool, shape (features,)
        Features to choose from.
    count : int
        Number of features to return; all that remain, if they are fewer.

    Returns
    -------
    ndarray of int, shape (count,)
        Columns of the common schema.

    Examples
    --------
    >>> least_important(np.array([0.5, 0.1, 0.2, 0.1]), np.array([True, True, False, True]), count=2)
    array([3, 1])
    """
    columns = np.flatnonzero(remaining)
    columns = columns[np.argsort(scores[columns])]
    ascending = scores[columns]
    apart = ~np.isclose(ascending[1:], ascending[:-1], rtol=EQUAL, atol=0.0)
    groups = np.concatenate([[0], np.cumsum(apart)])[: len(columns)]
    return columns[np.lexsort((-columns, groups))][:count].astype(np.int64)


def vote(proposals: Sequence[Ints]) -> Ints:
    """Return the features that at least two criteria propose to remove; of a single proposal, all of it.

    They are ordered by the sum of their ranks in the proposals, the smallest first; a feature that a proposal
    lacks ranks after its last. Of equal sums the later column comes first. Three proposals of n features may agree
    on up to 3 n / 2 of them: a step that removes n takes the first n.

    Parameters
    ----------
    proposals : sequence of ndarray of int
        Features that each criterion proposes, the least important first (:func:`least_important`).

    Returns
    -------
    ndarray of int
        Columns; empty without a majority for any.

    Examples
    --------
    >>> vote([np.array([4, 2]), np.array([2, 7]), np.array([7, 5])])
    array([7, 2])
    """
    if len(proposals) == 1:
        return proposals[0]
    columns, votes = np.unique(np.concatenate(proposals), return_counts=True)
    sums = {int(column): 0 for column in columns[votes >= 2]}
    for proposal in proposals:
        rank = {int(column): i for i, column in enumerate(proposal)}
        for column in sums:
            sums[column] += rank.get(column, len(proposal))
    return np.array(sorted(sums, key=lambda column: (sums[column], -column)), dtype=np.int64)


def rank_sums(scores: Iterable[Floats], remaining: Bools) -> Ints:
    """Return the sum of each feature's ranks by several criteria, 0 for the least important; shape (features,).

    Parameters
    ----------
    scores : iterable of ndarray of shape (features,)
        The scores by each criterion; larger is more important.
    remaining : ndarray of bool, shape (features,)
        Features that are ranked; the others have 0.

    Examples
    --------
    >>> rank_sums([np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.1, 0.9])], np.ones(3, dtype=bool))
    array([1, 1, 4])
    """
    sums = np.zeros(len(remaining), dtype=np.int64)
    for score in scores:
        order = least_important(score, remaining, len(remaining))
        sums[order] += np.arange(len(order))
    return sums


def settle(proposals: Mapping[str, Sequence[int]], accuracies: Mapping[str, float], ranks: Ints) -> str:
    """Return the criterion whose proposal is removed where no two agree: the classifier without it is most accurate.

    The paper does not settle ties, which on small data are the rule. Of equally accurate proposals the one with the
    smallest sum of ranks is removed, and of equal sums the first.

    Parameters
    ----------
    proposals : mapping of str to sequence of int
        Features that each criterion proposes to remove.
    accuracies : mapping of str to float
        Accuracy without them.
    ranks : ndarray of shape (features,)
        Sums of ranks (:func:`rank_sums`).

    Examples
    --------
    >>> settle({"svm-rfe": [0], "rsvm": [1], "svm-t": [2]}, {"svm-rfe": 0.9, "rsvm": 0.9, "svm-t": 0.8},
    ...        np.array([5, 2, 1]))
    'rsvm'
    """
    return min(accuracies, key=lambda name: (-accuracies[name], sum(ranks[list(proposals[name])])))


def best_spared(accuracies: Mapping[int, float], count: int) -> list[int]:
    """Return the features without which the classifier is most accurate (Lu 2016, section 6.2.3, step 3).

    They are at most half of the candidates: otherwise the accuracy would hardly matter.

    Parameters
    ----------
    accuracies : mapping of int to float
        Accuracy without each feature; of equal ones the first goes first.

    Examples
    --------
    >>> best_spared({7: 0.9, 4: 0.8, 2: 0.9, 1: 0.7}, count=3)
    [7, 2]
    """
    ranked = sorted(accuracies, key=lambda feature: -accuracies[feature])
    return ranked[: max(1, min(count, len(ranked) // 2))]

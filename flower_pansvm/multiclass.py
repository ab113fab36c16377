"""Which binary problems tell several classes apart, and how decisions are made of them (Lu 2016, section 4.2.1).

One-versus-all is the paper's PPM2C, equations (4.1)-(4.3); one-versus-one is its alternative (4.4) with votes.
"""

from typing import NamedTuple

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.class_columns import positive_classes

REST = -1  # as the negative class of a pair: all classes but the positive one


class Pair(NamedTuple):
    """The two sides of one binary problem; its decision value is above 0 for the positive side."""

    positive: int  # class index with sign +1
    negative: int  # class index with sign -1, or REST


def one_versus_all(classes: int) -> tuple[Pair, ...]:
    """Return the problems of equation (4.1): each class against all others; for two classes class 1 only.

    Examples
    --------
    >>> one_versus_all(2)
    (Pair(positive=1, negative=-1),)
    """
    return tuple(Pair(positive, REST) for positive in positive_classes(classes))


def one_versus_one(classes: int) -> tuple[Pair, ...]:
    """Return the problems of equation (4.4): each two classes, in scikit-learn's order (0, 1), (0, 2), ...

    The later class is the positive one, so that for two classes the problem is that of one-versus-all. (The
    paper and LIBSVM have the earlier one positive: their decision values are these with the other sign.)

    Examples
    --------
    >>> [(pair.negative, pair.positive) for pair in one_versus_one(3)]
    [(0, 1), (0, 2), (1, 2)]
    """
    return tuple(
        Pair(positive, negative) for negative in range(classes) for positive in range(negative + 1, classes)
    )


def signs(classes: Ints, pair: Pair) -> Floats:
    """Return the label of each row in a binary problem, shape (rows,): +1, -1, or 0 for a row of neither class."""
    others = -1.0 if pair.negative == REST else np.where(classes == pair.negative, -1.0, 0.0)
    return np.where(classes == pair.positive, 1.0, others)


def class_decisions(decisions: Floats, pairs: tuple[Pair, ...], classes: int) -> Floats:
    """Return one decision value per class, of which the largest wins, from those of the problems in the columns.

    With one-versus-all they are the decision values themselves. With one-versus-one they are the votes a class
    gets (the paper's "max wins") plus the sum s of its decision values squeezed to s / (3 (|s| + 1)), which
    decides between classes of the same number of votes and never against more votes: what scikit-learn's
    ``OneVsOneClassifier`` and ``SVC(decision_function_shape="ovr")`` return.

    The shape is (rows, classes), or (rows, 1) for two classes, whose one value is above 0 for class 1.
    """
    if classes == 2 or pairs[0].negative == REST:
        return decisions
    votes, confidences = np.zeros((len(decisions), classes)), np.zeros((len(decisions), classes))
    for decision, (positive, negative) in zip(decisions.T, pairs, strict=True):
        votes[:, positive] += decision > 0
        votes[:, negative] += decision <= 0
        confidences[:, positive] += decision
        confidences[:, negative] -= decision
    return votes + confidences / (3.0 * (np.abs(confidences) + 1.0))

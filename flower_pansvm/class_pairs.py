"""Which binary problems several classes are told apart by (Lu 2016, section 4.2.1)."""

from flower_pansvm.class_columns import positive_classes
from flower_pansvm.multiclass import REST, Pair


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

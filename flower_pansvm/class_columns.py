"""Which class each column of decision values is about, and which one a row is given."""

import numpy as np

from flower_pansvm.arrays import Floats, Ints


def positive_classes(classes: int) -> tuple[int, ...]:
    """Return the class that each column of decision values is about: all classes, or class 1 of two."""
    return (1,) if classes == 2 else tuple(range(classes))


def winners(decisions: Floats) -> Ints:
    """Return the class index of each row, of whose decision values each column is about one of `positive_classes`.

    With one column, above 0 is class 1 and anything else class 0; else the largest value wins, of equal ones the first.
    """
    if decisions.shape[1] == 1:
        return (decisions[:, 0] > 0).astype(np.int64)
    largest: Ints = np.argmax(decisions, axis=1)
    return largest

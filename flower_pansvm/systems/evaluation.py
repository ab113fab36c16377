"""A trained model evaluated on test records: on true ones in runs at level perturbed, and by subgroups of patients."""

import math
from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.records import Octets
from flower_pansvm.tasks import COUNT, Task, dp, summed

TIME_SHARE = 0.1
"""Share of an answer's cost for its time; the rest is for its counts."""

TEST_DELTA = 1e-5
"""Of the promise that ``test-epsilon`` makes."""


@dataclass(frozen=True)
class ModelTestQuestion:
    """A model to evaluate on the test records, at a cost."""

    rho: float
    model: Octets  # its file, see flower_pansvm/models/model_file.py


@dataclass(frozen=True)
class ModelTestAnswer:
    """Test records by class, and by predicted class or, of more than two, as wrong or right. One is in one cell.

    So one record changes the cells by 1 in 2-norm. A larger number is declared, so that the noise costs so much less
    than the answer as its time may cost.
    """

    cells: Floats = dp(lambda _: 1.0 / math.sqrt(1 - TIME_SHARE), shape=("classes", 2), not_negative=True)


MODEL_TEST = Task("model_test", "evaluate", ModelTestQuestion, ModelTestAnswer)


@dataclass(frozen=True)
class SubgroupsQuestion:
    """A model to evaluate on test records, by groups of them: of one column's numbers, or of a category."""

    model: Octets
    features: tuple[str, ...]  # the column, or all features of the category
    cuts: Floats  # (cuts,): numbers of the column at which another group begins, increasing


def groups_of(question: SubgroupsQuestion) -> int:
    """Return how many groups there are; the last is of missing cells, and of groups too small to be shown."""
    features = len(question.features)
    return 1 + (features if features > 1 else len(question.cuts) + 1)


@dataclass(frozen=True)
class SubgroupsAnswer:
    """Test records by group, class and predicted class."""

    confusion: Floats = summed(
        COUNT, "subgroups", shape=lambda q: (groups_of(q), "classes", "classes"), count=True
    )


SUBGROUPS = Task("subgroups", "evaluate", SubgroupsQuestion, SubgroupsAnswer)

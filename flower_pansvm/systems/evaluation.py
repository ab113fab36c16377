"""A trained model evaluated on test records: on true ones in runs at level perturbed, and by subgroups of patients."""

import math
from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.records import Octets
from flower_pansvm.tasks import COUNT, SQUARES, Task, dp, summed
from flower_pansvm.tested import TestedQuestion, sensitivity, shape

TIME_SHARE = 0.1
"""Share of an answer's cost for its time; the rest is for its counts."""

TEST_DELTA = 1e-5
"""Of the promise that ``test-epsilon`` makes."""


@dataclass(frozen=True)
class ModelTestQuestion(TestedQuestion):
    """A model to evaluate on the test records, at a cost."""

    rho: float
    model: Octets  # its file, see flower_pansvm/models/model_file.py


@dataclass(frozen=True)
class ModelTestAnswer:
    """Test records as in :class:`flower_pansvm.tested.TestedAnswer`.

    A larger sensitivity is declared than the cells have, so that the noise costs so much less than the answer as its
    time may cost.
    """

    cells: Floats = dp(
        lambda answer: sensitivity(answer) / math.sqrt(1 - TIME_SHARE), shape=shape, not_negative=True
    )


MODEL_TEST = Task("model_test", "evaluate", ModelTestQuestion, ModelTestAnswer)


@dataclass(frozen=True)
class SubgroupsQuestion(TestedQuestion):
    """A model to evaluate on test records, by groups of them."""

    model: Octets


def _by_group(asked: SubgroupsQuestion) -> tuple[int | str, ...]:
    return asked.groups, "classes", "classes"


@dataclass(frozen=True)
class SubgroupsAnswer:
    """Test records by group, class and predicted class, and how those of a patient go together."""

    confusion: Floats = summed(COUNT, "subgroups", shape=_by_group, count=True)
    # Of each group the sum over patients of products of their rows by class; 0 of copies, which hide whose they are.
    products: Floats = summed(SQUARES, "subgroups", shape=_by_group, count=True)


SUBGROUPS = Task("subgroups", "evaluate", SubgroupsQuestion, SubgroupsAnswer)

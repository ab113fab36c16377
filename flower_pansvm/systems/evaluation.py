"""A trained model tried on true test records: for runs at level perturbed, whose own tests are on copies."""

import math
from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.records import Octets
from flower_pansvm.tasks import Task, dp

TIME_SHARE = 0.1
"""Share of an answer's cost that its time may tell of a record; its counts may tell the rest."""


@dataclass(frozen=True)
class ModelTestQuestion:
    """A model to be tried on the test records, at a cost."""

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

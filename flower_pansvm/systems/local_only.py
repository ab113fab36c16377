"""Local training: each hospital alone, with its own model on its own rows, tried on its own test rows."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks import COUNT, Task, summed


@dataclass(frozen=True)
class LocalScoresQuestion:
    """Parameters of scikit-learn's ``SVC``; kernel, class weights and scaling are in the run's terms."""

    C: float
    gamma: float  # 0 for 'scale'
    degree: int
    coef0: float


@dataclass(frozen=True)
class LocalScoresAnswer:
    """Counts of test rows; Flower hands their sum on as a flat list."""

    confusion: Floats = summed(COUNT)  # (classes, classes): true against predicted class


LOCAL_SCORES = Task("local_scores", "evaluate", LocalScoresQuestion, LocalScoresAnswer, since="0.1.0")
"""Answered once a run: counts by two settings would differ in the test rows that change sides."""

"""Local training: each hospital alone, with its own model on its own rows, evaluated on its own test rows."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks import COUNT, SQUARES, Task, summed


@dataclass(frozen=True)
class LocalScoresQuestion:
    """Parameters of scikit-learn's ``SVC``; kernel, class weights and scaling are in the run's terms."""

    C: float
    gamma: float  # 0 for 'scale'


@dataclass(frozen=True)
class LocalScoresAnswer:
    """Counts of test rows, by true and predicted class."""

    confusion: Floats = summed(COUNT, shape=("classes", "classes"), count=True)
    squares: Floats = summed(SQUARES, shape=(-1, -1), count=True)  # see patient_squares


LOCAL_SCORES = Task("local_scores", "evaluate", LocalScoresQuestion, LocalScoresAnswer)
"""Answered once a run: counts by two settings would differ in the test rows that change sides."""

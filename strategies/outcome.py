"""What a strategy has brought about: everything downstream reads this, and nothing asks which strategy it was."""

from dataclasses import dataclass, field
from typing import Any

from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.model import Model


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    A section of the report appears where the figures are that it shows (:mod:`strategies.report.section`), so that a
    strategy names no section.
    """

    model: Model | None = None  # what was trained; None if no model leaves the sites, or none is made
    # How good it is on the test rows of all sites; None if it was not tried.
    evaluation: Evaluation | None = None
    # What else is worth knowing of the run, ready for JSON: more entries of ``result.json``. What every run has (rows,
    # sites, round trips, bytes, seconds, what left) is known from the federation.
    figures: dict[str, Any] = field(default_factory=dict)

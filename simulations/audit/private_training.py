"""Private training: sums with noise for differential privacy, which leave no row alone, whatever is combined."""

from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_SCORES, PRIVATE_STEP, RANGES
from flower_pansvm.systems.evaluation import MODEL_TEST
from simulations.audit.phase import PHASES, Phase


@PHASES.register("private_training")
class PrivateTrainingAudit(Phase):
    """Looked at: what they tell of a row is bounded by a proof, and a test tries to refute it.

    The ends of columns, disclosed by simulated sites only, are single cells; the result says so.
    """

    tasks = tuple(
        task.name
        for task in (PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_STEP, PRIVATE_SCORES, MODEL_TEST, RANGES)
    )

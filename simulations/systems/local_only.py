"""Local training: counts of test rows, in which no training row is."""

from flower_pansvm.systems.local_only import LOCAL_SCORES
from simulations.systems.system import SYSTEMS, SystemWords


@SYSTEMS.register("local-only")
class LocalOnlyWords(SystemWords):
    """Looked at, and found to be sums over test rows only.

    What the counts say of the models that they come from, and so of the training rows, is not examined.
    """

    words = {  # noqa: RUF012
        "local_scores": (
            "Test patients by class and predicted class, by the site’s own model",
            "to say how good models of single sites are",
        ),
    }
    examined = (LOCAL_SCORES.name,)

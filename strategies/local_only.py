"""Each hospital alone: the baseline of a federation (Lu 2016's comparison with local models)."""

from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from strategies.api import (
    Federation,
    Outcome,
    PhasedStrategy,
    SvmSettings,
    evaluate_counts,
    join,
    wrong_squares,
)


def local_question(settings: SvmSettings) -> LocalScoresQuestion:
    """Return the question with the SVM's C and gamma; gamma 0 stands for ``scale``, which each site computes."""
    (C,), (gamma,) = settings.C_values, settings.gamma_values(0.0)
    return LocalScoresQuestion(C, gamma)


class LocalOnly(PhasedStrategy):
    """Every site trains scikit-learn's SVC on its own rows, and predicts its own test rows.

    Only the counts of test rows leave, summed over the sites.
    """

    settings_class = SvmSettings
    settings: SvmSettings
    makes_model = False

    def fit(self, federation: Federation) -> Outcome:
        """Have the sites train and count; AUC is not measured, as decision values stay at the sites."""
        with federation.costs.phase("join"):
            join(federation, self.settings)
        with federation.costs.phase("local training"):
            counts = federation.secure_sum(
                LOCAL_SCORES, local_question(self.settings), relations=wrong_squares
            )
        return Outcome(evaluation=evaluate_counts(counts.confusion, counts.squares))

"""Each hospital alone: what a federation has to be better than (Lu 2016's comparison with local models)."""

from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.steps.joining import join
from strategies.steps.scoring import evaluate_counts
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import SvmSettings


def local_question(settings: SvmSettings) -> LocalScoresQuestion:
    """Return what the sites are told of their SVM; of gamma 0 for ``scale``, which is each site's own."""
    (C,), (gamma,) = settings.C_values, settings.gamma_values(0.0)
    return LocalScoresQuestion(C, gamma)


@strategies.register("local-only")
class LocalOnly(PhasedStrategy):
    """Every site trains scikit-learn's SVC on its own rows, and predicts its own test rows.

    Only the counts of test rows leave, summed over the sites; no model does.
    """

    settings_class = SvmSettings
    settings: SvmSettings
    makes_model = False

    def fit(self, federation: Federation) -> Outcome:
        """Have the sites train and count; AUC is not measured, as decision values stay at the sites."""
        with federation.costs.phase("join"):
            join(federation, self.settings)
        with federation.costs.phase("local training"):
            counts = federation.secure_sum(LOCAL_SCORES, local_question(self.settings)).confusion
        return Outcome(evaluation=evaluate_counts(counts))

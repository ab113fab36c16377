"""Each hospital alone: what a federation has to be better than (Lu 2016's comparison with local models)."""

from dataclasses import dataclass

from flower_pansvm.errors import SettingError
from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.steps.joining import join
from strategies.steps.scoring import evaluate_counts
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import SvmSettings


@dataclass(frozen=True)
class LocalOnlySettings(SvmSettings):
    """Those of an SVM; C and gamma cannot be left to cross-validation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tunes:
            raise SettingError(
                f"C or gamma is 'auto', but {self.strategy} does not choose them: every site trains with the run's. "
                "Give numbers, or gamma='scale'; 'pansvm tune' chooses them with pan-svm."
            )

    def question(self) -> LocalScoresQuestion:
        """Return what the sites are told of their SVM."""
        gamma = self.gamma if isinstance(self.gamma, float) else 0.0
        return LocalScoresQuestion(float(self.C or 0), gamma)


@strategies.register("local-only")
class LocalOnly(PhasedStrategy):
    """Every site trains scikit-learn's SVC on its own rows, and predicts its own test rows.

    Only the counts of test rows leave, summed over the sites; no model does.
    """

    settings_class = LocalOnlySettings
    settings: LocalOnlySettings
    makes_model = False

    def fit(self, federation: Federation) -> Outcome:
        """Have the sites train and count; AUC is not measured, as decision values stay at the sites."""
        with federation.costs.phase("join"):
            join(federation, self.settings)
        with federation.costs.phase("local training"):
            counts = federation.secure_sum(LOCAL_SCORES, self.settings.question()).confusion
        evaluation = evaluate_counts(counts)
        return Outcome(evaluation=evaluation, figures={"confusion": counts.astype(int).tolist()})

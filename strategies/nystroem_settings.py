"""The settings of whatever trains linear SVMs on a Nyström map of landmarks."""

from dataclasses import dataclass

from flower_pansvm import terms
from flower_pansvm.errors import SettingError
from flower_pansvm.setting_values import setting, whole
from strategies.setting_kinds import amounts, or_word, share_or_count
from strategies.svm_settings import SvmSettings


@dataclass(frozen=True)
class NystroemSettings(SvmSettings):
    """Landmarks, besides those of an SVM; ``None`` is what a user calls auto."""

    landmarks: float | None = setting(
        None,
        or_word("auto", share_or_count()),
        "A share of all rows, or how many; auto: a quarter, at most 500.",
    )
    min_cluster: int = setting(
        terms.MIN_CLUSTER, whole(1), "Fewest rows behind a landmark or a mixture's component."
    )
    class_weights: tuple[float, ...] | None = setting(
        None,
        or_word("auto", amounts()),
        "What a row of each class weighs, by commas in the order of the classes; needs class-weight=balanced, with "
        "which sites accept weights. auto: as class-weight says.",
    )

    def __post_init__(self) -> None:
        """Check that sites will accept the weights."""
        super().__post_init__()
        if self.class_weights is not None and self.class_weight != "balanced":
            raise SettingError(
                "class-weights says what the classes' rows weigh, and sites accept weights in runs with "
                "class-weight=balanced only. Set both."
            )

    def gamma_values(self, scale: float) -> tuple[float, ...]:
        """Return the values of gamma to try, given what ``scale`` stands for: the one of the settings."""
        return (self.gamma if isinstance(self.gamma, float) else scale,)

    def landmark_count(self, rows: int) -> int:
        """Return how many landmarks the federation asks its sites for, given all training rows.

        Raises
        ------
        SettingError
            If it is more than there are rows.
        """
        if self.landmarks is None:
            return max(1, min(rows // 4, 500))
        count = max(1, int(self.landmarks * rows)) if self.landmarks < 1 else int(self.landmarks)
        if count > rows:
            raise SettingError(
                f"landmarks is {count}, but all sites together train on {rows} rows. Ask for fewer landmarks, or "
                "for a share of the rows such as landmarks=0.25."
            )
        return count

"""The settings of PAN-SVM, and of the strategies that train its models."""

from dataclasses import dataclass

from flower_pansvm.setting_values import key_of, one_of, setting, whole
from strategies.nystroem_settings import NystroemSettings
from strategies.setting_kinds import flag, number, or_word, positives

GAMMA_FACTORS = (0.0625, 0.25, 1.0, 4.0)
"""The default grid of gamma, in shares of ``scale``."""

PUBLISHED = {
    "privacy": "exact",
    "scaling": "minmax",
    "min_cluster": 1,
    "multi_class": "ovr",
}
"""What belongs to the algorithms of Lu 2016 besides the search, and is not at its default here or may be changed. The
scaling is not stated there; its figures fit [-1, 1] best."""


@dataclass(frozen=True)
class PanSvmSettings(NystroemSettings):
    """The settings of PAN-SVM; ``None`` is what a user calls auto."""

    multi_class: str = setting(
        "ovr", one_of("ovr", "ovo"), "One versus the rest, as the paper, or one versus one."
    )
    probability: bool = setting(
        False,
        flag(),
        "Whether the model gives probabilities: a model more for each fold, in the same messages.",
    )
    cv_folds: int = setting(5, whole(2), "Folds of cross-validation.")
    C_grid: tuple[float, ...] = setting(
        (0.25, 1.0, 4.0, 16.0, 64.0, 256.0), positives(), "Values of C that cross-validation tries."
    )
    gamma_grid: tuple[float, ...] | None = setting(
        None,
        or_word("auto", positives()),
        "Values of gamma that cross-validation tries; auto: a sixteenth, a quarter, one and four times scale.",
    )
    tol: float = setting(0.02, number(above=0), "Relative gap at which training stops.")
    search: str = setting(
        "fast", one_of("fast", "published"), "Where cutting planes are asked for; published: as in the paper."
    )
    warm_start: bool = setting(
        True, flag(), "Whether the sites' own models give the first point; not with search=published."
    )

    @property
    def folds(self) -> int:
        """Folds that the sites deal their training rows to; 0 if nothing needs them."""
        return self.cv_folds if self.tunes or self.probability or self.selects else 0

    @property
    def unpublished(self) -> list[str]:
        """What else to set for the algorithms as published (Lu 2016); nothing with ``search=fast``."""
        if self.search != "published":
            return []
        return [
            f"{key_of(name)}={value}" for name, value in PUBLISHED.items() if getattr(self, name) != value
        ]

    @property
    def C_values(self) -> tuple[float, ...]:
        """The values of C to try: those of the grid, or the one that is given."""
        return self.C_grid if self.C is None else (self.C,)

    def gamma_values(self, scale: float) -> tuple[float, ...]:
        """Return the values of gamma to try, given what ``scale`` stands for; a linear kernel has only one."""
        if not self.tunes_gamma:
            return super().gamma_values(scale)
        if self.gamma_grid is None:
            # Rounded, so that a person can give the chosen value again.
            return tuple(float(f"{factor * scale:.4g}") for factor in GAMMA_FACTORS)
        return self.gamma_grid

"""The settings of strategies that train SVMs: of all, of those on a map of landmarks, and of PAN-SVM."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from flower_pansvm import terms
from flower_pansvm.constraints import key_of, number, one_of, setting, whole
from flower_pansvm.errors import SettingError
from strategies.constraints import flag, number_or_grid, numbers, or_word, share_or_count
from strategies.settings import Settings, term

C_GRID = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)
"""Values of C for ``auto``."""

GAMMA_FACTORS = (0.0625, 0.25, 1.0, 4.0)
"""Values of gamma for ``auto``, in shares of ``scale``."""

PUBLISHED = {"privacy": "exact", "scaling": "minmax", "min_cluster": 1, "multi_class": "ovr"}
"""Settings of the algorithms of Lu 2016, besides the search, that may differ here. The paper does not state the
scaling; its figures fit [-1, 1] best."""


@dataclass(frozen=True)
class KernelSettings(Settings):
    """The kernel. Defaults are those of scikit-learn; cross-validation chooses among several values."""

    kernel: str = term("kernel")
    gamma: float | tuple[float, ...] | Literal["scale"] | None = setting(
        "scale",
        or_word("auto", or_word("scale", number_or_grid(), "scale")),
        "Of the kernel, as in scikit-learn's SVC. Cross-validation chooses among several; auto: a sixteenth, a "
        "quarter, one and four times scale.",
    )

    cross_validates: ClassVar[bool] = False
    """Whether cross-validation may choose C and gamma."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tunes and not self.cross_validates:
            raise SettingError(
                f"Several values of C or gamma, or 'auto', are given, but {self.strategy} does not choose among them. "
                "Give one number each, or gamma='scale'; 'pansvm tune' chooses with pan-svm."
            )

    @property
    def tunes(self) -> bool:
        """Whether cross-validation chooses a setting."""
        return self.tunes_gamma

    @property
    def tunes_gamma(self) -> bool:
        """Whether cross-validation chooses gamma; a linear kernel has none."""
        return (self.gamma is None or isinstance(self.gamma, tuple)) and self.kernel != "linear"

    def gamma_values(self, scale: float) -> tuple[float, ...]:
        """Return the candidate values of gamma, given the value of ``scale``; a linear kernel has only one."""
        if isinstance(self.gamma, tuple) and self.tunes_gamma:
            return self.gamma
        if self.tunes_gamma:
            # Rounded, so that a user can set the chosen value again.
            return tuple(float(f"{factor * scale:.4g}") for factor in GAMMA_FACTORS)
        return (self.gamma if isinstance(self.gamma, float) else scale,)


@dataclass(frozen=True)
class SvmSettings(KernelSettings):
    """Penalty, scaling and the weights of classes, besides the kernel."""

    C: float | tuple[float, ...] = setting(
        1.0,
        or_word("auto", number_or_grid(), C_GRID),
        "Penalty of rows on the wrong side. Cross-validation chooses among several; auto: 0.25, 1, 4, 16, 64, 256.",
    )
    scaling: str = term("scaling")
    class_weight: str | tuple[float, ...] = setting(
        "none",
        or_word("none", or_word("balanced", numbers(above=0), "balanced"), "none"),
        "balanced: both sides of each binary problem have the same weight; or weights of the classes in "
        "their order, comma-separated.",
    )

    weighs_classes: ClassVar[bool] = False
    """Whether ``class_weight`` may be a list."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.class_weight, tuple) and not self.weighs_classes:
            raise SettingError(
                f"class-weight is a list, but {self.strategy} accepts only none and balanced. Choose one of them."
            )

    @property
    def tunes(self) -> bool:
        """Whether cross-validation chooses C or gamma."""
        return isinstance(self.C, tuple) or super().tunes

    @property
    def C_values(self) -> tuple[float, ...]:
        """The candidate values of C, or the given one."""
        return self.C if isinstance(self.C, tuple) else (self.C,)


@dataclass(frozen=True)
class NystroemSettings(SvmSettings):
    """Landmarks, besides the settings of an SVM; ``None`` stands for auto."""

    weighs_classes: ClassVar[bool] = True

    landmarks: float | None = setting(
        None,
        or_word("auto", share_or_count()),
        "Landmarks, a share of all rows or a number; auto: a quarter, at most 500.",
    )
    min_cluster: int = setting(
        terms.MIN_CLUSTER, whole(1), "Fewest patients behind a landmark or a mixture's component."
    )
    search: str = setting(
        "fast",
        one_of("fast", "published"),
        "Search of the optimum; published: cutting planes or ADMM as in the papers.",
    )

    def landmark_count(self, rows: int) -> int:
        """Return the number of landmarks that the sites are asked for, given all training rows.

        Raises
        ------
        SettingError
            If there are fewer rows.
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


@dataclass(frozen=True)
class PanSvmSettings(NystroemSettings):
    """The settings of PAN-SVM."""

    cross_validates: ClassVar[bool] = True

    multi_class: str = setting("ovr", one_of("ovr", "ovo"), "One-vs-rest, as in the paper, or one-vs-one.")
    probability: bool = setting(
        False,
        flag(),
        "Whether the model gives probabilities, by one more model for each fold in the same messages. Several classes, "
        "one-vs-rest without weights, are then predicted by the largest.",
    )
    cv_folds: int = setting(5, whole(2), "Folds of cross-validation.")
    threshold: float = setting(
        0.0,
        number(least=0, below=1),
        "Probability from which on the positive class of two is predicted; 0: the SVM's own boundary.",
    )
    sensitivity: float = setting(
        0.0,
        number(least=0, below=1),
        "Instead of a threshold: the share of test patients with the positive class that it finds.",
    )
    # Nearer to the optimum the rounding of secure sums decides which bound is the larger one.
    tol: float = setting(0.02, number(least=1e-9), "Relative gap at which training stops.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold and self.sensitivity:
            raise SettingError("threshold and sensitivity both decide predictions. Leave one of them out.")
        if self.sensitivity and not self.test_fraction:
            raise SettingError("test-fraction is 0, so sensitivity has no records. Leave one of them out.")
        if self.threshold and not self.probability:
            raise SettingError(
                f"threshold is a probability ({self.threshold:g}), but the model would give none. Set "
                "probability=true, or set the share of patients to find: sensitivity=0.9."
            )

    @property
    def folds(self) -> int:
        """Number of folds of the sites' training rows; 0 without folds."""
        return self.cv_folds if self.tunes or self.probability or self.selects else 0

    @property
    def unpublished(self) -> list[str]:
        """Further settings for the algorithms as published (Lu 2016); empty with ``search=fast``."""
        if self.search != "published":
            return []
        return [
            f"{key_of(name)}={value}" for name, value in PUBLISHED.items() if getattr(self, name) != value
        ]

"""The settings of whatever trains a support vector machine: those that scikit-learn's ``SVC`` has as well."""

from dataclasses import dataclass
from typing import Literal

from flower_pansvm.setting_values import setting
from strategies.setting_kinds import number, or_word
from strategies.settings import Settings, term


@dataclass(frozen=True)
class SvmSettings(Settings):
    """Scaling, kernel and penalty. Defaults are those of scikit-learn; ``None`` is what a user calls auto."""

    scaling: str = term("scaling")
    kernel: str = term("kernel")
    gamma: float | Literal["scale"] | None = setting(
        "scale",
        or_word("auto", or_word("scale", number(above=0), "scale")),
        "Of the kernel, as in scikit-learn's SVC; auto: chosen by cross-validation.",
    )
    C: float | None = setting(
        1.0,
        or_word("auto", number(above=0)),
        "Penalty of rows on the wrong side; auto: chosen by cross-validation.",
    )
    class_weight: str = term("class_weight")

    @property
    def tunes(self) -> bool:
        """Whether C or gamma is to be chosen by cross-validation."""
        return self.C is None or self.tunes_gamma

    @property
    def tunes_gamma(self) -> bool:
        """Whether gamma is to be chosen; a linear kernel has none."""
        return self.gamma is None and self.kernel != "linear"

"""Settings of the strategies with differential privacy."""

import math
from dataclasses import dataclass

from flower_pansvm.constraints import number, setting
from flower_pansvm.errors import SettingError
from flower_pansvm.privacy.accountant import LARGEST_DELTA, LARGEST_EPSILON
from strategies.settings import Settings


@dataclass(frozen=True)
class PromiseSettings(Settings):
    """The guarantee of differential privacy."""

    epsilon: float = setting(1.0, number(above=0), "Epsilon of differential privacy, at most 20.")
    delta: float = setting(1e-5, number(above=0), "Delta of differential privacy, at most 0.001.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > LARGEST_EPSILON:
            raise SettingError(
                f"epsilon is {self.epsilon:g}. Such a guarantee is worthless: a patient's record may change the odds "
                f"of a conclusion by a factor of {math.exp(min(self.epsilon, 700)):.0e}. Set {LARGEST_EPSILON:g} or "
                "less; 1 is usual. For a run without differential privacy choose another strategy."
            )
        if self.delta > LARGEST_DELTA:
            raise SettingError(f"delta is {self.delta:g}, but it must be at most {LARGEST_DELTA:g}.")

    @property
    def from_simulated_rows(self) -> list[str]:
        """Inputs that count as public but come from simulated sites' rows, which the guarantee does not cover."""
        if self.schema:
            return []
        return [
            f"the {inputs}, which come from the simulated sites' rows"
            for inputs in ("ranges of the columns", "names of the classes")
        ]

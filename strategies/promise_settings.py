"""Settings of the strategies that promise differential privacy."""

import math
from dataclasses import dataclass

from flower_pansvm.constraints import number, setting
from flower_pansvm.errors import SettingError
from flower_pansvm.privacy.accountant import LARGEST_DELTA, LARGEST_EPSILON
from strategies.settings import Settings


@dataclass(frozen=True)
class PromiseSettings(Settings):
    """The promise, and what is public."""

    epsilon: float = setting(
        1.0,
        number(above=0),
        "Epsilon of differential privacy, at most 20.",
    )
    delta: float = setting(1e-5, number(above=0), "Delta of differential privacy, at most 0.001.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > LARGEST_EPSILON:
            raise SettingError(
                f"epsilon is {self.epsilon:g}. Such a promise is worth nothing: the odds of whatever is said of a "
                f"patient may change by a factor of {math.exp(min(self.epsilon, 700)):.0e} by taking part. Give "
                f"{LARGEST_EPSILON:g} or less; 1 is usual. For a run without a promise choose another strategy."
            )
        if self.delta > LARGEST_DELTA:
            raise SettingError(f"delta is {self.delta:g}, but it must be at most {LARGEST_DELTA:g}.")

    @property
    def from_simulated_rows(self) -> list[str]:
        """What is taken for public and comes from simulated sites' rows, so that no promise covers it."""
        if self.schema:
            return []
        return [
            f"the {what}, which were taken from the simulated sites' rows"
            for what in ("ends of the columns", "names of the classes")
        ]

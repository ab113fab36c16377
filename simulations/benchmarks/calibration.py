"""How far probabilities agree with outcomes: ``python -m simulations.benchmarks calibration --data-dir DIR``.

Of true test records, at each level. At level `perturbed` probabilities are fitted on copies, in which labels were drawn
anew and cells have noise, and are corrected for both.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.benchmarks.level_costs import NOISES
from simulations.benchmarks.results import results_of
from simulations.engines.in_process import train_in_process
from strategies.results import describe
from strategies.settings import settings_from

DATA = ("breast_cancer", "heart", "diabetes", "australian", "ionosphere", "sonar")
REPEATS = 10


def lines(data_dir: Path, repeats: int = REPEATS, cluster: str = "") -> Iterator[dict[str, Any]]:
    """Yield slope, intercept and Brier score of each split into halves, set and level; 1, 0 and 0 are ideal."""
    at = [(level, noise) for level, noises in NOISES.items() for noise in noises]
    calls = [(data_dir, data, *level, seed) for data, level, seed in product(DATA, at, range(repeats))]
    found = results_of(line, calls, cluster)
    yield from (found[call] for call in calls)


def line(data_dir: Path, data: str, level: str, noise: float, seed: int) -> dict[str, Any]:
    """Train on half of a set, and return how its probabilities agree with the outcomes of the other half."""
    asked: dict[str, Scalar] = {"data": data, "data-dir": str(data_dir), "privacy": level}
    settings = settings_from(
        {**asked, "noise": noise, "seed": seed, "probability": True, "test-fraction": 0.5}
    )
    agreement = describe(train_in_process(settings), settings)["agreement"]
    return {
        "data": data,
        "level": level,
        "noise": None if level == "exact" else noise,
        "seed": seed,
        **{name: agreement[name] for name in ("slope", "intercept", "brier")},
    }


TABLES = {"splits": lines}

"""How far probabilities agree with outcomes: ``python -m simulations.benchmarks calibration --data-dir DIR``.

Of true test records, at each level. At level `perturbed` probabilities are fitted on copies, in which labels were drawn
anew and cells have noise, and are corrected for both.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.benchmarks.level_costs import NOISES
from simulations.engines.running import train_in_process
from strategies.results import describe
from strategies.settings import settings_from

DATA = ("breast_cancer", "heart", "diabetes", "australian", "ionosphere", "sonar")
REPEATS = 10


def lines(data_dir: Path, repeats: int = REPEATS) -> Iterator[dict[str, Any]]:
    """Yield slope, intercept and Brier score of each split into halves, set and level; 1, 0 and 0 are ideal."""
    for data in DATA:
        for level, noise in ((level, noise) for level, noises in NOISES.items() for noise in noises):
            for seed in range(repeats):
                asked: dict[str, Scalar] = {"data": data, "data-dir": str(data_dir), "privacy": level}
                settings = settings_from(
                    {**asked, "noise": noise, "seed": seed, "probability": True, "test-fraction": 0.5}
                )
                agreement = describe(train_in_process(settings), settings)["agreement"]
                yield {
                    "data": data,
                    "level": level,
                    "noise": None if level == "exact" else noise,
                    "seed": seed,
                    **{name: agreement[name] for name in ("slope", "intercept", "brier")},
                }


TABLES = {"splits": lines}

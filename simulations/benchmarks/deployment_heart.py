"""What a run costs four heart hospitals: ``python -m simulations.benchmarks deployment_heart --data-dir DIR``.

The hospitals are those of UCI Heart Disease; they run as those of ``deployment``.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.benchmarks.deployment import costs_of_study
from simulations.benchmarks.hospitals import HOSPITALS

SYSTEMS: Mapping[str, Mapping[str, Scalar]] = {
    "pan-svm": {"strategy": "pan-svm", "privacy": "perturbed", "noise": 0.5},
    "dp-svm": {"strategy": "dp-svm"},
}
"""Settings, all others as they are without a choice."""

RUNS = 3
RANGES = {
    **{"age": (0, 120), "sex": (0, 1), "cp": (1, 4), "trestbps": (0, 250), "chol": (0, 700), "fbs": (0, 1)},
    **{"restecg": (0, 2), "thalach": (40, 220), "exang": (0, 1), "oldpeak": (-4, 8), "slope": (1, 3)},
    **{"ca": (0, 3), "thal": (3, 7)},
}
SCHEMA = "classes = [0, 1, 2, 3, 4]\npositive = [1, 2, 3, 4]\n" + "".join(
    f"columns.{name}.range = [{low}, {high}]\n" for name, (low, high) in RANGES.items()
)


def lines(data_dir: Path, runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many runs of each system."""
    tables = {name: (data_dir / f"heart-{name}.csv.gz").absolute() for name in HOSPITALS}
    for system, settings in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as name:
            for line in costs_of_study(Path(name), tables, settings, SCHEMA, runs):
                yield {"system": system, **line}


TABLES = {"runs": lines}

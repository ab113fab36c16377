"""What a run leaves in its folder: ``model.npz``, ``result.json``, and ``grid.csv`` if it had a model to choose."""

import csv
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from strategies.settings import Settings
from strategies.strategy import PhasedStrategy

MODEL_FILE = "model.npz"
RESULT_FILE = "result.json"
GRID_FILE = "grid.csv"
PACKAGES = ("flower-pansvm", "flwr", "numpy", "scipy", "scikit-learn", "piqp", "cryptography")


def describe(strategy: PhasedStrategy, settings: Settings) -> dict[str, Any]:
    """Return everything worth knowing about a finished run, ready for JSON.

    Parameters
    ----------
    strategy : PhasedStrategy
        The strategy after :meth:`~strategies.strategy.PhasedStrategy.start`.
    settings : Settings
        The run's settings.
    """
    federation, model, evaluation = strategy.federation, strategy.model, strategy.evaluation
    costs = federation.costs
    return {
        "strategy": settings.strategy,
        "aggregation": settings.aggregation,
        "sites": len(federation.sites),
        "rows_test": evaluation.rows,
        "classes": list(model.schema_.classes),
        "features": model.n_features_in_,
        "accuracy": evaluation.accuracy,
        "balanced_accuracy": evaluation.balanced_accuracy,
        "f1": evaluation.f1,
        "auc": evaluation.auc,
        **strategy.figures(),
        "round_trips": costs.round_trips,
        "bytes_up": costs.bytes_up,
        "bytes_down": costs.bytes_down,
        "seconds": {phase: round(seconds, 3) for phase, seconds in costs.seconds.items()},
        "disclosed": costs.disclosed(),
        "dropped_sites": costs.dropped,
        "model_sha256": model.sha256(),
        "versions": {"python": platform.python_version(), **_versions()},
        "config": settings.to_config(),
    }


def write(folder: Path, strategy: PhasedStrategy, settings: Settings) -> None:
    """Write the model and the description of the run into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    strategy.model.save(folder / MODEL_FILE)
    result = describe(strategy, settings)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / RESULT_FILE).write_text(text + "\n", encoding="utf-8")
    if result.get("chosen") is not None:
        grid = result["chosen"]["grid"]
        with (folder / GRID_FILE).open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, grid[0])
            lines.writeheader()
            lines.writerows(grid)


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found

"""What a run leaves in its folder: ``model.npz``, ``result.json``, and ``grid.csv`` if it had a model to choose."""

import csv
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flower_pansvm.schema import Schema
from strategies.elimination import Elimination
from strategies.model_choice import Choice
from strategies.pan_svm import PanSVM
from strategies.selection.outcome import Selection
from strategies.settings import Settings

MODEL_FILE = "model.npz"
RESULT_FILE = "result.json"
GRID_FILE = "grid.csv"
PACKAGES = ("flower-pansvm", "flwr", "numpy", "scipy", "scikit-learn", "piqp", "cryptography")


def describe(strategy: PanSVM, settings: Settings) -> dict[str, Any]:
    """Return everything worth knowing about a finished run, ready for JSON.

    Parameters
    ----------
    strategy : PanSVM
        The strategy after :meth:`~strategies.strategy.PhasedStrategy.start`.
    settings : Settings
        The run's settings.
    """
    federation, model, evaluation = strategy.federation, strategy.model, strategy.evaluation
    costs = federation.costs
    solved = strategy.training.progress[: len(model.pairs_)]
    objectives = [
        {
            "problem": state.problem.name,
            "upper": state.upper,
            "lower": state.lower,
            "gap": state.honest_gap,
            "noise": state.noise,
        }
        for state in solved
    ]
    return {
        "strategy": settings.strategy,
        "aggregation": settings.aggregation,
        "sites": len(federation.sites),
        "rows_train": int(strategy.training.rows.sum()),
        "rows_test": evaluation.rows,
        "classes": list(model.schema_.classes),
        "features": model.n_features_in_,
        "landmarks": strategy.landmarks_used,
        "rank": model.feature_map_.rank,
        "accuracy": evaluation.accuracy,
        "balanced_accuracy": evaluation.balanced_accuracy,
        "f1": evaluation.f1,
        "auc": evaluation.auc,
        "objective": objectives[0] if len(objectives) == 1 else objectives,
        "converged": all(state.met(settings.tol) for state in solved),
        "convergence": strategy.training.history[: len(model.pairs_)],
        "chosen": _chosen(strategy.choice, settings.kernel),
        **(
            _selected(strategy.selection, strategy.subsets.schema)
            if isinstance(strategy, Elimination)
            else {}
        ),
        "round_trips": costs.round_trips,
        "cut_rounds": max(state.rounds for state in strategy.training.progress),
        "bytes_up": costs.bytes_up,
        "bytes_down": costs.bytes_down,
        "seconds": {phase: round(seconds, 3) for phase, seconds in costs.seconds.items()},
        "disclosed": costs.disclosed(),
        "dropped_sites": costs.dropped,
        "model_sha256": model.sha256(),
        "versions": {"python": platform.python_version(), **_versions()},
        "config": settings.to_config(),
    }


def write(folder: Path, strategy: PanSVM, settings: Settings) -> None:
    """Write the model and the description of the run into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    strategy.model.save(folder / MODEL_FILE)
    result = describe(strategy, settings)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / RESULT_FILE).write_text(text + "\n", encoding="utf-8")
    if result["chosen"] is not None:
        grid = result["chosen"]["grid"]
        with (folder / GRID_FILE).open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, grid[0])
            lines.writeheader()
            lines.writerows(grid)


def _chosen(choice: Choice | None, kernel: str) -> dict[str, Any] | None:
    """Return what cross-validation has found, best first; a point that failed has no accuracy but the reason."""
    if choice is None:
        return None
    grid = [
        {
            "C": point.C,
            "gamma": None if kernel == "linear" else point.gamma,
            "accuracy": None if point.failure else point.accuracy,
            "deviation": None if point.failure else point.deviation,
            "gap": None if point.failure else point.gap,
            "failure": point.failure,
        }
        for point in choice.ranked
    ]
    return {"C": grid[0]["C"], "gamma": grid[0]["gamma"], "cut_rounds": choice.cut_rounds, "grid": grid}


def _selected(selection: Selection, schema: Schema) -> dict[str, Any]:
    """Return what a feature selection has found, features by their names."""

    def names(features: Iterable[int]) -> list[str]:
        return [schema.columns[one] for one in features]

    screening = selection.screening
    return {
        "ranking": names(selection.ranking),
        "selected": names(selection.selected),
        "accuracy_by_count": [asdict(point) for point in selection.points],
        "votes": [
            {
                **asdict(step),
                "candidates": {name: names(own) for name, own in step.candidates.items()},
                "removed": names(step.removed),
            }
            for step in selection.steps
        ],
        "filters": None
        if screening is None
        else {
            "thresholds": dict(screening.thresholds),
            "passed": dict(screening.passed),
            "kept": names(screening.kept),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found

"""What a run leaves in its folder: ``result.json``, and ``model.npz`` if it made a model."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from strategies.settings import Settings
from strategies.shares import all_right, balanced_interval, classes_not_tested
from strategies.strategy import PhasedStrategy

MODEL_FILE = "model.npz"
RESULT_FILE = "result.json"
ONCE_MORE = "Copy it again from where it was written, or run the training again."
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
    federation, outcome = strategy.federation, strategy.outcome
    model, costs = outcome.model, federation.costs
    schema = federation.schema if model is None else model.schema_
    rows = federation.rows
    # A site with too few rows of a class does not name it.
    one_class = [name for name, site in federation.sites.items() if len(site.classes) == 1]
    result = {
        "strategy": settings.strategy,
        "aggregation": settings.aggregation,
        "level": settings.level,
        "noise": settings.noise if settings.level == "perturbed" else None,
        "tested_on": federation.tested_on,
        "sites": len(federation.sites),
        "rows_train": None if rows is None else int(rows.train.sum()),
        "classes": None if schema is None else list(schema.classes),
        "features": None if schema is None else len(schema.columns),
        **_of_test(outcome.evaluation or Evaluation(0, None, None, None, None)),
        "rows_train_by_class": None if rows is None else rows.train.sum(axis=0).astype(int).tolist(),
        **outcome.figures,
        "round_trips": costs.round_trips,
        "bytes_up": costs.bytes_up,
        "bytes_down": costs.bytes_down,
        "phases": {
            phase: {kind: round(count, 3) for kind, count in counts.items()}
            for phase, counts in costs.phases.items()
        },
        "disclosed": costs.disclosed(),
        "site_names": list(federation.sites),
        "sites_with_one_class": one_class,
        "site_differences": federation.differences,
        "dropped_sites": costs.dropped,
        "model_sha256": None if model is None else model.sha256(),
        "model_kind": None if model is None else model.kind,
        "versions": {"python": platform.python_version(), **versions()},
        "config": settings.to_config(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    overall = all_right(result)
    return {
        **result,
        "accuracy_interval": overall and (overall.low, overall.high),
        "balanced_accuracy_interval": balanced_interval(result),
        "classes_not_tested": classes_not_tested(result),
    }


def _of_test(found: Evaluation) -> dict[str, Any]:
    """Return what a model did on the test rows."""
    return {
        "rows_test": found.rows,
        "accuracy": found.accuracy,
        "balanced_accuracy": found.balanced_accuracy,
        "f1": found.f1,
        "auc": found.auc,
        "confusion": found.confusion and [list(map(_whole, counts)) for counts in found.confusion],
        "wrong_and_right": found.wrong_and_right and [list(counts) for counts in found.wrong_and_right],
        "count_noise": found.count_noise,
        "decision_groups": [[asdict(group) for group in groups] for groups in found.groups] or None,
    }


def write(folder: Path, strategy: PhasedStrategy, settings: Settings) -> None:
    """Write the model, if there is one, and the description of the run into a folder, which is made if need be."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if strategy.outcome.model is None:
        # One of an earlier run would be taken for this one's.
        (folder / MODEL_FILE).unlink(missing_ok=True)
    else:
        strategy.outcome.model.save(folder / MODEL_FILE)
    write_result(folder, describe(strategy, settings))


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Write the ``result.json`` of a run's folder, which gets its name when it is complete."""
    text = json.dumps(result, indent=2, ensure_ascii=False)
    unfinished = folder / f"{RESULT_FILE}.part"
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(folder / RESULT_FILE)


def read_result(folder: Path) -> dict[str, Any]:
    """Return the ``result.json`` of a run's folder.

    Raises
    ------
    SettingError
        If the folder has none or it is damaged.
    """
    try:
        result = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{folder} has no {RESULT_FILE}. Name the folder of a finished run.") from None
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise SettingError(f"{folder / RESULT_FILE} is damaged. {ONCE_MORE}")
    return result


def _whole(count: float) -> float:
    """Return a count as a whole number unless noise has made it another."""
    return int(count) if float(count).is_integer() else count


def versions() -> dict[str, str]:
    """Return the version of each package that results depend on."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found

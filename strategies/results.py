"""The results of a run in its folder: ``result.json``, and ``model.npz`` if it has a model."""

import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any

from flower_pansvm.files import write as write_file
from flower_pansvm.metrics import DecisionGroup, Evaluation
from flower_pansvm.models.model import Model
from flower_pansvm.result_file import MODEL_FILE, write_result
from flower_pansvm.shares import all_right, area_interval, balanced_interval, classes_not_tested
from flower_pansvm.table_schema import ABOUT, TableSchema
from flower_pansvm.terms import Scalar
from flower_pansvm.thresholds import boundary_of
from strategies.federation.federation import Federation
from strategies.settings import SEPARATOR, Settings
from strategies.strategy import PhasedStrategy

PACKAGES = ("flower-pansvm", "flwr", "numpy", "scipy", "scikit-learn", "piqp", "cryptography")


PATHS = ("data", "data-dir", "schema", "out")
"""Settings that are files or folders."""


def describe(strategy: PhasedStrategy, settings: Settings) -> dict[str, Any]:
    """Return the description of a finished run for JSON.

    Parameters
    ----------
    strategy : PhasedStrategy
        The strategy after :meth:`~strategies.strategy.PhasedStrategy.start`.
    """
    federation, outcome = strategy.federation, strategy.outcome
    model, costs = outcome.model, federation.costs
    schema = federation.schema if model is None else model.schema_
    rows = federation.rows
    # A site with too few rows of a class does not name it.
    schema_file = TableSchema.from_json(schema.table) if schema is not None and schema.table else None
    patients = (None, None) if rows is None else tuple(rows.patients.astype(int).tolist())
    one_class = [name for name, site in federation.sites.items() if len(site.classes) == 1]
    result = {
        "strategy": settings.strategy,
        "aggregation": settings.aggregation,
        "level": settings.level,
        "noise": settings.noise if settings.level == "perturbed" else None,
        "tested_on": records_of_test(federation),
        "sites": len(federation.sites),
        "label": label_column(federation, schema_file),
        "patient_id": schema_file.patient_id if schema_file else None,
        "patients_train": patients[0],
        "patients_test": patients[1],
        "positive_class": schema.positive_class if schema else None,
        "positive_labels": list(schema.positive_labels) if schema else [],
        "rows_train": None if rows is None else int(rows.train.sum()),
        "classes": None if schema is None else list(schema.classes),
        "features": None if schema is None else len(schema.columns),
        "predictors": None if schema is None else predictors(schema.columns, schema_file),
        "predicted_from": boundary_of(model),
        "missing_cells": None if model is None else model.missing_cells,
        "about": {key: getattr(schema_file, key.replace("-", "_"), "") for key in ABOUT},
        **_of_test(outcome.evaluation or Evaluation(0, None, None, None, None), model),
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
        "config": shared_config(settings),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    overall = all_right(result)
    return {
        **result,
        "tested_on": None if result["accuracy"] is None else result["tested_on"],
        "accuracy_interval": overall and (overall.low, overall.high),
        "balanced_accuracy_interval": balanced_interval(result),
        "auc_interval": area_interval(result),
        "classes_not_tested": classes_not_tested(result),
    }


def shared_config(settings: Settings) -> dict[str, Scalar]:
    """Return a run config to share: files and folders by name, without their paths on this machine."""
    config = settings.to_config()
    for key in PATHS:
        names = [PurePath(path).name for path in str(config[key]).split(SEPARATOR)]
        config[key] = SEPARATOR.join(names)
    return config


def predictors(features: Sequence[str], schema: TableSchema | None) -> list[dict[str, Any]]:
    """Return the columns behind some features, each with its entry of the schema file, or its name alone."""
    if schema is None:
        return [{"name": name} for name in features]
    needed = set(features)
    return [
        {"name": column.name, **column.to_json()} for column in schema.columns if needed & {*column.features}
    ]


def label_column(federation: Federation, schema: TableSchema | None) -> str | None:
    """Return the name of the label column; None if each hospital names its own."""
    simulated = all(site.simulated for site in federation.sites.values())
    return federation.settings.label or (schema.label if schema else "") or ("label" if simulated else None)


def records_of_test(federation: Federation) -> str:
    """Tell whether a model's accuracy is of true test records, or at level perturbed of their copies."""
    true = federation.settings.level != "perturbed" or all(
        site.simulated for site in federation.sites.values()
    )
    return "true records" if true else "perturbed records"


def _of_test(test: Evaluation, model: Model | None = None) -> dict[str, Any]:
    """Return the figures of a model on the test rows."""
    return {
        "rows_test": test.rows,
        "accuracy": test.accuracy,
        "balanced_accuracy": test.balanced_accuracy,
        "f1": test.f1,
        "auc": test.auc,
        "auc_by_class": test.areas or None,
        "agreement": test.agreement and asdict(test.agreement),
        "confusion": test.confusion and [list(map(_whole, counts)) for counts in test.confusion],
        "wrong_and_right": test.wrong_and_right and [list(counts) for counts in test.wrong_and_right],
        "patient_squares": test.squares and [list(map(_whole, sums)) for sums in test.squares],
        "count_noise": test.count_noise,
        "bin_noise": test.bin_noise,
        "auc_noise": test.auc_noise,
        "decision_groups": [[_of_group(group, model) for group in groups] for groups in test.groups] or None,
    }


def _of_group(group: DecisionGroup, model: Model | None) -> dict[str, Any]:
    """Return a group of test rows, with the probability that a model gives its least decision value."""
    given = None if group.least is None else boundary_of(model, group.least)
    return {**asdict(group), "least_probability": given}


def write(folder: Path, strategy: PhasedStrategy, settings: Settings) -> None:
    """Write the model, if there is one, and the description of the run into a folder, which is created if missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if strategy.outcome.model is None:
        # An earlier run's model would seem to be this run's.
        (folder / MODEL_FILE).unlink(missing_ok=True)
    else:
        write_file(folder / MODEL_FILE, strategy.outcome.model.to_bytes(), overwrite=True)
    write_result(folder, describe(strategy, settings))


def _whole(count: float) -> float:
    """Return a count as a whole number unless noise has made it another."""
    return int(count) if float(count).is_integer() else count


def versions() -> dict[str, str]:
    """Return the version of each package that results depend on."""
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "not installed as a package"
    return installed

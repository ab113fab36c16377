"""Sections of the report: each appears where its figures are, in its place, and text is never taken for HTML."""

import json
from pathlib import Path
from typing import Any

from strategies.report.page import headline, write_report
from strategies.report.sections import FOR_CLINICIANS, FOR_ENGINEERS, shown

COSTS = {"round_trips": 2, "bytes_up": 1_000_000, "bytes_down": 0}
PHASE = {"seconds": 1.5, "waiting": 1.2, "work": 0.1, **COSTS}

BARE: dict[str, Any] = {
    "strategy": "another",
    "aggregation": "ring",
    "sites": 3,
    "rows_train": None,
    "rows_test": 0,
    "classes": None,
    "features": None,
    "accuracy": None,
    "balanced_accuracy": None,
    "auc": None,
    "confusion": None,
    "wrong_and_right": None,
    "count_noise": 0.0,
    "rows_train_by_class": None,
    "site_names": ["site-000"],
    "finished": "2026-11-23T00:43:44+00:00",
    "dropped_sites": [],
    "model_sha256": None,
    **COSTS,
    "phases": {"join": PHASE},
    "disclosed": [],
    "config": {"strategy": "another"},
    "versions": {"python": "3.11"},
}


def page_of(result: dict[str, Any], folder: Path) -> str:
    """Return the report of a result."""
    (folder / "result.json").write_text(json.dumps(result))
    return write_report(folder).read_text()


def titles(result: dict[str, Any]) -> list[str]:
    return [one.title for one in shown([*FOR_CLINICIANS, *FOR_ENGINEERS], result)]


def test_a_run_without_figures_of_its_own_has_the_sections_that_every_run_has() -> None:
    of_every_run = ["The patients", "What left each site", "Time", "Settings and versions"]
    assert titles(BARE) == of_every_run
    assert titles({**BARE, "chosen": None}) == titles(BARE)


def test_the_headline_of_a_run_without_model_and_evaluation() -> None:
    figures = headline(BARE)
    assert figures["test accuracy"] == "not measured"
    assert figures["rows trained on / tested on"] == "not known / 0"
    noisy = headline({**BARE, "count_noise": 2.0, "rows_test": 102})
    assert noisy["rows trained on / tested on"] == "not known / about 102"
    assert figures["model"] == "none"
    assert figures["round trips"] == "2"

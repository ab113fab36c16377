"""The page of the report: one HTML file without anything from the network, made from ``result.json``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from flower_pansvm.errors import SettingError
from simulations.report.cautions import cautions
from simulations.report.section import quoted, sections_of, some
from strategies.results import RESULT_FILE

REPORT_FILE = "report.html"

MOST_NAMED = 3
"""Classes that the title names."""


def read_result(folder: Path) -> dict[str, Any]:
    """Return the ``result.json`` of a run's folder.

    Raises
    ------
    SettingError
        If the folder has none or it is damaged.
    """
    try:
        result: dict[str, Any] = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{folder} has no {RESULT_FILE}. Name the folder of a finished run.") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise SettingError(f"{folder / RESULT_FILE} is damaged. Run the training again.") from None
    return result


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a run's folder and return its path."""
    result = read_result(folder)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("simulations", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    sections = sections_of(result)
    page = environment.get_template("page.html.j2").render(
        result=result,
        heading=heading(result),
        cautions=cautions(result),
        figures=headline(result),
        clinicians=[one for one in sections if one.for_clinicians],
        engineers=[one for one in sections if not one.for_clinicians],
    )
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def heading(result: Mapping[str, Any]) -> str:
    """Return the page's title: what the model tells apart."""
    classes = result["classes"] or []
    if not classes:
        return f"Report of a {result['strategy']} run"
    if len(classes) > MOST_NAMED:
        return f"A model that tells {len(classes)} classes apart"
    return f"A model that tells {', '.join(map(quoted, classes[:-1]))} and {quoted(classes[-1])} apart"


def headline(result: dict[str, Any]) -> dict[str, str]:
    """Return the figures a person looks for first, as text, by name."""
    sections = sections_of(result)
    trips = ", ".join(filter(None, (one.round_trips(result) for one in sections)))
    lost = ", ".join(result["dropped_sites"])
    accuracies = {
        "test accuracy": "accuracy",
        "balanced accuracy": "balanced_accuracy",
        "area under ROC curve": "auc",
    }
    return {
        **{title: _share(result[name]) for title, name in accuracies.items()},
        "rows trained on / tested on": f"{_known(result['rows_train'])} / {result['rows_test']}",
        **{name: text for one in sections for name, text in one.headline(result).items()},
        "sites": f"{result['sites']}" + (f" (lost: {lost})" if lost else ""),
        "secure sum": result["aggregation"],
        "classes": some(result["classes"] or []),
        "features": _known(result["features"]),
        "model": _known(result["model_sha256"] and result.get("model_kind", "pan-svc"), "none"),
        "round trips": f"{result['round_trips']}" + (f", of these {trips}" if trips else ""),
        "sent by / to the sites": f"{result['bytes_up'] / 1e6:.2f} MB / {result['bytes_down'] / 1e6:.2f} MB",
        "seconds": f"{sum(result['seconds'].values()):.1f}",
    }


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4f}"


def _known(value: object, otherwise: str = "not known") -> str:
    return otherwise if value is None else str(value)

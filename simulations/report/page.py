"""The page of the report: one HTML file without anything from the network, made from ``result.json``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from simulations.report.cautions import cautions
from simulations.report.section import quoted, sections_of, some, templates
from simulations.report.shares import percent
from strategies.results import ONCE_MORE, RESULT_FILE, read_result
from strategies.shares import all_right, balanced_interval, classes_not_tested

REPORT_FILE = "report.html"

MOST_NAMED = 3
"""Classes that the title names."""


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a run's folder and return its path; SettingError if its result is damaged."""
    result = read_result(folder)
    try:
        page = _page(result)
    except Exception as error:  # an entry may be missing or anything, and is looked at in many places
        raise SettingError(
            f"{folder / RESULT_FILE} does not hold what a run of this version writes ({type(error).__name__}): it was "
            f"changed or damaged, or is another version's. {ONCE_MORE}"
        ) from error
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def _page(result: dict[str, Any]) -> str:
    sections = sections_of(result)
    return (
        templates("report")
        .get_template("page.html.j2")
        .render(
            result=result,
            heading=heading(result),
            cautions=cautions(result),
            figures=headline(result),
            clinicians=[one for one in sections if one.for_clinicians],
            engineers=[one for one in sections if not one.for_clinicians],
        )
    )


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
    lost = ", ".join(result["dropped_sites"])
    overall, without = all_right(result), ""
    if names := classes_not_tested(result):
        without = f"no test row has {some(names)}"
    return {
        "test accuracy": _share(result["accuracy"], (overall.low, overall.high) if overall else None),
        "balanced accuracy": _share(result["balanced_accuracy"], balanced_interval(result), without),
        "area under ROC curve": _share(result["auc"], None, without),
        "rows trained on / tested on": f"{_known(result['rows_train'])} / {result['rows_test']}",
        **{name: text for one in sections for name, text in one.headline(result).items()},
        "sites": f"{result['sites']}" + (f" (lost: {lost})" if lost else ""),
        "secure sum": result["aggregation"],
        "classes": some(result["classes"] or []),
        "features": _known(result["features"]),
        "model": _known(result["model_sha256"] and result["model_kind"], "none"),
        "round trips": f"{result['round_trips']}",
        "sent by / to the sites": f"{result['bytes_up'] / 1e6:.2f} MB / {result['bytes_down'] / 1e6:.2f} MB",
        "seconds": f"{sum(phase['seconds'] for phase in result['phases'].values()):.1f}",
    }


def _share(value: float | None, ends: tuple[float, float] | None, note: str = "") -> str:
    text = "not measured" if value is None else f"{value:.4f}"
    between = f"95% interval {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    more = "; ".join(filter(None, (between, note)))
    return f"{text} ({more})" if more else text


def _known(value: object, otherwise: str = "not known") -> str:
    return otherwise if value is None else str(value)

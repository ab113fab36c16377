"""The page of the report: one HTML file without anything from the network, made from ``result.json``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flower_pansvm.agreement_intervals import agreement_intervals
from flower_pansvm.errors import SettingError
from flower_pansvm.files import write
from flower_pansvm.result_file import ONCE_MORE, RESULT_FILE, read_result
from flower_pansvm.shares import all_right, area_interval, balanced_interval, classes_not_tested
from flower_pansvm.thresholds import chosen_point
from strategies.report.cautions import cautions
from strategies.report.section import patient_counts, quoted, some, templates
from strategies.report.sections import FOR_CLINICIANS, FOR_ENGINEERS, shown
from strategies.report.shares import percent

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
    write(path, page, overwrite=True)
    return path


def _page(result: dict[str, Any]) -> str:
    return (
        templates("strategies/report")
        .get_template("page.html.j2")
        .render(
            result=result,
            heading=heading(result),
            cautions=cautions(result),
            doubts=result.get("table_warnings"),
            figures=headline(result),
            clinicians=shown(FOR_CLINICIANS, result),
            engineers=shown(FOR_ENGINEERS, result),
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
    sections = shown([*FOR_CLINICIANS, *FOR_ENGINEERS], result)
    lost = ", ".join(result["dropped_sites"])
    overall, without = all_right(result), ""
    about = "about " if result["count_noise"] else ""
    if names := classes_not_tested(result):
        without = f"no test row has {some(names)}"
    return {
        "test accuracy": _share(result["accuracy"], (overall.low, overall.high) if overall else None),
        "balanced accuracy": _share(result["balanced_accuracy"], balanced_interval(result), without),
        "area under ROC curve": _share(result["auc"], area_interval(result), without),
        **_of_threshold(result),
        **_of_probabilities(result),
        "rows trained on / tested on": f"{_known(result['rows_train'])} / {about}{result['rows_test']}",
        **_of_patients(result),
        **{name: text for section in sections for name, text in section.headline(result).items()},
        "sites": f"{result['sites']}" + (f" (lost: {lost})" if lost else ""),
        "secure sum": result["aggregation"],
        "classes": some(result["classes"] or []),
        **({"positive class": _positive(result)} if result.get("positive_class") else {}),
        "features": _known(result["features"]),
        "model": _known(result["model_sha256"] and result["model_kind"], "none"),
        "round trips": f"{result['round_trips']}",
        "sent by / to the sites": f"{result['bytes_up'] / 1e6:.2f} MB / {result['bytes_down'] / 1e6:.2f} MB",
        "seconds": f"{sum(phase['seconds'] for phase in result['phases'].values()):.1f}",
    }


def _of_threshold(result: Mapping[str, Any]) -> dict[str, str]:
    """Return sensitivity and specificity of the threshold of the run's settings."""
    point = chosen_point(result)
    if point is None:
        return {}
    shares = {"sensitivity": point.sensitivity, "specificity": point.specificity}
    asked = next(key for key in ("sensitivity", "threshold") if result["config"].get(key))
    about, chosen = "threshold {:g}, about", "threshold for sensitivity {:g}, chosen on the same rows"
    where = (about if asked == "threshold" else chosen).format(result["config"][asked])
    return {
        f"{name} ({where})": _share(share.value, (share.low, share.high)) for name, share in shares.items()
    }


def _of_probabilities(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the calibration figures, where the model gives probabilities."""
    names = {
        "intercept": "calibration intercept (ideal 0)",
        "slope": "calibration slope (ideal 1)",
        "brier": "Brier score",
    }
    return {
        names[name]: f"{value:.3f} (95% interval {low:.3f} to {high:.3f})"
        for name, (value, low, high) in agreement_intervals(result).items()
    }


def _of_patients(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the numbers of the rows' patients, where they may be fewer."""
    if not result.get("patient_id"):
        return {}
    return {"patients trained on / tested on": " / ".join(dict.fromkeys(patient_counts(result)))}


def _positive(result: Mapping[str, Any]) -> str:
    labels = result.get("positive_labels")
    return f"{result['positive_class']}" + (f" (labels {some(labels)})" if labels else "")


def _share(value: float | None, ends: tuple[float, float] | None, note: str = "") -> str:
    text = "not measured" if value is None else f"{value:.4f}"
    between = f"95% interval {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    more = "; ".join(filter(None, (between, note)))
    return f"{text} ({more})" if more else text


def _known(value: object, otherwise: str = "not known") -> str:
    return otherwise if value is None else str(value)

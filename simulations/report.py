"""The report of a run: one HTML file without anything from the network, made from ``result.json``."""

import io
import json
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.figure import Figure

from flower_pansvm.errors import SettingError
from simulations import selecting, tuning
from simulations.plots import convergence_figure, grid_figure, selection_figure
from strategies.results import RESULT_FILE

REPORT_FILE = "report.html"


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
        loader=jinja2.PackageLoader("simulations", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("report.html.j2").render(
        result=result,
        figures=headline(result),
        plot=_svg(convergence_figure(result)),
        grid_plot=_svg(grid_figure(result["chosen"])) if result["chosen"] else "",
        tuning=tuning,
        selection_plot=_svg(selection_figure(result)) if selecting.selects(result) else "",
        selecting=selecting,
    )
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def headline(result: dict[str, Any]) -> dict[str, str]:
    """Return the figures a person looks for first, as text, by name."""
    objective, chosen = result["objective"], result["chosen"]
    worst = max(objective if isinstance(objective, list) else [objective], key=lambda problem: problem["gap"])
    noise = f", of which {worst['noise']:.1e} noise" if worst.get("noise") else ""
    trips = f"{result['round_trips']}, of these {result['cut_rounds']} for cutting planes"
    choice = {}
    if chosen is not None:
        choice["chosen by cross-validation"] = (
            f"{tuning.point_name(chosen)}, accuracy {tuning.accuracy(chosen['grid'][0])}"
        )
        trips += f", {chosen['cut_rounds']} to choose"
    if selecting.selects(result):
        trips += f", {selecting.selection_trips(result)} to remove features"
    return {
        **choice,
        **_selection(result),
        "test accuracy": _share(result["accuracy"]),
        "balanced accuracy": _share(result["balanced_accuracy"]),
        "area under ROC curve": _share(result["auc"]),
        "rows trained on / tested on": f"{result['rows_train']} / {result['rows_test']}",
        "sites": f"{result['sites']}"
        + (f" (lost: {', '.join(result['dropped_sites'])})" if result["dropped_sites"] else ""),
        "secure sum": result["aggregation"],
        "classes": _some(result["classes"]),
        "features": str(result["features"]),
        "landmarks": f"{result['landmarks']} (rank {result['rank']})",
        "gap between bounds": f"{worst['gap']:.1e}{noise}"
        + ("" if result["converged"] else " (not converged)"),
        "round trips": trips,
        "sent by / to the sites": f"{result['bytes_up'] / 1e6:.2f} MB / {result['bytes_down'] / 1e6:.2f} MB",
        "seconds": f"{sum(result['seconds'].values()):.1f}",
    }


def _selection(result: dict[str, Any]) -> dict[str, str]:
    """Return which features were chosen and how good the models with all and with these were over the folds."""
    if not selecting.selects(result):
        return {}
    chosen = result["selected"]
    accuracies = [
        f"{selecting.accuracy(point)} with {name}" for name, point in selecting.stages(result).items()
    ]
    return {
        "chosen features": f"{len(chosen)} of {len(result['ranking'])}: {_some(chosen)}",
        "accuracy over the folds": "; ".join(accuracies),
    }


def _svg(figure: Figure | None) -> str:
    if figure is None:
        return ""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4f}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")

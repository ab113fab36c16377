"""The report of a run: one HTML file without anything from the network, made from ``result.json``."""

import io
import json
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from flower_pansvm.errors import SettingError
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
        result=result, figures=headline(result), plot=_svg(convergence_figure(result))
    )
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def headline(result: dict[str, Any]) -> dict[str, str]:
    """Return the figures a person looks for first, as text, by name."""
    objective = result["objective"]
    gaps = [problem["gap"] for problem in (objective if isinstance(objective, list) else [objective])]
    return {
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
        "gap between bounds": f"{max(gaps):.1e}" + ("" if result["converged"] else " (not converged)"),
        "round trips": f"{result['round_trips']}, of these {result['cut_rounds']} for cutting planes",
        "sent by / to the sites": f"{result['bytes_up'] / 1e6:.2f} MB / {result['bytes_down'] / 1e6:.2f} MB",
        "seconds": f"{sum(result['seconds'].values()):.1f}",
    }


def convergence_figure(result: dict[str, Any]) -> Figure:
    """Draw the relative gap of every problem against cutting-plane round trips."""
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    axes = figure.subplots()
    histories = result["convergence"]
    single = len(histories) == 1
    for index, history in enumerate(histories):
        rounds = range(1, len(history) + 1)
        gaps = [(upper - lower) / upper if upper > 0 else 0.0 for upper, lower in history]
        name = None if single else f"class {result['classes'][index]}"
        axes.semilogy(
            rounds, [max(gap, 1e-16) for gap in gaps], "o-", markersize=3.5, linewidth=1.2, label=name
        )
    tol = result["config"]["tol"]
    axes.axhline(tol, color="0.4", linewidth=0.9, linestyle="--")
    axes.annotate(
        f"stop at {tol:g}",
        (0.01, tol),
        xycoords=("axes fraction", "data"),
        ha="left",
        va="bottom",
        fontsize=8,
    )
    axes.set_xlabel("cutting-plane round trip")
    axes.set_ylabel("(upper − lower) / upper bound")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=True, which="major", color="0.9")
    if not single and len(histories) <= 12:
        axes.legend(fontsize=8, frameon=False)
    return figure


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4f}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")

"""What a section of the report is, and what fills its template."""

import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2

from flower_pansvm.lists import first_of
from flower_pansvm.site_names import simulated_name
from strategies.report.shares import count, interval, percent

if TYPE_CHECKING:
    # It takes as long to import as a short run, and a run that is not yet over draws nothing.
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
"""The content of a ``result.json``."""


def _nothing(_: Result) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    title: str
    figures: tuple[str, ...]  # entries of ``result.json``; without one, or with a null, it is left out
    html: Callable[[Result], str]  # returns what comes below its heading
    # Returns lines for the table of figures at the top, which the terminal shows too, by name.
    headline: Callable[[Result], dict[str, str]] = _nothing


@cache
def templates(*folders: str) -> jinja2.Environment:
    """Return the environment of templates in some folders, each ``package/folder``; text is never taken for HTML."""
    loaders = [jinja2.PackageLoader(*folder.split("/", 1)) for folder in folders]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.globals |= {"count": count, "interval": interval, "percent": percent, "quoted": quoted}
    return environment


def filled(file: str, name: str, /, **values: Any) -> str:
    """Return the text of a section's macro, in a file of templates, with some values."""
    module = templates("strategies/report").get_template(file).make_module(values)
    made: Callable[[], str] = getattr(module, f"section_{name}")
    return str(made())


def svg(figure: "Figure | None", says: str = "") -> str:
    """Return a plot as part of a page, with what it shows, for who cannot see it; nothing without a plot."""
    if figure is None:
        return ""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    buffer = io.StringIO()
    # Text that is text can be searched, and is read at any size.
    with mpl.rc_context({"svg.fonttype": "none"}):
        # For a figure that has a layout engine, savefig draws all of it twice. Texts are measured as SVG shows them.
        FigureCanvasSVG(figure)
        ConstrainedLayoutEngine().execute(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    drawing = text[text.index("<svg") :].replace(
        "<svg ", f'<svg role="img" aria-label="{html.escape(says)}" ', 1
    )
    return f'<div class="plot">{drawing}</div>'


def unit(result: Result) -> str:
    """Return the unit of a run's counts: patients, or rows where the schema file names the patients."""
    return "row" if result.get("patient_id") else "patient"


def simulated(result: Result) -> bool:
    """Return whether a run's sites were simulated; hospitals have names of their own."""
    return set(result["site_names"]) <= set(map(simulated_name, range(1000)))


def patient_counts(result: Result) -> tuple[str, str]:
    """Return the numbers of patients for training and test, or why they were not counted."""
    counts = result["patients_train"], result["patients_test"]
    if result.get("level") != "dp":
        reason = f"not counted by {result['strategy']}"
    elif result["config"].get("rows-per-patient", 1) == 1:
        reason = "as many as rows: one row of each takes part"
    else:
        reason = (
            f"not counted at level dp: at most {result['config']['rows-per-patient']} rows of each take part"
        )
    train, test = (reason if patients is None else f"{patients:,}" for patients in counts)
    return train, test


def some(names: Sequence[str]) -> str:
    """Return the first names of a list as text, and how many more there are."""
    return first_of(names, 6)


def quoted(name: str) -> str:
    """Return the name of a class in quotation marks."""
    return f"“{name}”"

"""What a section of the report is. One file in ``sections`` holds one, and no other file has to know of it."""

import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jinja2

from flower_pansvm.registry import Registry, import_modules
from simulations.report.shares import count, interval, percent

if TYPE_CHECKING:
    # It takes as long to import as a short run, and a run that is not yet over draws nothing.
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
"""The content of a ``result.json``."""


@dataclass
class Section:
    """A section of the report; as a decorator it enters the function that makes what comes below its heading."""

    name: str
    title: str
    place: int  # in its part of the page: smaller numbers first
    figures: tuple[str, ...]  # entries of ``result.json``; without one, or with a null, it is left out
    # Whether it belongs to the first part of the page, in which a clinician reads what the model is good for.
    for_clinicians: bool = False
    # Returns lines for the table of figures at the top, which the terminal shows too, by name.
    headline: Callable[[Result], dict[str, str]] = lambda _: {}
    html: Callable[[Result], str] = field(init=False)

    def __call__(self, html: Callable[[Result], str]) -> Callable[[Result], str]:
        """Enter a function, and return it."""
        self.html = html
        SECTIONS.register(self.name)(self)
        return html


SECTIONS: Registry[Section] = Registry("section")
"""The sections by name."""


def sections_of(result: Result) -> list[Section]:
    """Return the sections for which a result has the figures, in the order of the page."""
    import_modules("simulations.report.sections")
    every = sorted(SECTIONS.values(), key=lambda one: (not one.for_clinicians, one.place))
    return [one for one in every if all(result.get(name) is not None for name in one.figures)]


def templates(*folders: str) -> jinja2.Environment:
    """Return what fills the templates in some folders of this package; text is never taken for HTML."""
    loaders = [jinja2.PackageLoader("simulations", folder) for folder in folders]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.globals |= {"count": count, "interval": interval, "percent": percent, "quoted": quoted}
    return environment


def render(template: str, **values: Any) -> str:
    """Return a jinja2 template filled with values, in which text is never taken for HTML."""
    return templates().from_string(template).render(**values)


def svg(figure: "Figure | None", says: str = "") -> str:
    """Return a plot as part of a page, with what it shows, for who cannot see it; nothing without a plot."""
    if figure is None:
        return ""
    import matplotlib as mpl  # noqa: PLC0415

    buffer = io.StringIO()
    # Text that is text can be searched, and is read at any size.
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    drawing = text[text.index("<svg") :].replace(
        "<svg ", f'<svg role="img" aria-label="{html.escape(says)}" ', 1
    )
    return f'<div class="plot">{drawing}</div>'


def some(names: Sequence[str]) -> str:
    """Return the first names of a list as text, and how many more there are."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def quoted(name: str) -> str:
    """Return the name of a class in quotation marks."""
    return f"“{name}”"

"""What a section of the report is. One file in ``sections`` holds one, and no other file has to know of it."""

import html
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jinja2

from flower_pansvm.registry import Registry, import_modules

if TYPE_CHECKING:
    # It takes as long to import as a short run, and a run that is not yet over draws nothing.
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
"""The content of a ``result.json``."""


class Section(ABC):
    """Base of the sections. A subclass registers in `SECTIONS` and says what it needs and shows.

    Attributes
    ----------
    title : str
        Heading of the section.
    place : int
        Where on the page, or in its part of the page: smaller numbers first.
    for_clinicians : bool
        Whether it belongs to the first part of the page, in which a clinician reads what the model is good for.
    figures : tuple of str
        Entries of ``result.json``; without one of them, or with a null, the section is left out.
    """

    title: ClassVar[str]
    place: ClassVar[int]
    for_clinicians: ClassVar[bool] = False
    figures: ClassVar[tuple[str, ...]]

    @abstractmethod
    def html(self, result: Result) -> str:
        """Return what comes below the heading; see `render` for text that must not be taken for HTML."""

    def headline(self, result: Result) -> dict[str, str]:  # noqa: ARG002
        """Return lines for the table of figures at the top, which the terminal shows too, by name."""
        return {}


SECTIONS: Registry[type[Section]] = Registry("section")
"""The sections by name."""


def sections_of(result: Result) -> list[Section]:
    """Return the sections for which a result has the figures, in the order of the page."""
    import_modules("simulations.report.sections")
    every = sorted(
        (kind() for kind in SECTIONS.values()), key=lambda one: (not one.for_clinicians, one.place)
    )
    return [one for one in every if all(result.get(name) is not None for name in one.figures)]


def render(template: str, **values: Any) -> str:
    """Return a jinja2 template filled with values, in which text is never taken for HTML."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(template).render(**values)


def svg(figure: "Figure | None", says: str = "") -> str:
    """Return a plot as part of a page; nothing without a plot.

    Parameters
    ----------
    figure : Figure or None
        The plot.
    says : str
        What it shows, for who cannot see it.
    """
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

"""The tables and figures as the papers' files declare them: ``PAPER.toml`` has titles, notes and printed numbers."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from matplotlib.figure import Figure

from flower_pansvm.registry import Registry
from simulations.papers.plots import bars, curves
from simulations.papers.reproduction import ACCURACY, FOLD_DEVIATION, Measure, Position, Reproduction, Setup

REPRODUCTIONS: Registry[Reproduction] = Registry("table or figure", {})
"""The tables and figures registered so far: see `all_reproductions`."""

PLOTS: Mapping[str, Callable[..., Figure]] = {"bars": bars, "curves": curves}
"""The plot by the ``kind`` of ``plot``; the other entries are the arguments."""


def declared(
    name: str,
    setups: Mapping[Position, Sequence[Setup]],
    measure: Measure = ACCURACY,
    deviation: Measure = FOLD_DEVIATION,
    paper: Mapping[Position, float] | None = None,
) -> Reproduction:
    """Return a table or a figure, its runs and plot joined with the entry of its paper's file, and register it.

    ``pansvm reproduce`` takes its name. By default the paper's numbers are those of the file.
    """
    entry = dict(_entries()[name])
    rows = dict(entry.pop("printed", {}))
    columns = list(enumerate(rows.pop("columns", ())))
    printed = {(row, column): numbers[index] for row, numbers in rows.items() for index, column in columns}
    drawn = dict(entry.pop("plot", {}))
    REPRODUCTIONS[name] = Reproduction(
        setups=setups,
        measure=measure,
        deviation=deviation,
        plot=partial(PLOTS[drawn.pop("kind")], **drawn) if drawn else None,
        paper=printed if paper is None else paper,
        **entry,
    )
    return REPRODUCTIONS[name]


def all_reproductions() -> Registry[Reproduction]:
    """Return the tables and figures of all papers, by name: those of all files in this folder."""
    import_papers()
    return REPRODUCTIONS


def import_papers() -> None:
    """Import the files of all papers, which register their tables and figures."""
    for module in iter_modules([str(Path(__file__).parent)], "simulations.papers."):
        import_module(module.name)


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of all papers by name; a note's lines replace its name."""
    by_name = {}
    for file in files("simulations.papers").iterdir():
        if file.name.endswith(".toml"):
            entries = tomllib.loads(file.read_text(encoding="utf-8"))
            notes = entries.pop("notes", {})
            for name, entry in entries.items():
                texts = {
                    key: _lines(entry[key], notes)
                    for key in ("said", "substituted", "errors")
                    if key in entry
                }
                by_name[name] = {**entry, **texts, "work": file.name.removesuffix(".toml")}
    return by_name


def _lines(lines: Sequence[str], notes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return lines with the notes that they name; a note may name others."""
    return tuple(
        line for named in lines for line in (_lines(notes[named], notes) if named in notes else (named,))
    )

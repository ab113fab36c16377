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
from simulations.papers.reproduction import ACCURACY, FOLD_DEVIATION, Measure, Place, Reproduction, Setup

REPRODUCTIONS: Registry[Reproduction] = Registry("table or figure", {})
"""What has entered itself so far: see `all_reproductions`."""

PLOTS: Mapping[str, Callable[..., Figure]] = {"bars": bars, "curves": curves}
"""What ``kind`` of ``plot`` names; the other entries are the arguments."""


def declared(
    name: str,
    setups: Mapping[Place, Sequence[Setup]],
    measure: Measure = ACCURACY,
    deviation: Measure = FOLD_DEVIATION,
    paper: Mapping[Place, float] | None = None,
) -> Reproduction:
    """Return what is run and drawn for a table or a figure with what its paper's file says of it, and enter it.

    ``pansvm reproduce`` takes its name. By default the paper's numbers are those of the file.
    """
    entry = dict(_entries()[name])
    rows = dict(entry.pop("printed", {}))
    columns = rows.pop("columns", ())
    printed = {(row, column): own[place] for row, own in rows.items() for place, column in enumerate(columns)}
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
    """Import the files of all papers, so that what they declare is known."""
    for module in iter_modules([str(Path(__file__).parent)], "simulations.papers."):
        import_module(module.name)


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of all papers by name; a line that is the name of a note stands for its lines."""
    found = {}
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
                found[name] = {**entry, **texts, "work": file.name.removesuffix(".toml")}
    return found


def _lines(lines: Sequence[str], notes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return lines with the notes that they name; a note may name others."""
    return tuple(
        line for named in lines for line in (_lines(notes[named], notes) if named in notes else (named,))
    )

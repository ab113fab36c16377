"""The tables of ``docs/reproduction.md``: the claims of each paper, the deviations from it, and tables not run.

``claims/PAPER.toml`` has a sentence that sums a paper up and its claims. The numbers beside a claim are those of
``docs/reproduced/PAPER.csv``, each with its commit, so that a verdict and its evidence stand in one line.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.stats import t

from simulations import references
from simulations.markdown import markdown
from simulations.papers.declared import all_reproductions
from simulations.papers.record import Lines, recorded

WORKS = ("lu2016", "mangasarian2008", "li2014", "lin2011", "luo2009")
"""The papers, by the names of their files."""

VERDICTS = {
    "holds": "holds",
    "fails": "**fails**",
    "conditional": "holds under conditions",
    "open": "open",
}
"""Verdicts of the files, and their words on the page. *Open*: not run, or nothing to compare with."""

ENDS = {
    **dict.fromkeys(("%", "AUC, %", "%, features", "features, and accuracy in %"), (0.0, 100.0)),
    "share of wrong rows; rows of B": (0.0, np.inf),
}
"""Units within whose ends an interval is shown, but that of a gain: of few runs Student's t knows none."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a paper, its verdict and the evidence."""

    text: str
    place: str  # table, figure, section or equation of the paper
    verdict: str  # a key of `VERDICTS`
    why: str = ""  # under which conditions, or why it is open
    # TABLE|ROW|COLUMN of each number that is shown.
    cells: tuple[str, ...] = ()
    # TABLE|COLUMN|COLUMN: the mean difference of two columns over the rows that have both.
    compare: str = ""
    code: str = ""  # the file that has it, from the root of the checkout
    test: str = ""  # the test of the code that shows it

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables and figures that its numbers are of."""
        named = (reference.partition("|")[0] for reference in (*self.cells, self.compare) if reference)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class Paper:
    """A paper."""

    summary: str  # one sentence on what holds, and on what evidence
    claims: tuple[Claim, ...]
    not_run: Mapping[str, str]  # tables and figures that are not run, and why


@cache
def paper_of(name: str) -> Paper:
    """Return the content of a paper's file of claims."""
    text = files("simulations.papers").joinpath("claims", f"{name}.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    claims = tuple(Claim(**{**entry, "cells": tuple(entry.get("cells", ()))}) for entry in entries["claim"])
    return Paper(entries["summary"], claims, entries.get("not-run", {}))


def claims_table(name: str) -> str:
    """Return the summary of a paper and the table of its claims."""
    paper, lines = paper_of(name), recorded(name)
    rows = [
        [
            claim.text,
            ", ".join([claim.place, *(f"`{table}`" for table in claim.tables)]),
            ": ".join(filter(None, [VERDICTS[claim.verdict], claim.why])),
            "; ".join(_evidence(claim, lines)),
        ]
        for claim in paper.claims
    ]
    return f"{paper.summary}\n\n" + markdown(
        ("claim", "place, target", "verdict", "evidence"), rows, align="---"
    )


def deviations_list(name: str) -> str:
    """Return a list of the deviations from a paper, and of its tables and figures that are not run."""
    paper = paper_of(name)
    reproductions = [what for what in all_reproductions().values() if what.work == name]
    notes = dict.fromkeys(line for what in reproductions for line in (*what.substituted, *what.errors))
    parts = ["Substituted, guessed, and errors of the paper:\n", *(f"- {line}" for line in notes)]
    if paper.not_run:
        parts += ["\nNot run:\n", *(f"- {table}: {why}" for table, why in paper.not_run.items())]
    return "\n".join(parts) + "\n"


def _evidence(claim: Claim, lines: Lines) -> Iterator[str]:
    """Yield each number of a claim, or that it has not been run."""
    for cell in claim.cells:
        table, row, column = cell.split("|")
        line = lines.get((table, row, column))
        where = f"{table}, " if len(claim.tables) > 1 else ""
        yield f"{where}{row}, {column}: {'not run' if line is None else _number(line)}"
    if claim.compare:
        yield _difference(claim.compare.split("|"), lines)
    yield from (f"`{name}`" for name in (claim.code, claim.test) if name)


def _number(line: Mapping[str, str]) -> str:
    interval = ""
    if line["low"] and line["deviation"] not in ("", "0"):
        unit = "" if "gain" in line["column"] else line["unit"]
        least, most = ENDS.get(unit, (-np.inf, np.inf))
        interval = f" [{_short(max(least, float(line['low'])))}, {_short(min(most, float(line['high'])))}]"
    paper = f"paper {_short(line['paper'])}; " if line["paper"] else ""
    runs = "1 run" if line["runs"] == "1" else f"{line['runs']} runs"
    return f"{_short(line['ours'])}{interval} ({paper}{runs}, {line['commit']})"


def _short(value: str | float) -> str:
    return f"{float(value):,.0f}" if abs(float(value)) >= 1000 else f"{float(value):.3g}"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 100 else f"{value:+.2g}"


def _difference(compared: Sequence[str], lines: Lines) -> str:
    """Return the mean difference of two columns, its 95 % interval by Student's t over rows, and the paper's."""
    table, more, less = compared
    rows = dict.fromkeys(row for name, row, _ in lines if name == table)
    pairs = [
        (lines[table, row, more], lines[table, row, less])
        for row in rows
        if (table, row, more) in lines and (table, row, less) in lines
    ]
    ours = _differences(pairs, "ours")
    if not len(ours):
        return f"{more} − {less}: not run"
    half = t.ppf(0.975, len(ours) - 1) * ours.std(ddof=1) / np.sqrt(len(ours)) if len(ours) > 1 else np.nan
    ends = f" [{_signed(ours.mean() - half)}, {_signed(ours.mean() + half)}]"
    interval = "" if np.isnan(half) else ends
    printed = _differences([pair for pair in pairs if pair[0]["paper"] and pair[1]["paper"]], "paper")
    paper = f"paper {_signed(printed.mean())}; " if len(printed) else ""
    commits = dict.fromkeys(commit for pair in pairs for line in pair for commit in line["commit"].split())
    above = f"positive in {int((ours > 0).sum())} of {len(ours)} rows"
    return f"{more} − {less}: {_signed(ours.mean())}{interval} ({paper}{above}, {' '.join(commits)})"


def _differences(pairs: Sequence[tuple[Mapping[str, str], Mapping[str, str]]], what: str) -> Any:
    return np.array([float(more[what]) - float(less[what]) for more, less in pairs])


OTHERS: dict[str, Callable[[], str]] = {
    **{f"claims-{work}": partial(claims_table, work) for work in WORKS},
    **{f"other-{work}": partial(deviations_list, work) for work in WORKS},
    "references": lambda: markdown(*references.table(), align="---"),
}
"""Each table of the page by its name there."""

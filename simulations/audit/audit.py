"""The audit of a run: what each phase says, the rows that sums leave alone, and the tasks that nobody has examined."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flower_pansvm.secure_sum import protocol_of
from simulations.attack.attack import determined_by_hessians, records_of_sites
from simulations.attack.copies import WholeCopy, whole_copy
from simulations.attack.knowledge import numbers_received, unknown_cells
from simulations.audit.isolation import isolated_by_pairs, isolated_by_quads
from simulations.audit.phase import every_phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.results import RESULT_FILE
from strategies.settings import Settings

SUMS = "_sums"
"""Ends the names of numbers of sums in ``result.json``."""


@dataclass(frozen=True)
class Audit:
    """What was found.

    Parameters
    ----------
    isolated_by_pairs, isolated_by_quads : int or None
        Training rows of the federation whose row, or mapped row, follows from the difference of two sums, or of two
        such differences; None if no sum was looked at.
    looked_at_by_quads : int
        How many of all sums the search for quads has looked at: of each feature map, and of those about the rows
        themselves, at most the last 3000.
    sums : dict of str to int
        How many sums of each kind were looked at: cuts, curvatures, and sums about the rows themselves (``row``).
    figures : dict of str to float or None
        What else the phases say (:attr:`simulations.audit.phase.Phase.texts`).
    numbers : dict of str to int
        How many numbers each result has brought the coordinator: each is an equation about the rows.
    unknown : int
        How many cells the training rows have together.
    not_examined : list of str
        Tasks whose results the coordinator has received and nobody has looked at.
    rows : int
        Training records.
    determined : int or None
        How many of them exact Hessians determine to 10 percent, made linear at the truth; None if that is not known.
    whole_copy : WholeCopy or None
        At level `perturbed`, the most that can be made of all that may ever leave.
    """

    isolated_by_pairs: int | None
    isolated_by_quads: int | None
    looked_at_by_quads: int
    sums: dict[str, int]
    figures: dict[str, float | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    not_examined: list[str] = field(default_factory=list)
    rows: int = 0
    determined: int | None = None
    whole_copy: WholeCopy | None = None

    @property
    def entries(self) -> dict[str, Any]:
        """The findings as entries of ``result.json``."""
        return {
            **self.figures,
            "isolated_by_pairs": self.isolated_by_pairs,
            "isolated_by_quads": self.isolated_by_quads,
            **{kind + SUMS: count for kind, count in self.sums.items()},
            "looked_at_by_quads": self.looked_at_by_quads,
            "numbers": self.numbers,
            "unknown": self.unknown,
            "not_examined": self.not_examined,
            "determined": self.determined,
            "whole_copy": self.whole_copy and asdict(self.whole_copy),
        }

    def __str__(self) -> str:
        """Return the findings in one line, then equations against unknowns, and what was not looked at."""
        found = "; ".join([*sentences(self.entries), self._isolated()])
        return f"audit: {found}{self._level()}{self._ratios()}{self._left_out()}"

    def _level(self) -> str:
        if self.whole_copy:
            return f"\naudit: level perturbed, {self.whole_copy}"
        if self.determined is None:
            return ""
        return (
            f"\naudit: exact Hessians determine {self.determined} of {self.rows} training records to 10 % of a "
            "deviation: whoever runs the coordinator can compute them"
        )

    def _isolated(self) -> str:
        if self.isolated_by_pairs is None:
            return "no sum was looked at, so nobody knows whether they leave single rows alone"
        sums = sum(self.sums.values())
        limited = (
            "" if self.looked_at_by_quads == sums else f" among {self.looked_at_by_quads} of {sums} sums"
        )
        return f"{self.isolated_by_pairs} rows isolated by pairs of sums, {self.isolated_by_quads} by quads{limited}"

    def _left_out(self) -> str:
        return f"\naudit: not examined: {', '.join(self.not_examined)}" if self.not_examined else ""

    def _ratios(self) -> str:
        if not self.unknown:
            return ""
        each = ", ".join(
            f"{count / self.unknown:.1f} from {name}" for name, count in list(self.numbers.items())[:3]
        )
        return (
            f"\naudit: {sum(self.numbers.values()) / self.unknown:.1f} numbers received for each of {self.unknown} "
            f"unknown cells ({each}); --audit=attack tries to solve them"
        )


def sentences(entries: Mapping[str, Any]) -> list[str]:
    """Return what the phases say in the entry ``audit`` of a ``result.json``, a sentence a figure."""
    texts = {name: text for phase in every_phase() for name, text in phase.texts.items()}
    return [
        none if entries[name] is None else some.format(entries[name])
        for name, (some, none) in texts.items()
        if name in entries
    ]


def sums_of(entries: Mapping[str, Any]) -> dict[str, int]:
    """Return how many sums of each kind were looked at, from the entry ``audit`` of a ``result.json``."""
    return {name.removesuffix(SUMS): count for name, count in entries.items() if name.endswith(SUMS)}


def audit(settings: Settings, folder: Path) -> Audit:
    """Look at everything the coordinator received in a run with simulated sites.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with ``audit``.
    folder : Path
        The run's folder, with ``result.json`` and the record of what was asked.
    """
    transcript, phases = read_transcript(folder), every_phase()
    sites = SimulatedSites(settings)
    found = _Findings(protocol_of(settings.terms).protected)
    sums: Counter[str] = Counter()
    figures: dict[str, float | None] = {}
    about_rows = []
    # One thread, as at the sites: the same numbers to the last bit.
    with threadpool_limits(limits=1):
        for phase in phases:
            figures.update(phase.figures(sites, transcript))
            for factors in phase.factors(sites, transcript):
                sums.update(factors.sums)
                if factors.of_rows:
                    about_rows.append(factors.by_site)
                else:
                    found.look_at(factors.by_site)
        if about_rows:
            found.look_at([np.vstack(parts) for parts in zip(*about_rows, strict=True)])
        records = records_of_sites(settings, transcript)
        determined = (
            determined_by_hessians(transcript, records) if settings.level == "exact" and records else None
        )
    any_sum = sum(sums.values()) > 0
    return Audit(
        len(found.by_pairs) if any_sum else None,
        len(found.by_quads) if any_sum else None,
        found.looked_at,
        dict(sums),
        figures,
        numbers_received(transcript),
        unknown_cells(transcript),
        sorted(_answered(transcript, folder) - {task for phase in phases for task in phase.tasks}),
        sum(int(one.trained.sum()) for one in records),
        determined,
        whole_copy(records) if settings.level == "perturbed" and records else None,
    )


def _answered(transcript: Sequence[TranscriptSum], folder: Path) -> set[str]:
    """Return the names of all tasks of which the coordinator has received a result, summed or disclosed."""
    result = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    # What was summed before a run was resumed is in the record only.
    return {one.task for one in transcript} | {one["task"] for one in result["disclosed"]}


class _Findings:
    """Rows that were found in groups of sums which can be combined with one another."""

    def __init__(self, protected: bool) -> None:
        self.protected = protected
        self.by_pairs: set[int] = set()
        self.by_quads: set[int] = set()
        self.looked_at = 0

    def look_at(self, by_site: Sequence[NDArray[np.float64]]) -> None:
        """Look for rows in one group, given the factors at each site, shape (sums, rows)."""
        first, looked_at = 0, 0
        for factors in [np.hstack(by_site)] if self.protected else by_site:
            quads, looked_at = isolated_by_quads(factors)
            self.by_pairs.update(first + isolated_by_pairs(factors))
            self.by_quads.update(first + quads)
            first += factors.shape[1]
        self.looked_at += looked_at


def add_to_result(folder: Path, findings: Mapping[str, Any]) -> None:
    """Add entries, such as those of an audit, to a run's ``result.json``."""
    path = folder / RESULT_FILE
    result = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps({**result, **findings}, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")

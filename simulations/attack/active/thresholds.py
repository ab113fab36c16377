"""A table's values settled at first use have thresholds: a record more, on the other side, and all copies show it."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.table import LABEL
from flower_pansvm.arrays import Floats
from flower_pansvm.terms import MIN_CLUSTER
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.nearness import asked_at
from simulations.attack.active.registry import Attempt

ROWS, TABLES, COLUMNS = 200, 12, 10  # columns of each kind
OTHERS = {"second": 40, "third": 40}

CODES, RARE = 10, 99.0
"""More records than these with others than its ten most frequent values make measurements of a column's codes."""

CHANCE = math.e / (1 + math.e)
"""The probability of a right guess of an event that one record makes at most e times as likely."""

ERRORS = 4.0
"""Standard errors by which guesses may exceed that by chance."""


def play(folder: Path) -> Attempt:
    """Count the columns whose side of a threshold is recognised in their copies."""
    generator, right = np.random.default_rng(1), np.zeros(len(KINDS))
    for index in range(TABLES):
        more = generator.random((len(KINDS), COLUMNS)) < 0.5
        columns = [
            generator.permutation(make(bool(flag)))  # else rows would be alike, and be refused
            for (make, _), flags in zip(KINDS, more, strict=True)
            for flag in flags
        ]
        table = pd.DataFrame(dict(enumerate(columns))).add_prefix("c").assign(**{LABEL: np.arange(ROWS) % 2})
        others = {name: table.sample(rows, random_state=1) for name, rows in OTHERS.items()}
        hospitals = Hospitals(folder / str(index), {"first": table, **others}, asked_at("perturbed"))
        copies = hospitals.copy_of("first").to_numpy().T[: more.size].reshape(*more.shape, ROWS)
        for kind, (_, recognised) in enumerate(KINDS):
            right[kind] += np.sum([*map(recognised, copies[kind])] == more[kind])
    trials = TABLES * COLUMNS
    share, most = right.max() / trials, CHANCE + ERRORS * math.sqrt(CHANCE * (1 - CHANCE) / trials)
    return Attempt(
        f"right for {share:.0%} of {trials} columns of the kind that discloses most",
        f"{CHANCE:.0%}, of so few columns {most:.0%}",
        bool(share <= most),
    )


def _rare(more: bool) -> Floats:
    """Return a column of three codes, and a fourth that as many records have as a code needs, or one fewer."""
    cells: Floats = np.arange(ROWS, dtype=np.float64) % 3
    cells[: MIN_CLUSTER if more else MIN_CLUSTER - 1] = RARE
    return cells


def _many(more: bool) -> Floats:
    """Return a column of ten codes, and other values of as many records as a column of codes may have, or one more."""
    cells: Floats = np.arange(ROWS, dtype=np.float64) % CODES
    others = CODES + 1 if more else CODES
    cells[:others] = 20 + np.arange(others)
    return cells


KINDS: tuple[tuple[Callable[[bool], Floats], Callable[[Floats], bool]], ...] = (
    (_rare, lambda cells: bool((cells == RARE).any())),
    (_many, lambda cells: bool((np.nan_to_num(cells) % 1 != 0).any())),  # measurements are not whole
)
"""Columns with a record more or less, and how it is recognised in their copies."""

"""What is public of columns and classes: from a file that says what can be, or, in a simulation, from the tables."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, can_be_class, canonical_label
from flower_pansvm.schema import NEGATIVE, POSITIVE, Schema
from flower_pansvm.setting_values import near_matches
from flower_pansvm.tasks.private_training import RANGES
from flower_pansvm.tasks.task import Nothing
from strategies.federation.federation import Federation
from strategies.promise_settings import TABLE, PromiseSettings
from strategies.steps.join_replies import check_extremes
from strategies.steps.joining import join

HEADER, CLASSES = ["column", "low", "high"], "classes"
FORM = "Write a line 'column,low,high' into it, then one for each column, such as 'age,0,120'"


@dataclass(frozen=True)
class PublicFile:
    """A CSV file of what is known of the columns and classes without looking at the rows.

    Parameters
    ----------
    name : str
        Of the file, for errors.
    classes : tuple of str
        Names of the classes; empty if it names none.
    ends : dict of str to tuple of float
        Low and high end of each column.
    """

    name: str
    classes: tuple[str, ...]
    ends: dict[str, tuple[float, float]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file.

        Raises
        ------
        SettingError
            If it cannot be read, or has names or ends that cannot be.
        """
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                lines = [_cells(line) for line in csv.reader(file) if _cells(line)]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise SettingError(
                f"The file of public ranges, {path}, cannot be read ({type(error).__name__}). {FORM}; and name it with "
                "ranges=/an/absolute/path."
            ) from None
        classes = _classes(path.name, lines.pop(0)[1:]) if lines and lines[0][0] == CLASSES else ()
        if not lines or lines[0] != HEADER or any(len(line) != len(HEADER) for line in lines):
            raise SettingError(f"{path.name} is no file of public ranges. {FORM}.")
        return cls(
            path.name, classes, {name: _ends(path.name, name, low, high) for name, low, high in lines[1:]}
        )

    def names(self, positive: tuple[str, ...]) -> tuple[str, ...]:
        """Return the classes of a run in which some labels count as positive; SettingError if they are no classes."""
        for label in positive:
            if self.classes and label not in self.classes:
                raise SettingError(
                    f"'positive' names '{label}', and {self.name} has no such class. "
                    f"{near_matches(label, self.classes)}"
                )
        return (NEGATIVE, POSITIVE) if positive else self.classes

    def ranges(self, schema: Schema) -> tuple[Floats, Floats]:
        """Return the low and the high end of each column, shape (columns,); SettingError if the file lacks one."""
        missing = [column for column in schema.columns if column not in self.ends]
        if missing:
            more = f" (and for {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise SettingError(
                f"{self.name} has no public range for the column '{missing[0]}'{more}. Write what the column can hold, "
                f"from what is known of it and not from the rows: '{missing[0]},LOW,HIGH'. If it has another name "
                f"there: {near_matches(missing[0], self.ends) if self.ends else 'the file names no column.'}"
            )
        low, high = np.array([self.ends[column] for column in schema.columns]).T
        return low, high


def join_with_ranges(federation: Federation, settings: PromiseSettings) -> tuple[Schema, Floats, Floats]:
    """Have the sites join, and return the schema with the low and the high end of each column, shape (columns,).

    Raises
    ------
    SettingError
        If the file of public ranges cannot be read or lacks a column, or a site that is to tell its own is a hospital.
    FederationError, TableError
        As :func:`strategies.steps.joining.join`.
    """
    if settings.ranges == TABLE:
        schema = join(federation, settings)
        return schema, *ranges_of_tables(federation, len(schema.columns))
    public = PublicFile.read(Path(settings.ranges))
    schema = join(federation, settings, public.names(settings.positive_labels))
    return schema, *public.ranges(schema)


def ranges_of_tables(federation: Federation, columns: int) -> tuple[Floats, Floats]:
    """Return the ends of the columns of simulated sites' tables, rounded outward to two digits, shape (columns,).

    Raises
    ------
    SettingError
        If a site is none.
    FederationError
        If what a site disclosed cannot be.
    """
    answers = federation.collect(RANGES, Nothing())
    by_site = {name: answers[site.node_id] for name, site in federation.sites.items()}
    check_extremes(by_site, (1, columns))
    low = np.min([answer.low[0] for answer in by_site.values()], axis=0)
    high = np.max([answer.high[0] for answer in by_site.values()], axis=0)
    # A column without any cell.
    low, high = np.where(low <= high, low, 0.0), np.where(low <= high, high, 1.0)
    low = np.array([rounded_outward(end, up=False) for end in low])
    high = np.array([rounded_outward(end, up=True) for end in high])
    return low, np.where(high > low, high, low + 1)


def rounded_outward(value: float, *, up: bool) -> float:
    """Return a number of two digits, not below a value or not above it.

    Examples
    --------
    >>> rounded_outward(67.1, up=True), rounded_outward(-67.1, up=True), rounded_outward(0.078, up=False)
    (68.0, -67.0, 0.078)
    """
    if value == 0:
        return 0.0
    digits = 1 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**digits
    # 0.078 is 78 hundredths of a tenth, give or take rounding.
    nearest = round(scaled)
    if not math.isclose(scaled, nearest, rel_tol=1e-9):
        nearest = math.ceil(scaled) if up else math.floor(scaled)
    return float(f"{nearest}e{-digits}")


def _cells(line: list[str]) -> list[str]:
    """Return the cells of a line without the empty ones at its end, which a spreadsheet writes after short lines."""
    cells = [cell.strip() for cell in line]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _classes(file: str, names: list[str]) -> tuple[str, ...]:
    labels = tuple(map(canonical_label, names))
    if not 2 <= len(set(labels)) == len(labels) <= MOST_CLASSES or not all(map(can_be_class, labels)):
        raise SettingError(
            f"{file} begins with classes that cannot be. Write their names, each once, with commas between them, such "
            f"as '{CLASSES},0,1': from 2 to {MOST_CLASSES}. They are {LABEL_RULE}."
        )
    return labels


def _ends(file: str, column: str, low: str, high: str) -> tuple[float, float]:
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not (-math.inf < ends[0] < ends[1] < math.inf):
        raise SettingError(
            f"{file} gives the column '{column}' the range from '{low}' to '{high}'. The low end has to be a number "
            "below the high end; a column that is always the same may have any that holds it."
        )
    return ends

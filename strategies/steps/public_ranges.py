"""The public ends of each column: from a file that says what a column can hold, or, in a simulation, from the table."""

import csv
import math
from pathlib import Path

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.setting_values import near_matches
from flower_pansvm.tasks.private_training import RANGES
from flower_pansvm.tasks.task import Nothing
from strategies.federation.federation import Federation
from strategies.steps.join_replies import check_extremes

HEADER = ["column", "low", "high"]
FORM = "Write a line 'column,low,high' into it, then one for each column, such as 'age,0,120'"


def ranges_of_file(path: Path, schema: Schema) -> tuple[Floats, Floats]:
    """Return the low and the high end of each column, shape (columns,), that a CSV file says.

    Raises
    ------
    SettingError
        If the file cannot be read, or a column is missing or has ends that cannot be.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingError(
            f"The file of public ranges, {path}, cannot be read ({type(error).__name__}). {FORM}; and name it with "
            "ranges=/an/absolute/path."
        ) from None
    if not lines or lines[0] != HEADER or any(len(line) != len(HEADER) for line in lines):
        raise SettingError(f"{path.name} is no file of public ranges. {FORM}.")
    found = {name: _ends(path.name, name, low, high) for name, low, high in lines[1:]}
    missing = [column for column in schema.columns if column not in found]
    if missing:
        more = f" (and for {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise SettingError(
            f"{path.name} has no public range for the column '{missing[0]}'{more}. Write what the column can hold, "
            f"from what is known of it and not from the rows: '{missing[0]},LOW,HIGH'. If it has another name there: "
            f"{near_matches(missing[0], found) if found else 'the file names no column.'}"
        )
    low, high = np.array([found[column] for column in schema.columns]).T
    return low, high


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

"""Public ranges of columns and public classes: from the schema file, or, in a simulation, from the tables."""

import math
from pathlib import Path

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError
from flower_pansvm.privacy.exact import MOST_COLUMNS
from flower_pansvm.schema import NEGATIVE, POSITIVE, Schema
from flower_pansvm.systems.scaling import RANGES
from flower_pansvm.table_schema import TableSchema
from strategies.federation.federation import Federation
from strategies.promise_settings import PromiseSettings
from strategies.steps.joining import join
from strategies.steps.scaling import learn_extremes


def public_classes(public: TableSchema, positive: tuple[str, ...]) -> tuple[str, ...]:
    """Return the public classes of a run with ``positive`` labels; SettingError if the schema file lacks a label."""
    for label in positive:
        if public.classes and label not in public.classes:
            raise SettingError(
                f"'positive' names '{label}', and {public.name} has no such class. "
                f"{near_matches(label, public.classes)}"
            )
    return (NEGATIVE, POSITIVE) if positive else public.classes


def ranges_of(public: TableSchema, schema: Schema) -> tuple[Floats, Floats]:
    """Return the low and the high bound of each column, shape (columns,); SettingError if the file lacks one."""
    ends = public.public_ends
    missing = [column for column in schema.columns if column not in ends]
    if missing:
        # A column that the file describes, but for its range, has no other name there.
        hint = near_matches(missing[0], ends) if ends else "the file has no range."
        other = "" if missing[0] in public.features else f" If it has another name there: {hint}"
        more = f" (and for {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise SettingError(
            f"{public.name} has no public range for the column '{missing[0]}'{more}. Write the range of possible "
            f"values, from public knowledge and not from the rows: 'range = [LOW, HIGH]' below "
            f'[columns."{missing[0]}"].{other}'
        )
    low, high = np.array([ends[column] for column in schema.columns]).T
    return low, high


def join_with_ranges(federation: Federation, settings: PromiseSettings) -> tuple[Schema, Floats, Floats]:
    """Have the sites join, and return the schema with the low and the high bound of each column, shape (columns,).

    Raises
    ------
    SettingError
        If the schema file is unreadable or lacks a range, or, without one, a site is not simulated.
    FederationError, TableError
        As :func:`strategies.steps.joining.join`.
    """
    public = TableSchema.read(Path(settings.schema)) if settings.schema else None
    schema = join(federation, settings, public_classes(public, settings.positive_labels) if public else ())
    if len(schema.columns) > MOST_COLUMNS:
        raise SettingError(
            f"There are {len(schema.columns)} columns, and {settings.strategy} takes at most {MOST_COLUMNS}: sums over "
            "more would not be exact. Leave columns out with 'drop'."
        )
    return schema, *(ranges_of(public, schema) if public else ranges_of_tables(federation))


def ranges_of_tables(federation: Federation) -> tuple[Floats, Floats]:
    """Return the bounds of the columns of simulated sites' tables, rounded outward to two digits, shape (columns,).

    Raises
    ------
    SettingError
        If a site is not simulated.
    FederationError
        If a site's reply is invalid.
    """
    low, high = (ends[0] for ends in learn_extremes(federation, RANGES))
    # A column without any cell.
    low, high = np.where(low <= high, low, 0.0), np.where(low <= high, high, 1.0)
    low = np.array([rounded_outward(end, up=False) for end in low])
    high = np.array([rounded_outward(end, up=True) for end in high])
    return low, np.where(high > low, high, low + 1)


def rounded_outward(value: float, *, up: bool) -> float:
    """Return the nearest number of two digits that is not below (``up``) or not above a value.

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

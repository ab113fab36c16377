"""Findings about cells: text among numbers, ids, constant columns, codes, other units."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from clients.checking.cells import COMMAS, PERCENT, UNIT, Cells
from clients.checking.finding import ERROR, NOTE, WARNING, ColumnFinding, Finding, grouped
from clients.checking.sentinels import LIKELY, codes_beside_scale, heaps, sentinels, without_sentinels
from clients.table.cells import text_of
from clients.table.encoding import LIMIT
from flower_pansvm.arrays import Floats
from flower_pansvm.table_schema import CATEGORY, NUMBER

MOSTLY_EMPTY = 0.95

LAST_DIGITS = 1e-5
"""Spread of a column, as a share of its largest number, below which rounding of sums may hide it."""

FACTORS = (
    ("gluc|sugar|fbs", 18.016, "mg/dl and mmol/l of glucose"),
    ("chol|hdl|ldl", 38.67, "mg/dl and mmol/l of cholesterol"),
    ("trigl", 88.57, "mg/dl and mmol/l of triglycerides"),
    ("creat|krea", 88.42, "mg/dl and micromol/l of creatinine"),
    ("weight|mass", 2.2046, "pounds and kilograms"),
    ("height|length|size", 2.54, "inches and centimetres"),
    ("", 1000.0, "thousands"),
    ("", 100.0, "percent"),
    ("", 10.0, "tenths"),
)
"""By what numbers in one unit are larger than in another, and the names of columns of which that is known."""

GAP, NARROW, GROUP, GROUP_OF_ALL, GROUP_DIFFERENT, ABOUT = 2.0, 4.0, 5, 0.03, 10, 1.5
"""Of two units in a column: ratio of the numbers at the gap between them; that of the 95th to the 5th percentile of
each, at most; fewest numbers of each, their share, and how many of them differ; and how many times another one the
ratio of their medians may be than that of units that are named."""

REMEDIES = {
    COMMAS: "For a comma before the decimals, say decimal=comma (or point); for one between groups of three digits "
    "thousands=comma (or point, blank, apostrophe).",
    PERCENT: "Write the numbers without the sign, at all sites alike.",
    UNIT: "Write the numbers only, all in the unit that the schema file names.",
}
"""What to do about numbers in another form."""


def column_findings(cells: Sequence[Cells]) -> Iterator[Finding]:
    """Return the findings about single columns, those that many columns share as one."""
    return grouped([finding for column in cells for finding in _findings_of(column)])


def _findings_of(cells: Cells) -> Iterator[ColumnFinding]:
    column = cells.column
    error, warning = (partial(ColumnFinding, level, cells.name) for level in (ERROR, WARNING))
    rows, there = len(cells.raw), int(cells.is_filled.sum())
    if there == 0:
        yield warning("is empty", "Fill it in, or leave it out at all sites.")
        return
    if there < (1 - MOSTLY_EMPTY) * rows:
        yield warning(
            "is empty in nearly all rows",
            "Little can be learnt from it: leave it out at all sites.",
            f" ({1 - there / rows:.0%})",
        )
    if column.kind == NUMBER and cells.is_pair:
        yield error(
            "holds two numbers in a cell, as a blood pressure, a time of day or a month is written",
            "Write each into a column of its own; or leave it out.",
        )
    elif column.kind != CATEGORY and cells.identifies:
        yield warning(
            "looks like one that says who a patient is (an id, a name, a date, a running number)",
            "Leave it out: as patient-id or in leave-out of the schema file, or with --drop. Of a date, export an age "
            "or a number of days.",
        )
    elif column.kind == NUMBER and cells.is_text.any():
        yield error(*_text_finding(cells))
    elif _is_constant(cells):
        yield warning(
            "is constant: the same in all rows where it is not empty",
            "That tells nothing at this site. If it is so at all sites, leave it out; if it is a mistake of the "
            "export, correct it."
            + " If empty cells mean no, write no: they count as missing."
            * (there < rows),
        )
    if column.kind == NUMBER and cells.is_code and not cells.identifies:
        yield warning(
            "is written as codes are, such as 01, or 1.1 and 1.10, and is read as numbers: two codes may become one",
            'If they are codes, describe it in a schema file as kind = "category".',
        )
    if column.kind == NUMBER and cells.may_be_grouped:
        mark, other = ("comma", "point") if cells.form.decimal == "," else ("point", "comma")
        yield warning(
            f"has numbers of three digits after the {mark}, which may be thousands or decimals; they are read as "
            "decimals",
            f"If they are thousands, say thousands={mark} and decimal={other}; if not, thousands=none (pansvm: "
            "--thousands none).",
        )
    if column.kind == NUMBER and cells.is_number:
        yield from _number_findings(cells)


def _is_constant(cells: Cells) -> bool:
    if not cells.is_number:
        return len(cells.distinct_texts) == 1
    values = cells.values[~np.isnan(cells.values)]
    return bool((values == values[0]).all())


def _text_finding(cells: Cells) -> tuple[str, str, str]:
    """Return the finding about text in a column of numbers: what, remedy, and how much."""
    count, there = int(cells.is_text.sum()), int(cells.is_filled.sum())
    how_much = f", in {count} of {there} cells, the first in data row {int(np.argmax(cells.is_text)) + 1}"
    if cells.another_form:
        return f"holds numbers with {cells.another_form}", REMEDIES[cells.another_form], how_much
    if not (cells.is_measurement or cells.is_mostly_numbers):
        return (
            "holds text",
            'Describe it in a schema file as kind = "category" or "yes/no" (\'pansvm schema\' writes a first one), or '
            "leave it out.",
            how_much,
        )
    known = "|".join(f"{re.escape(word)}$" for word in cells.common_words) or "$"
    remedies, others = [], count - cells.limits - sum(cells.words[word] for word in cells.common_words)
    if cells.limits:
        remedies.append(
            f'{cells.limits} begin with < or >, as a laboratory writes what it cannot measure: below-limit = "half" '
            '(or "limit") says what they count as'
        )
    if cells.common_words:
        remedies.append(
            f"missing = [{', '.join(map(json.dumps, cells.common_words))}] takes words for no value"
        )
    if others:
        wrong = [not re.match(f"{LIMIT}|{known}", text_of(cell).lower()) for cell in cells.raw[cells.is_text]]
        first = int(np.flatnonzero(cells.is_text)[wrong][0]) + 1
        remedies.append(
            f"{others} are something else, the first in data row {first}: correct what is a typing error, and add what "
            "means no value to missing"
        )
    return (
        "is a measurement with some text",
        f"In the schema file's [columns.{json.dumps(cells.name, ensure_ascii=False)}]: {'; '.join(remedies)}.",
        how_much,
    )


def _number_findings(cells: Cells) -> Iterator[ColumnFinding]:
    # <5 and >200 are what below-limit says, and neither codes nor fillings.
    column, measured = cells.column, cells.values[~cells.is_limit]
    warning = partial(ColumnFinding, WARNING, cells.name)
    codes = sentinels(measured)
    if codes:
        count = np.count_nonzero(np.isin(measured, codes))
        texts = ", ".join(f"{code:g}" for code in codes)
        missing = "a code for a missing cell, which would count as measured"
        yield warning(
            f"holds {texts}",
            (f"Is it {missing}? Then add" if {*codes} <= {*LIKELY} else f"Most likely it is {missing}. Add")
            + f" it to the schema file: missing = [{texts}].",
            f" in {count} rows, far from all its other numbers",
        )
    measured = without_sentinels(measured, codes)
    there = np.concatenate([measured, cells.values[cells.is_limit]])
    there = there[~np.isnan(there)]
    if doubtful := codes_beside_scale(there):
        texts = ", ".join(f"{code:g}" for code in doubtful)
        yield warning(
            f"holds {texts} beside a scale of whole numbers",
            "If it stands for a missing cell (nobody knows, not asked), add it to the schema file: "
            f"missing = [{texts}]. If it is a step of the scale, leave it.",
            f", in {np.count_nonzero(np.isin(there, doubtful))} of {len(there)} cells",
        )
    for value, may_be_limit in heaps(measured):
        yield ColumnFinding(
            NOTE if may_be_limit else WARNING,
            cells.name,
            f"holds {value:g} far more often than any other number",
            "If it stands for a missing cell, or missing cells were filled with it, add it to the schema file: "
            f"missing = [{value:g}]. If it was measured, or is the limit of what can be, leave it.",
            f", in {np.count_nonzero(there == value)} of {len(there)} cells",
        )
    if len(there) and np.isfinite(there).all() and 0 < np.std(there) < LAST_DIGITS * np.abs(there).max():
        yield warning(
            "has numbers that differ in their last digits only",
            "A model may take them for equal. Export their difference from a fixed number, the same at all sites; if "
            "they are ids or times, leave the column out.",
        )
    if (times := _ratio_of_units(there)) is not None:
        units = [
            what
            for hint, factor, what in FACTORS
            if hint and re.search(hint, cells.name.casefold()) and 1 / ABOUT < times / factor < ABOUT
        ]
        yield warning(
            "has numbers of two kinds with nothing between",
            f"Are they in two units{f' ({units[0]})' if units else ''}? Write all in one, or the model takes the unit "
            "for the measurement.",
            f": the upper ones are about {times:.0f} times the lower",
        )
    if column.ends is None:
        return
    outside = np.count_nonzero(column.outside(there))
    if outside:
        unit = f" {column.unit}" if column.unit else ""
        yield warning(
            "has numbers outside of the schema's range",
            _range_remedy(there, column.ends, cells.name),
            f", {column.ends[0]:g} to {column.ends[1]:g}{unit}: {outside} of {len(there)}",
        )


def _range_remedy(values: np.ndarray, ends: tuple[float, float], name: str) -> str:
    """Return the remedy for numbers outside the range: the unit in which they would be inside, if there is one."""

    def inside(times: float) -> float:
        return float(np.mean((values * times >= ends[0]) & (values * times <= ends[1])))

    for hint, factor, what in FACTORS:
        for times, verb in ((factor, "multiplied"), (1 / factor, "divided")):
            if inside(1.0) < 0.5 and inside(times) > 0.9 and re.search(hint, name.casefold()):
                return f"They would be inside if they were {verb} by {factor:g} ({what}): are they in another unit?"
    return "Correct them if they are typing errors; if they are right, the range is too narrow, at all sites."


def _ratio_of_units(values: Floats) -> float | None:
    """Return the ratio of the medians of two narrow groups far apart, as of two units; None without such groups."""
    numbers = np.sort(values[np.isfinite(values)])
    least = max(GROUP, math.ceil(GROUP_OF_ALL * len(numbers)))
    if len(numbers) < 2 * least or numbers[0] <= 0:
        return None
    ratios = numbers[least : len(numbers) - least + 1] / numbers[least - 1 : len(numbers) - least]
    if ratios.max() < GAP:
        return None
    cut = least + int(np.argmax(ratios))
    groups = numbers[:cut], numbers[cut:]
    for group in groups:
        low, high = np.quantile(group, [0.05, 0.95])
        if high > NARROW * low or len(np.unique(group)) < GROUP_DIFFERENT:
            return None
    return float(np.median(groups[1]) / np.median(groups[0]))

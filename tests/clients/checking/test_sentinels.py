"""Numbers that stand for a missing cell are noticed, whatever they are; skewed measurements are not taken for them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clients.checking.cells import cells_of
from clients.checking.columns import column_findings
from clients.checking.sentinels import LIKELY, UNLIKELY, sentinels
from clients.table.form import TableForm
from flower_pansvm.arrays import Floats
from flower_pansvm.table_schema import TableColumn

ROWS = 500


def measured(kind: str, seed: int = 0, rows: int = ROWS) -> Floats:
    draw = np.random.default_rng(seed)
    columns = {
        "age": draw.normal(60, 12, rows).round(),
        "pressure": draw.normal(125, 18, rows).round(),
        "crp": draw.lognormal(2, 1, rows).round(1),
        "creatinine": draw.lognormal(0, 0.3, rows).round(2),
        "score": draw.integers(0, 27, rows).astype(float),
        "visits": draw.poisson(0.3, rows).astype(float),
        "stay": draw.negative_binomial(0.3, 0.05, rows).astype(float),
        "volume": (draw.pareto(1.2, rows) * 3).round(),
        "dose": draw.choice([0.0, 5, 10, 20, 40, 80], rows, p=[0.6, 0.1, 0.1, 0.1, 0.05, 0.05]),
        "rounded": draw.exponential(30, rows).round(-1),
        "change": draw.normal(0, 1, rows).round(1),
        "packs": np.where(draw.random(rows) < 0.6, 0, draw.gamma(2, 10, rows).round()),
    }
    return columns[kind]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("age", {888: 15}),
        ("age", {777: 6, 888: 5}),
        ("age", {-8: 5}),
        ("age", {888: 15, 12345: 1}),
        ("pressure", {777: 25}),
        ("pressure", {500: 12}),
        ("crp", {888: 15}),
        ("crp", {-88: 5, 7777: 5}),
        ("creatinine", {88: 5}),
        ("creatinine", {-7: 5}),
        ("score", {-9: 12}),
        ("score", {-9: 12, -8: 6, -7: 5}),
        ("score", {99: 5, 88: 5}),
    ],
    ids=str,
)
def test_codes_are_noticed(kind: str, codes: dict[int, int]) -> None:
    cells = measured(kind)
    start = 0
    for code, count in codes.items():
        cells[start : start + count] = code
        start += count
    assert set(sentinels(cells)) == {code for code, count in codes.items() if count > 1}


@pytest.mark.parametrize(
    ("usual", "code", "others"),
    [
        (3.0, 0.0, range(1, 7)),  # visits
        (4.0, 9.0, range(1, 9)),  # groups of a code
        (99.0, 0.0, range(3, 98)),  # places on a tablet
        (0.5, -1.0, np.linspace(-0.9, 1, 39)),  # shares of what is positive and negative
    ],
)
def test_a_number_that_goes_on_the_others_is_no_code(
    usual: float, code: float, others: Sequence[float]
) -> None:
    assert sentinels(np.array([*[usual] * 200, *others, *[code] * 6])) == []


def test_a_usual_code_is_asked_about_where_it_may_be_measured_too() -> None:
    cells = measured("pressure")
    cells[:15] = 0
    (only,) = column_findings(cells_of(pd.DataFrame({"p": cells}), [TableColumn("p")], TableForm()))
    assert "Is it a code" in only.text
    assert "missing = [0]" in only.text


def test_a_finding_names_the_code_and_the_line_of_the_schema_file() -> None:
    cells = measured("age")
    cells[:15] = 888
    column = TableColumn("age")
    (only,) = column_findings(cells_of(pd.DataFrame({"age": cells}), [column], TableForm()))
    assert "'age' holds 888 in 15 rows" in only.text
    assert "missing = [888]" in only.text


@pytest.mark.parametrize(
    "kind",
    ["age", "crp", "creatinine", "score", "visits", "stay", "volume", "dose", "rounded", "change", "packs"],
)
def test_skewed_measurements_have_no_codes(kind: str) -> None:
    for seed in range(30):
        for rows in (40, 200, 1000):
            found = set(sentinels(measured(kind, seed, rows)))
            assert not found - {*LIKELY, *UNLIKELY}, (seed, rows)


@pytest.mark.parametrize(
    "name",
    [
        "arrhythmia",
        "australian",
        "diabetes",
        "german.numer",
        "heart-va",
        "heart-hungarian",
        "liver-disorders",
        "spambase",
    ],
)
def test_benchmarks_have_no_other_codes_than_the_usual(name: str, shared_data: Path) -> None:
    frame = pd.read_csv(shared_data / f"{name}.csv.gz", na_values="?").select_dtypes("number")
    for column in frame:
        found = sentinels(frame[column].to_numpy(dtype=float))
        assert set(found) <= {*LIKELY, *UNLIKELY}, column

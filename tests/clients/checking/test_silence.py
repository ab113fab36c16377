"""Sound tables of which ``pansvm check`` is silent, and the mistakes beside them of which it is not."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.checking.drafting import draft
from clients.checking.finding import WARNING
from clients.checking.findings import findings
from clients.table.form import TableForm


def texts(folder: Path, frame: pd.DataFrame) -> list[str]:
    """Return the warnings of a table."""
    frame.to_csv(folder / "ward.csv", index=False)
    return [one.text for one in findings(folder / "ward.csv", None, TableForm()) if one.level == WARNING]


@pytest.mark.parametrize("columns", ["symptoms", "ages", "mostly empty", "months and years"])
def test_rows_that_are_the_same_by_chance_are_not_asked_about(columns: str, tmp_path: Path) -> None:
    draw, rows = np.random.default_rng(1), 1000
    months, ill = draw.integers(0, 216, rows), draw.random(rows) < 0.1
    bnp = np.where(draw.random(rows) < 0.75, np.nan, draw.normal(300, 90, rows).round())
    tables: dict[str, dict[str, Any]] = {
        "symptoms": {f"s{one}": draw.random(rows) < 0.05 + 0.4 * ill for one in range(8)},
        "ages": {"age": draw.normal(70, 9, rows).round(), "days": draw.geometric(0.2, rows)},
        "mostly empty": {"age": draw.normal(70, 9, rows).round(), "bnp": bnp},
        "months and years": {
            "months": months,
            "years": months // 12,
            "weight": (3 + 0.2 * months).round(),
            "weeks": draw.normal(39, 2, rows).round(),
            "grams": draw.normal(3300, 500, rows).round(),
        },
    }
    frame = pd.DataFrame(tables[columns]).astype(float).assign(label=draw.integers(0, 2, rows))
    assert not any("the same as an earlier one" in text for text in texts(tmp_path, frame))
    wide = frame.assign(**{f"lab{one}": draw.normal(size=rows).round(2) for one in range(4)})
    again = texts(tmp_path, pd.concat([wide, wide.head(3)]))
    assert any("3 of 1003 rows are the same as an earlier one" in text for text in again)
    doubled = texts(tmp_path, pd.concat([frame, frame]))
    assert any("of 2000 rows are the same as an earlier one" in text for text in doubled)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        *(
            (name, False)
            for name in ("birth_weight_g", "BirthWeight", "birth length", "post_op_crp", "postop_pain")
        ),
        *((name, False) for name in ("posterior_wall", "physician_global", "post-dialysis weight")),
        *(
            (name, True)
            for name in ("birth_year", "BirthDate", "year of birth", "postcode", "post code", "doctor")
        ),
    ],
)
def test_measurements_of_newborns_and_after_operations_name_nobody(
    name: str, asked: bool, tmp_path: Path
) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({name: draw.integers(1900, 2000, 300), "crp": draw.normal(size=300).round(2)})
    said = texts(tmp_path, frame.assign(label=draw.integers(0, 2, 300)))
    assert any("who a patient is" in text for text in said) == asked


@pytest.mark.parametrize(("lowest", "asked"), [([-1], True), ([-9, -8, -1], True), ([-1, -2, -3], False)])
def test_negative_codes_beside_a_long_scale_are_asked_about(
    lowest: list[int], asked: bool, tmp_path: Path
) -> None:
    draw = np.random.default_rng(2)
    score = np.where(draw.random(600) < 0.08, draw.choice(lowest, 600), draw.integers(0, 31, 600))
    frame = pd.DataFrame({"score": score, "crp": draw.normal(size=600).round(2)})
    said = texts(tmp_path, frame.assign(label=draw.integers(0, 2, 600)))
    assert any("'score' holds" in text and "-1" in text for text in said) == asked


@pytest.mark.parametrize(
    ("of_the_dead", "of_others", "asked"), [(0.6, 0.0, True), (0.6, 0.03, False), (0.0, 0.3, False)]
)
def test_a_code_that_only_rows_of_the_rare_class_have_is_asked_about(
    of_the_dead: float, of_others: float, asked: bool, tmp_path: Path
) -> None:
    draw = np.random.default_rng(4)
    died = draw.random(2000) < 0.1
    code = (draw.random(2000) < np.where(died, of_the_dead, of_others)).astype(int)
    frame = pd.DataFrame(
        {"age": draw.normal(65, 12, 2000).round(), "code": code, "crp": draw.normal(size=2000).round(2)}
    )
    said = texts(tmp_path, frame.assign(label=died.astype(int)))
    assert any("'code'" in text and "tells the class" in text for text in said) == asked


def test_scores_of_the_healthy_beside_an_id_hide_no_rows_that_are_there_twice(tmp_path: Path) -> None:
    draw = np.random.default_rng(6)
    scores = np.where(draw.random((700, 1)) < 0.4, 1, draw.integers(1, 11, (700, 8)))
    frame = pd.DataFrame(scores).rename(columns="s{}".format).assign(code=draw.permutation(10**6)[:700])
    frame["label"] = draw.integers(0, 2, 700)
    assert not any("the same as an earlier one" in text for text in texts(tmp_path, frame))
    again = texts(tmp_path, pd.concat([frame, frame.head(8)]))
    assert any("8 of 708 rows are the same as an earlier one" in text for text in again)


def test_a_draft_that_takes_no_dose_for_a_missing_cell_says_so(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    dose = np.where(draw.random(500) < 0.4, 0, draw.choice([40, 45, 50, 50.4, 54, 60, 66, 70], 500))
    frame = pd.DataFrame(
        {"dose": dose, "bmi": np.where(draw.random(500) < 0.1, -99, draw.normal(27, 4, 500).round())}
    )
    frame.assign(label=draw.integers(0, 2, 500)).to_csv(tmp_path / "ward.csv", index=False)
    text = draft(tmp_path / "ward.csv", "label", TableForm()).text
    assert "missing = [0]  # but not 0 if it is measured, as no dose is\n" in text
    assert "missing = [-99]\n" in text

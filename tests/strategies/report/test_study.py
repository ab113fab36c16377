"""What the report says of the study: what was told, what was not, and each predictor as a schema file describes it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.table_schema import TableSchema
from strategies.report.study import MOST, NOT_SAID, study
from tests.command_line import finished
from tests.strategies.report.test_clinicians_part import plain

SCHEMA = """
label = "outcome"
classes = ["alive", "dead"]
outcome = "Death within 30 days <of admission>"
intended-use = "Research only"
[columns.crp]
unit = "mg/l"
range = [0, 500]
missing = [-1]
below-limit = "half"
[columns.smoker]
kind = "yes/no"
[columns.ward]
kind = "category"
categories = ["a", "b"]
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    random, rows = np.random.default_rng(0), 240
    frame = pd.DataFrame(
        {"crp": random.lognormal(2, 1, rows).round(1), "ward": random.choice(["a", "b"], rows)}
    )
    frame["smoker"] = random.choice(["yes", "no"], rows)
    frame["outcome"] = np.where(frame["crp"] + random.normal(0, 5, rows) > 8, "dead", "alive")
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path / "table.csv"


def test_the_study_is_told_as_the_schema_file_tells_it(table: Path) -> None:
    result = finished(table.parent / "out", data=str(table), schema=str(table.parent / "schema.toml"))
    text = plain(study(result))
    for part in ("Death within 30 days <of admission>", "Research only", NOT_SAID.format(key="data-source")):
        assert part in text
    assert "crp number, 0 to 500 mg/l missing where -1; below the limit: half of it" in text
    assert "ward category: a, b" in text
    assert "smoker yes or no" in text
    assert "label column outcome" in text
    assert "of each simulated hospital’s patients about 20% were drawn for the test of this run" in text
    real = plain(study({**result, "site_names": ["Ulm", "Kiel"]}))
    assert "each hospital set about 20% of its patients aside before the first training" in real
    assert "simulated" not in real
    assert "label column each hospital named its own" in plain(study({**result, "label": None}))
    assert "external validation none" in text
    named = {"classes": ["negative", "positive"], "positive_class": "positive", "positive_labels": ["dead"]}
    assert "figures are of “positive”, which stands for dead" in plain(study(result | named))
    for counts, words in (("mean", "the column’s mean"), ("middle", "the middle of the column’s range")):
        assert f"missing cells count as {words}" in plain(study(result | {"missing_cells": counts}))
    assert [one["name"] for one in result["predictors"]] == ["crp", "smoker", "ward"]


def test_without_a_schema_file_names_are_all_that_is_known(table: Path) -> None:
    result = finished(table.parent / "out", data="wine", privacy="exact")
    assert len(result["predictors"]) == result["features"]
    assert all(text.count("not said") == 3 for text in [plain(study(result))])
    many = {**result, "predictors": [{"name": f"g{number}"} for number in range(MOST + 7)]}
    assert "7 more columns" in plain(study(many))


def test_what_is_said_of_a_study_is_text() -> None:
    with pytest.raises(SettingError):
        TableSchema.from_mapping({"outcome": 3, "columns": {"age": {}}}, "schema.toml")

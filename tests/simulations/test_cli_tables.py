"""Tables on the command line: ``check``, ``schema``, and ``predict`` of raw tables with categories."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.models.model import load_model
from tests.simulations.conftest import Run

SCHEMA = """
label = "outcome"
classes = ["no", "yes"]
patient-id = "mrn"

[columns.age]
unit = "years"
range = [0, 120]

[columns.chol]
missing = [0]
range = [50, 700]

[columns.sex]
kind = "category"
categories = ["f", "m"]

[columns.smoker]
kind = "yes/no"
"""


def ward(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    sick = generator.random(rows) < 0.5
    chol = (generator.normal(220, 20, rows) + 40 * sick).round(1)
    chol[:5] = 0
    return pd.DataFrame(
        {
            "mrn": [f"P{number}" for number in range(rows)],
            "age": (generator.normal(55, 9, rows) + 9 * sick).round(),
            "chol": chol,
            "sex": generator.choice(["f", "M", ""], rows),
            "smoker": np.where(generator.random(rows) < 0.3 + 0.4 * sick, "Yes", "n"),
            "note": "seen on 3.4.2014; comma, quote",
            "outcome": np.where(sick, "YES", "no"),
        }
    )


@pytest.fixture
def trained(pansvm: Run, tmp_path: Path) -> Path:
    """Train on a table with categories, separated by semicolons, and return the model."""
    (tmp_path / "schema.toml").write_text(SCHEMA + '\n[reading]\nseparator = "semicolon"\n')
    ward().to_csv(tmp_path / "ward.csv", index=False, sep=";")
    code, _, err = pansvm(
        *("run", "--engine", "in-process", "--out", "out", "--data", "ward.csv", "--schema", "schema.toml"),
        *("--sites", 3, "--landmarks", 20),
    )
    assert (code, err) == (0, "")
    return tmp_path / "out" / "model.npz"


@pytest.mark.slow
def test_a_model_takes_the_raw_table_that_its_sites_have(pansvm: Run, trained: Path, tmp_path: Path) -> None:
    assert load_model(trained).schema_.columns == ("age", "chol", "sex=f", "sex=m", "smoker")
    rows = ward(seed=1).drop(columns="outcome")
    rows.to_csv("raw.csv", index=False)
    code, _, err = pansvm("predict", trained, "raw.csv", "--id", "mrn", "--out", "first.csv")
    assert code == 0
    assert "does not need column 'note'" in err
    first = pd.read_csv("first.csv")
    assert list(first) == ["mrn", "prediction", "decision"]
    assert first["mrn"].tolist() == rows["mrn"].tolist()
    # By hand: the same columns in another order, written in another way, without a column of ids.
    other = rows[["smoker", "sex", "chol", "age"]].assign(chol=rows["chol"].replace(0, np.nan), junk="x")
    other["smoker"] = (rows["smoker"] == "Yes").astype(int)
    other["sex"] = rows["sex"].str.upper()
    other.to_parquet("other.parquet")
    code, out, _ = pansvm("predict", trained, "other.parquet", "--out", "again.csv")
    assert (code, out) == (0, "")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), first.drop(columns="mrn"))


@pytest.mark.slow
def test_drop_leaves_a_column_out_of_a_run(pansvm: Run, tmp_path: Path) -> None:
    ward()[["mrn", "note", "age", "chol", "outcome"]].to_csv("ward.csv", index=False)
    options = ("run", "--engine", "in-process", "--data", "ward.csv", "--label", "outcome", "--sites", 3)
    code, _, err = pansvm(*options, "--out", "out", "--drop", "mrn", "--drop", "note")
    assert code == 0
    assert err.startswith("Warning: ward.csv: Column 'chol' holds 0 in 5 rows")
    assert load_model(tmp_path / "out" / "model.npz").schema_.columns == ("age", "chol")
    code, _, err = pansvm(*options, "--drop", "MRN")
    assert code == 1
    assert "no column 'MRN' to drop" in err


def test_check_says_whether_a_table_fits_by_its_exit_code(pansvm: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    ward().to_csv("ward.csv", index=False)
    code, out, _ = pansvm("check", "ward.csv", "--schema", "schema.toml")
    assert code == 0
    assert "Note: The schema file does not have column 'note'" in out
    assert out.endswith("ward.csv fits.\n")
    code, out, _ = pansvm("check", "ward.csv", "--label", "outcome")
    assert code == 1
    assert "Error: 'ward.csv' holds text" in out
    assert "does not fit: see the errors above" in out
    ward().assign(chol=200).to_csv("ward.csv", index=False)
    code, out, _ = pansvm("check", "ward.csv", "--schema", "schema.toml", "--json")
    assert code == 3
    assert {one["level"] for one in json.loads(out)} == {"warning", "note"}
    code, _, err = pansvm("check", "nowhere.csv")
    assert code == 1
    assert "There is no file 'nowhere.csv'" in err


def test_schema_writes_a_file_that_check_takes_and_never_overwrites_one(pansvm: Run, tmp_path: Path) -> None:
    ward().to_csv("ward.csv", index=False)
    code, out, _ = pansvm("schema", "ward.csv", "--label", "outcome", "--out", "first.toml")
    assert code == 0
    assert "pansvm check ward.csv --schema first.toml" in out
    code, out, _ = pansvm("check", "ward.csv", "--schema", "first.toml")
    assert code in (0, 3)
    code, _, err = pansvm("schema", "ward.csv", "--label", "outcome", "--out", "first.toml")
    assert code == 1
    assert "There is a file first.toml already" in err
    code, printed, _ = pansvm("schema", "ward.csv", "--label", "outcome")
    assert printed == (tmp_path / "first.toml").read_text()

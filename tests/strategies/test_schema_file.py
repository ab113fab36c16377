"""Hospitals with one schema file: tables written in different ways, one model, and who differs is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.table_schema import TableSchema
from simulations.engines.in_process import InProcessGrid
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid
from tests.strategies.conftest import trained

Study = Callable[..., tuple[Settings, InProcessGrid]]

SCHEMA = """
label = "outcome"
classes = ["no", "yes"]
patient-id = "mrn"
[columns.chol]
range = [50, 700]
missing = [-9]
[columns.sex]
kind = "category"
categories = ["f", "m"]
[columns.smoker]
kind = "yes/no"
"""


def ward(seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    sick = generator.random(120) < 0.5
    chol = (generator.normal(220, 20, 120) + 50 * sick).round(1)
    chol[:4] = -9
    frame = pd.DataFrame(
        {
            "mrn": [f"{seed}-{number}" for number in range(120)],
            "chol": chol,
            "sex": generator.choice(["f", "m"], 120),
            "smoker": np.where(sick, "yes", "no"),
            "outcome": np.where(sick, "yes", "no"),
        }
    )
    frame.loc[:20, "smoker"] = "no"
    return frame


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Write a schema file and three tables: other columns, another order, another spelling, another format."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    paths = [tmp_path / name for name in ("north.csv", "south.csv", "west.parquet")]
    ward(0).to_csv(paths[0], index=False)
    capitals = ward(1).assign(remark="free, text").iloc[:, ::-1].rename(columns={"remark": "note"})
    capitals.assign(sex=capitals["sex"].str.upper(), outcome=capitals["outcome"].str.title()).to_csv(
        paths[1], index=False
    )
    ward(2).assign(smoker=ward(2)["smoker"] == "yes").set_index("mrn").to_parquet(paths[2])
    return paths


@pytest.fixture
def study(files: list[Path], hospitals: MakeGrid, tmp_path: Path) -> Study:
    """Return a function that makes the settings of a run with the schema file, and a grid of hospitals with it."""

    def make(**values: Any) -> tuple[Settings, InProcessGrid]:
        schema = str(tmp_path / "schema.toml")
        settings = make_settings(sites=3, landmarks="20", schema=schema, **values)
        return settings, hospitals(settings, files, {"schema": schema})

    return make


def test_its_positive_labels_are_those_of_run_and_hospitals(study: Study, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(f"positive = ['yes']{SCHEMA}")
    strategy = trained(*study())
    assert strategy.model.schema_.classes == ("negative", "positive")
    assert strategy.model.schema_.positive_labels == ("yes",)
    assert strategy.outcome.evaluation.accuracy > 0.8
    with pytest.raises(SettingError, match="positive='yes'"):
        trained(*study(positive="no"))


def test_one_model_of_tables_that_are_written_in_different_ways(study: Study, tmp_path: Path) -> None:
    strategy = trained(*study())
    model = strategy.outcome.model
    assert model.schema_.columns == ("chol", "sex=f", "sex=m", "smoker")
    assert model.schema_.classes == ("no", "yes")
    assert model.schema_.table == TableSchema.read(tmp_path / "schema.toml").text
    assert strategy.training.rows.sum() + strategy.outcome.evaluation.rows == 360
    assert (strategy.outcome.evaluation.accuracy or 0) > 0.7


@pytest.mark.parametrize("name", ["other.toml", ""])
def test_a_hospital_with_another_file_or_none_is_named(name: str, study: Study, tmp_path: Path) -> None:
    """Also where the coordinator names one: a run does not name a hospital's schema file."""
    (tmp_path / "other.toml").write_text(SCHEMA.replace("700", "701"))
    settings, grid = study()
    (config,) = [one.node_config for one in grid._contexts.values() if one.node_config["name"] == "south"]
    config["schema"] = str(tmp_path / name) if name else ""
    with pytest.raises((SettingError, TableError), match="south"):
        trained(settings, grid)

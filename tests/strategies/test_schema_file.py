"""Hospitals with one schema file: tables written in different ways, one model, and who differs is named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid

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


def settings_of(tmp_path: Path, **values: object) -> Settings:
    usual: dict[str, object] = {"sites": 3, "landmarks": 20, "schema": str(tmp_path / "schema.toml")}
    return make_settings(**{**usual, **values})


def node(tmp_path: Path) -> dict[str, Scalar]:
    return {"schema": str(tmp_path / "schema.toml")}


def test_its_positive_labels_are_those_of_run_and_hospitals(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(f"positive = ['yes']{SCHEMA}")
    settings = settings_of(tmp_path)
    strategy = PanSVM(settings)
    strategy.start(hospitals(settings, files, node(tmp_path)))
    assert strategy.model.schema_.classes == ("negative", "positive")
    assert strategy.model.schema_.positive_labels == ("yes",)
    assert strategy.outcome.evaluation.accuracy > 0.8
    other = settings_of(tmp_path, positive="no")
    with pytest.raises(SettingError, match="positive='yes'"):
        PanSVM(other).start(hospitals(other, files, node(tmp_path)))


def test_one_model_of_tables_that_are_written_in_different_ways(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path)
    strategy = PanSVM(settings)
    strategy.start(hospitals(settings, files, node(tmp_path)))
    model = strategy.outcome.model
    assert model.schema_.columns == ("chol", "sex=f", "sex=m", "smoker")
    assert model.schema_.classes == ("no", "yes")
    assert model.schema_.table == TableSchema.read(tmp_path / "schema.toml").text
    assert strategy.training.rows.sum() + strategy.outcome.evaluation.rows == 360
    assert (strategy.outcome.evaluation.accuracy or 0) > 0.7


def test_a_hospital_with_another_file_or_none_is_named(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(SCHEMA.replace("700", "701"))
    settings = settings_of(tmp_path)
    for said, told in (
        (str(other), "file of site 'south' says something else than the run's"),
        (None, "no label column 'label'"),
    ):
        grid = hospitals(settings, files, node(tmp_path))
        (context,) = [one for one in grid._contexts.values() if one.node_config["name"] == "south"]
        del context.node_config["schema"]
        if said is not None:
            context.node_config["schema"] = said
        with pytest.raises((SettingError, TableError), match=told):
            PanSVM(settings).start(grid)


def test_a_run_does_not_name_a_hospitals_schema_file(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path)
    with pytest.raises(TableError):
        PanSVM(settings).start(hospitals(settings, files, {"label": "outcome"}))

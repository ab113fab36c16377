"""Whole runs of hospitals whose labels differ: rare classes, lists of classes, spellings, skewed splits."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.terms import Scalar
from simulations.data.sites import table_of
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid
from tests.strategies.conftest import trained

Train = Callable[..., Any]
Nodes = dict[str, Scalar]


def three(**config: object) -> Settings:
    # The labels of perturbed copies are others, and all of them have enough rows.
    return make_settings(**{"sites": 3, "tol": 0.2, "privacy": "exact", **config})  # type: ignore[arg-type]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the hospitals write into their own logs about rows that are left out."""
    lines: list[str] = []
    kept = SimpleNamespace(warning=lambda text, *rest: lines.append(text % rest))
    monkeypatch.setattr("clients.labels_told.logger", kept)
    return lines


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., list[Path]]:
    """Return a function that writes a table for each hospital, given how many rows of which label each has."""

    def tables(*labels: dict[str, int], folder: str = "") -> list[Path]:
        (tmp_path / folder).mkdir(exist_ok=True)
        names = sorted({name for own in labels for name in own})
        paths = []
        for number, own in enumerate(labels):
            generator = np.random.default_rng(number)
            y = np.repeat(list(own), list(own.values()))
            X = generator.normal(size=(len(y), 3))
            X[:, 0] += 2.0 * np.array([names.index(name) % 3 for name in y])
            paths.append(tmp_path / folder / f"hospital{number}.csv")
            frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
            frame.sample(frac=1.0, random_state=number).to_csv(paths[-1], index=False)
        return paths

    return tables


@pytest.fixture
def train(hospitals: MakeGrid, write: Callable[..., list[Path]]) -> Train:
    """Return a function that trains at hospitals with so many rows of each label, all of them for training.

    They are three alike where one table is given.
    """

    def run(*labels: dict[str, int], node: Nodes | None = None, **config: object) -> Any:
        settings = three(**{"test_fraction": 0.0, **config})
        files = write(*(labels * 3 if len(labels) == 1 else labels))
        return trained(settings, hospitals(settings, files, {"min-cluster": 5, **(node or {})}))

    return run


USUAL = {"0": 40, "1": 40}


@pytest.mark.slow
def test_a_class_that_another_hospital_names_trains_along(train: Train, logged: list[str]) -> None:
    strategy = train({**USUAL, "rare": 10}, {**USUAL, "rare": 2}, USUAL)
    assert strategy.model.schema_.classes == ("0", "1", "rare")
    assert strategy.training.rows.ravel().tolist() == [120, 120, 12]
    assert logged == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        pytest.param({"multi_class": "ovo"}, marks=pytest.mark.slow),
        pytest.param({"class_weight": "balanced"}, marks=pytest.mark.slow),
        pytest.param({"probability": True, "cv_folds": 3}, marks=pytest.mark.slow),
        pytest.param({"C": "1,16", "cv_folds": 3}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_rows_that_nobody_names_are_as_if_they_were_not_there(
    config: dict[str, object],
    write: Callable[..., list[Path]],
    hospitals: MakeGrid,
    logged: list[str],
    tmp_path: Path,
) -> None:
    """Neither in moments, folds, landmarks, signs nor scores; the name of the class is the last in the alphabet."""
    three_classes = {**USUAL, "2": 30}
    files = write({**three_classes, "zebra": 4}, {**three_classes, "zebra": 3}, three_classes)
    without = []
    for file in files:
        frame = pd.read_csv(file)
        without.append(tmp_path / "without" / file.name)
        without[-1].parent.mkdir(exist_ok=True)
        frame[frame["label"] != "zebra"].to_csv(without[-1], index=False)
    settings, node = three(**config), {"min-cluster": 5}
    one, other = (trained(settings, hospitals(settings, paths, node)) for paths in (files, without))
    assert one.model.schema_.classes == ("0", "1", "2")
    assert one.training.rows.sum() + one.evaluation.rows == 330
    assert other.training.rows.sum() + other.evaluation.rows == 330
    assert one.model.sha256() == other.model.sha256()
    assert len(logged) == 2, "once in a run"
    for number, rows in enumerate((4, 3)):
        (line,) = (line for line in logged if f"hospital{number}" in line)
        assert f"leaves out {rows} rows" in line
        assert "min-cluster=5" in line
        assert f"column 'label' of 'hospital{number}.csv'" in line
        assert "zebra" not in line


def test_a_list_of_classes_leaves_all_other_rows_out(train: Train, logged: list[str]) -> None:
    strategy = train({**USUAL, "2": 20}, node={"classes": "0,1"})
    assert strategy.model.schema_.classes == ("0", "1")
    assert strategy.training.rows.ravel().tolist() == [120, 120]
    assert len(logged) == 3
    assert all("leaves out 20 rows" in line and "'classes' of the node config" in line for line in logged)


def test_a_list_of_classes_holds_against_a_class_that_another_hospital_names(
    write: Callable[..., list[Path]], hospitals: MakeGrid
) -> None:
    own = {**USUAL, "2": 20}
    settings = three(test_fraction=0.0)
    grid = hospitals(settings, write(own, own, own), {"min-cluster": 5})
    first = next(iter(grid._contexts.values()))
    first.node_config["classes"] = "0,1"
    with pytest.raises(SettingError, match="classes"):
        trained(settings, grid)


@pytest.mark.slow
def test_positive_labels_and_a_list_of_classes_go_together(train: Train) -> None:
    own, node = {**USUAL, "2": 20, "unclear": 9}, {"positive": "1,2"}
    strategy = train(own, node={**node, "classes": "0,1,2"}, positive="1,2")
    assert strategy.model.schema_.classes == ("negative", "positive")
    assert strategy.training.rows.ravel().tolist() == [120, 180]
    strategy = train(own, node=node, positive="1,2")
    assert strategy.training.rows.ravel().tolist() == [147, 180]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([["0", "1"], ["No", "Yes"], ["0", "1"]], ["'hospital0' has the class '0'", "'hospital1'", "'No'"]),
        ([["type 1", "type 2"]] * 2 + [["type1", "type 2"]], ["'type 1'", "'hospital2'", "'type1'"]),
    ],
    ids=str,
)
def test_spellings_that_differ_between_hospitals_are_an_error(
    labels: list[list[str]], told: list[str], train: Train
) -> None:
    tables = [dict.fromkeys(own, 20) for own in labels]
    with pytest.raises(TableError) as caught:
        train(*tables)
    for part in (*told, "positive="):
        assert part in str(caught.value)
    positive = ",".join({own[1] for own in labels})
    strategy = train(*tables, node={"positive": positive}, positive=positive)
    assert strategy.training.rows.ravel().tolist() == [60, 60]


def test_a_spelling_that_no_hospital_names_is_told_in_the_hospitals_own_log(
    train: Train, logged: list[str]
) -> None:
    strategy = train({"Yes": 40, "No": 40}, {"Yes": 40, "No": 40}, {"No": 40, "yes": 4, "unclear": 1})
    assert strategy.training.rows.sum() == 200
    (line,) = logged
    assert "leaves out 5 rows" in line
    assert "The label of 4 of them differs from a class only" in line


# Skewed splits

# A copy for level perturbed needs a label that five records of each hospital have; seeds 0 and 2 have tables without.
SKEWED: dict[str, object] = {"data": "wine", "split": "dirichlet:0.1", "tol": 0.2, "privacy": "exact"}


def test_skewed_splits_train_with_the_pins_of_hospitals(
    hospitals: MakeGrid, tmp_path: Path, logged: list[str]
) -> None:
    """Every hospital has enough rows to take part, and at some there are fewer than five of a class."""
    few = 0
    for seed in range(8):
        settings = make_settings(**{**SKEWED, "seed": seed, "sites": 4, "min_cluster": 5})  # type: ignore[arg-type]
        tables = [table_of(settings, site) for site in range(settings.sites)]
        if min(len(table.X) for table in tables) < 12:
            continue
        files = []
        for number, table in enumerate(tables):
            assert table.labels is not None
            files.append(tmp_path / f"hospital{number}.csv")
            frame = pd.DataFrame(table.X, columns=list(table.columns)).assign(label=table.labels)
            frame.to_csv(files[-1], index=False)
            few += int((np.unique(table.labels, return_counts=True)[1] < 5).any())
        strategy = trained(settings, hospitals(settings, files, {"min-cluster": 5}))
        assert len(strategy.model.classes_) == 3
        assert strategy.training.rows.sum() + strategy.evaluation.rows == 178
    assert few > 0
    assert logged == []

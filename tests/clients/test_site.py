"""A site's rows: folds, blocks of mapped rows, and what it keeps from message to message."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clients import cache
from clients.budget import new_ledger
from clients.rows import link_own_table
from clients.site import Site
from clients.systems.pan_svm import mapped_train
from flower_pansvm import records
from flower_pansvm.errors import FederationError, TableError
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.systems.common import SCALING, SCHEMA, ScalingBroadcast, SchemaBroadcast
from flower_pansvm.systems.pan_svm.tasks import (
    FEATURE_MAP,
    LANDMARK_SET,
    FeatureMapBroadcast,
    LandmarkBroadcast,
)
from simulations.data.sites import fold_numbers
from simulations.data.sites import test_rows as held_out
from simulations.engines.running import train_in_process
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from tests.contexts import own_hospital

# Folds

CLASSES = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(np.array)


@given(CLASSES, st.integers(2, 7), st.integers(0, 3))
def test_folds_are_even_in_each_class_and_all_together(
    classes: NDArray[np.int64], folds: int, seed: int
) -> None:
    numbers = fold_numbers(classes, folds, seed)
    assert np.ptp(np.bincount(numbers, minlength=folds)) <= 1
    for one in np.unique(classes):
        assert np.ptp(np.bincount(numbers[classes == one], minlength=folds)) <= 1


def test_folds_are_not_the_order_of_the_rows_nor_the_draw_of_the_test_rows() -> None:
    classes = np.zeros(400, dtype=np.int64)
    numbers = fold_numbers(classes, 5, seed=0)
    assert not (numbers == np.arange(400) % 5).all()
    assert not (numbers == fold_numbers(classes, 5, seed=1)).all()
    kept = held_out(classes.astype(np.str_), 0.2, seed=0)
    assert 4 < np.count_nonzero(numbers[kept] == 0) < 30


def test_a_fold_smaller_than_the_hospitals_floor_is_refused(
    enrolled: Callable[..., Federation], ask_moments: Any
) -> None:
    folds: dict[str, Any] = {"C": "auto", "cv_folds": 7, "test_fraction": 0.0}
    # 60 training rows: eight or nine in each of seven folds.
    ask_moments(enrolled({"min-cluster": 8}, **folds))
    with pytest.raises(TableError, match="wants"):
        ask_moments(enrolled({"min-cluster": 9}, **folds))


# Blocks of mapped rows


def run(config: dict[str, Any]) -> PanSVM:
    return train_in_process(make_settings(landmarks="25", privacy="exact", **config))


@pytest.mark.parametrize("config", [{}, {"data": "wine"}], ids=str)
@pytest.mark.slow
def test_rows_mapped_in_blocks_train_the_same_model(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(config)
    mapped: list[int] = []
    transform = NystromMap.transform

    def count(self: NystromMap, X: NDArray[np.float64]) -> NDArray[np.float64]:
        mapped.append(len(X))
        return transform(self, X)

    monkeypatch.setattr("clients.systems.pan_svm.LARGEST_KEPT", 0)
    monkeypatch.setattr("flower_pansvm.arrays.BLOCK", 7)
    monkeypatch.setattr(NystromMap, "transform", count)
    in_blocks = run(config)
    # More only for the rows of a local warm start.
    assert np.mean(np.array(mapped) > 7) < 0.25
    for one, other in zip(whole.training.progress, in_blocks.training.progress, strict=True):
        assert other.upper == pytest.approx(one.upper, rel=2e-3)
        assert other.lower <= one.upper * (1 + 1e-9)
    assert in_blocks.evaluation.accuracy == pytest.approx(whole.evaluation.accuracy, abs=0.02)


# Memory


def test_what_was_made_is_not_made_again() -> None:
    made: list[int] = []

    def make() -> NDArray[np.float64]:
        made.append(1)
        return np.zeros(3)

    key = ("only in this test", 1)
    assert cache.cached(key, make) is cache.cached(key, make)
    assert len(made) == 1


def test_of_too_much_what_was_used_longest_ago_is_dropped() -> None:
    kept = cache.Cache(3000)
    for number in range(3):
        kept(number, lambda: np.zeros(100))
    kept(0, lambda: pytest.fail("is still there"))
    kept(3, lambda: (np.zeros(100), "a text"))
    assert list(kept.values) == [2, 0, 3]


def test_a_value_larger_than_all_is_kept_until_the_next_one() -> None:
    kept = cache.Cache(10)
    assert kept("large", lambda: np.zeros(100)).shape == (100,)
    kept("next", lambda: np.zeros(100))
    assert list(kept.values) == ["next"]


@pytest.mark.slow
def test_two_feature_maps_of_one_site_are_not_mistaken_for_each_other(
    hospital_files: list[Path], hospitals: Any
) -> None:
    """The same process serves runs of other settings, and within one the maps of every fold and gamma."""
    models = []
    for gamma in ("0.5", "2", "0.5"):
        settings = make_settings(sites=3, gamma=gamma, min_cluster=2, privacy="exact", tol=0.5)
        strategy = PanSVM(settings)
        strategy.start(hospitals(settings, hospital_files))
        models.append(strategy.model.sha256())
    assert models[0] == models[2]
    assert models[0] != models[1]


# A table that changes


def test_a_table_that_changes_during_a_run_ends_it(
    federation: Federation, hospital_files: list[Path], ask_moments: Any
) -> None:
    """The two sums would differ in the row, and give that row away."""
    ask_moments(federation)
    ask_moments(federation)
    rows = pd.read_csv(hospital_files[1])
    rows.drop(index=3).to_csv(hospital_files[1], index=False)
    with pytest.raises(FederationError, match="changed"):
        ask_moments(federation)


def test_a_database_that_changes_during_a_run_ends_it(
    settings: Settings,
    tmp_path: Path,
    hospital_files: list[Path],
    hospitals: Any,
    enrol: Any,
    ask_moments: Any,
) -> None:
    """Each message may have a process of its own, which asks the database again."""
    database = tmp_path / "ward.db"
    with sqlite3.connect(database) as connection:
        pd.read_csv(hospital_files[1]).to_sql("ward", connection, index=False)
    query = tmp_path / "ward.sql"
    query.write_text(f"-- url: sqlite:///{database}\nSELECT * FROM ward")
    federation = enrol(hospitals(settings, [hospital_files[0], query, hospital_files[2]]), settings)
    ask_moments(federation)
    cache.cached_tables.values.clear()
    ask_moments(federation)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE ward SET age = age + 1 WHERE rowid = 3")
    cache.cached_tables.values.clear()
    with pytest.raises(FederationError, match="refuses to go on: its table has changed"):
        ask_moments(federation)


# Broadcasts that do not fit


def wrong(broadcast: Any, **values: Any) -> Any:
    return pytest.param(broadcast, values, id=f"{broadcast.name} {'+'.join(values)}")


@pytest.mark.parametrize(
    ("broadcast", "values"),
    [
        wrong(SCALING, scale=np.zeros((1, 2))),
        wrong(SCALING, scale=-np.ones((1, 2))),
        wrong(SCALING, shift=np.full((1, 2), np.nan)),
        wrong(SCALING, fill=np.zeros((1, 3))),
        wrong(SCALING, fill=np.zeros((0, 2)), shift=np.zeros((0, 2)), scale=np.ones((0, 2))),
        wrong(LANDMARK_SET.numbered(0), landmarks=np.ones((3, 2))),
        wrong(LANDMARK_SET.numbered(0), landmarks=np.ones((1, 3))),
        wrong(LANDMARK_SET.numbered(0), landmarks=np.full((1, 2), np.inf)),
        wrong(LANDMARK_SET.numbered(0), scaling=7),
        wrong(FEATURE_MAP.numbered(0), features=np.ones(3, dtype=np.bool_)),
        wrong(FEATURE_MAP.numbered(0), normalization=np.ones(1, dtype=np.float32)),
        wrong(FEATURE_MAP.numbered(0), normalization=np.full((1, 1), np.nan, dtype=np.float32)),
        wrong(FEATURE_MAP.numbered(0), gamma=float("nan")),
    ],
)
def test_numbers_that_were_told_are_checked_before_use(
    broadcast: Any, values: dict[str, Any], hospital_files: list[Path], state_home: Path
) -> None:
    new_ledger(state_home / "site-north", 0.2)
    node = {"name": "north", "data": str(hospital_files[0])}
    site = Site.of(own_hospital(node), "exact")
    link_own_table(site)
    told = {
        SCHEMA.name: SchemaBroadcast(("age", "dose"), ("0", "1"), (), 0.2, 0, 0),
        SCALING.name: ScalingBroadcast(*np.array([[[0.0, 0.0]], [[50.0, 0.0]], [[10.0, 0.01]]])),
        "landmark_set.0": LandmarkBroadcast(0, np.ones((1, 2))),
        "feature_map.0": FeatureMapBroadcast(
            0, np.ones(2, dtype=np.bool_), "rbf", 1.0, np.ones((1, 1), dtype=np.float32)
        ),
    }

    def mapped() -> NDArray[np.float64]:
        for name, message in told.items():
            records.write(content := RecordDict(), f"broadcast.{name}", message)
            site.keep_broadcasts(content)
        return mapped_train(site, 0)(np.arange(3))

    assert mapped().shape == (3, 1)
    told[broadcast.name] = replace(told[broadcast.name], **values)
    with pytest.raises(FederationError):
        mapped()

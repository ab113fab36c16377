"""A site's rows: folds, and what it keeps from message to message."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clients import cache
from clients.dealing import fold_order
from flower_pansvm.errors import FederationError, TableError
from simulations.data.sites import drawn_split
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings

# Folds


def folds_drawn(classes: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    patients = np.arange(len(classes))
    split = drawn_split(classes.astype(np.str_), patients, 0.0, seed, site=0)
    return fold_order(classes, patients, split.of_patients, split.fold_start) % folds


CLASSES = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(np.array)


@given(CLASSES, st.integers(2, 7), st.integers(0, 3))
def test_folds_are_even_in_each_class_and_all_together(
    classes: NDArray[np.int64], folds: int, seed: int
) -> None:
    numbers = folds_drawn(classes, folds, seed)
    assert np.ptp(np.bincount(numbers, minlength=folds)) <= 1
    for one in np.unique(classes):
        assert np.ptp(np.bincount(numbers[classes == one], minlength=folds)) <= 1


def test_folds_are_not_the_order_of_the_rows_nor_the_draw_of_the_test_rows() -> None:
    classes = np.zeros(400, dtype=np.int64)
    numbers = folds_drawn(classes, 5, seed=0)
    assert not (numbers == np.arange(400) % 5).all()
    assert not (numbers == folds_drawn(classes, 5, seed=1)).all()
    kept = drawn_split(classes.astype(np.str_), np.arange(400), 0.2, seed=0, site=0).held_out
    assert 4 < np.count_nonzero(numbers[kept] == 0) < 30


@pytest.mark.parametrize("share", [(20, 2), (20, 4), (13, 7), (18, 12)])
@pytest.mark.parametrize("seed", range(3))
def test_over_many_small_sites_the_test_rows_have_the_mix_of_all(share: tuple[int, int], seed: int) -> None:
    """A fifth of 2 is none and of 7 one, if each site rounds for itself: then 0 of 40, or 20 of 140, are tested."""
    classes = np.repeat(["no", "yes"], share)
    kept = np.zeros(2)
    for site in range(20):
        split = drawn_split(classes, np.arange(len(classes)), 0.2, seed, site)
        kept += [np.count_nonzero(split.held_out & (classes == one)) for one in ("no", "yes")]
    assert np.abs(kept - 0.2 * 20 * np.array(share)).max() <= 2


def test_where_a_share_of_rows_is_whole_no_more_and_no_less_are_tested() -> None:
    classes = np.repeat(["no", "yes"], (50, 100))
    for site in range(40):
        split = drawn_split(classes, np.arange(150), 0.29 if site % 2 else 0.2, 0, site)
        expected = (14.5, 29) if site % 2 else (10, 20)
        for one, count in zip(("no", "yes"), expected, strict=True):
            assert abs(np.count_nonzero(split.held_out & (classes == one)) - count) < 1


def test_a_simulated_site_keeps_a_patient_together_and_trains_on_somebody() -> None:
    whose = np.repeat(np.arange(30), 4)
    split = drawn_split(np.tile(["no", "yes"], 60), whose, 0.3, 0, 0)
    assert (split.held_out.reshape(30, 4) == split.held_out[::4, None]).all()
    assert split.held_out.sum() == 4 * 9
    for site in range(30):
        assert not drawn_split(np.array(["no"]), np.array([0]), 0.9, 0, site).held_out.any()


def test_a_fold_smaller_than_the_hospitals_floor_is_refused(
    enrolled: Callable[..., Federation], ask_moments: Any
) -> None:
    folds: dict[str, Any] = {"C": "auto", "cv_folds": 7, "test_fraction": 0.0}
    # 60 training rows: eight or nine in each of seven folds.
    ask_moments(enrolled({"min-cluster": 8}, **folds))
    with pytest.raises(TableError, match="wants"):
        ask_moments(enrolled({"min-cluster": 9}, **folds))


# Memory


def test_of_too_much_what_was_used_longest_ago_is_dropped_and_the_latest_kept_however_large() -> None:
    kept = cache.Cache(3000)
    for number in range(3):
        kept(number, lambda: np.zeros(100))
    kept(0, lambda: pytest.fail("is still there"))
    kept(3, lambda: (np.zeros(100), "a text"))
    assert list(kept.values) == [2, 0, 3]
    assert len(kept("large", lambda: np.zeros(1000))) == 1000
    assert list(kept.values) == ["large"]


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


@pytest.mark.parametrize("kind", ["file", "database"])
def test_a_table_that_changes_during_a_run_ends_it(
    kind: str,
    settings: Settings,
    tmp_path: Path,
    hospital_files: list[Path],
    hospitals: Any,
    enrol: Any,
    ask_moments: Any,
) -> None:
    """Two sums would differ in the row, and give that row away; a process of its own asks a database again."""
    table, place = pd.read_csv(hospital_files[1]), tmp_path / "ward.db"

    def write(rows: pd.DataFrame) -> Path:
        cache.cached_tables.values.clear()
        if kind == "file":
            rows.to_csv(hospital_files[1], index=False)
            return hospital_files[1]
        with closing(sqlite3.connect(place)) as connection:
            rows.to_sql("ward", connection, index=False, if_exists="replace")
        query = tmp_path / "ward.sql"
        query.write_text(f"-- url: sqlite:///{place}\nSELECT * FROM ward")
        return query

    federation = enrol(hospitals(settings, [hospital_files[0], write(table), hospital_files[2]]), settings)
    ask_moments(federation)
    ask_moments(federation)
    write(table.drop(index=3))
    with pytest.raises(FederationError, match="changed"):
        ask_moments(federation)

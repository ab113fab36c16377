"""Distorted rows: the same model as in one place, what is published and what is not, and what each site refuses."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from flower_pansvm import records
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.systems.ssvd import DISTORTED_ROWS, DistortedRowsQuestion, distort, select
from simulations.attack.audit import audit
from simulations.attack.systems.ssvd import column_correlation, linked_rows, matched_rows
from simulations.data.sites import table_of
from simulations.engines.in_process import in_process_grid
from strategies.app import run
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import joined, svc_of, trained

Floats = NDArray[np.float64]
Train = Callable[..., Any]


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "ssvd", "data": "wine", "sites": 3, **values})


@pytest.fixture
def train(write_table: Callable[..., str]) -> Train:
    """Return a function that trains at sites with such tables, by default with all columns distorted."""

    def run(tables: list[tuple[Floats, Any]], **config: Any) -> Any:
        data = "|".join(
            write_table(X, np.asarray(y), f"site{number}") for number, (X, y) in enumerate(tables)
        )
        usual = {"data": data, "sites": len(tables), "min_sites": 2, "ssvd_order": "perturb-first"}
        return trained(settings_of(**{**usual, **config}))

    return run


def noisy(seed: int, rows: int = 60, columns: int = 4) -> tuple[Floats, NDArray[np.int64]]:
    generator, y = np.random.default_rng(seed), np.arange(rows) % 2
    return 3 * generator.normal(size=(rows, columns)) + 6.0 * y[:, None], y


def published(strategy: Any) -> Iterator[dict[str, Any]]:
    """Yield what each site has published."""
    for reply in strategy.federation.grid.replies:
        if DISTORTED_ROWS.name in reply.metadata.message_type:
            yield dict(records.get(reply.content, "disclosed"))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ssvd_order": "perturb-first", "kernel": "linear"},
        {"scaling": "minmax"},
        {"data": "breast_cancer", "ssvd_order": "perturb-first", "kernel": "linear"},
        {"data": "breast_cancer", "split": "dirichlet:2", "class_weight": "balanced", "C": 3.0},
        {"gamma": 0.3, "aggregation": "k-secure"},
    ],
    ids=str,
)
def test_the_model_is_scikit_learns_on_rows_that_each_site_has_distorted(
    pool: Callable[..., Any], changes: dict[str, Any]
) -> None:
    settings: Any = settings_of(**changes, privacy="exact")
    strategy = trained(settings)
    schema, model, found = strategy.federation.schema, strategy.outcome.model, strategy.outcome.evaluation
    train, test = pool(settings, schema), pool(settings, schema, test=True)
    sites = range(settings.sites)
    columns = np.ones(train.X.shape[1], dtype=bool)
    if settings.ssvd_order == "select-first":
        votes = sum(select(train.X[train.sites == one], train.classes[train.sites == one]) for one in sites)
        columns = votes > settings.sites / 2
    y, rows, tried = [], [], []
    for one in sites:
        own, others = train.X[train.sites == one][:, columns], test.X[test.sites == one][:, columns]
        copies = distort(own)
        order = np.lexsort(copies.T)
        rows.append(copies[order])
        y.append(train.classes[train.sites == one][order])
        tried.append(others)
    X = np.vstack(rows)
    if settings.ssvd_order == "perturb-first":
        kept = select(X, np.concatenate(y))
        X, tried = X[:, kept], [part[:, kept] for part in tried]
        columns[columns] = kept
    scaler = StandardScaler() if settings.scaling == "standard" else MinMaxScaler((-1, 1))
    central = make_pipeline(scaler, svc_of(settings)).fit(X, np.concatenate(y))
    predicted = central.predict(np.vstack(tried))
    assert strategy.outcome.figures["columns_kept"] == [
        name for name, kept in zip(schema.columns, columns, strict=True) if kept
    ]
    assert found.rows == len(test.X)
    assert found.accuracy == pytest.approx((predicted == test.classes).mean())
    assert strategy.outcome.figures["rows_train"] == len(X)
    grid = np.vstack([X, np.vstack(tried)])
    names = np.array(schema.classes)[central.predict(grid)]
    assert (
        model.predict(pd.DataFrame(grid, columns=model.schema_.columns)).astype(str) == names
    ).mean() > 0.99


@pytest.mark.parametrize("order", ["select-first", "perturb-first"])
@pytest.mark.parametrize("data", ["wine", "breast_cancer"])
def test_no_undistorted_row_leaves(pool: Callable[..., Any], data: str, order: str) -> None:
    settings = settings_of(data=data, ssvd_order=order, privacy="exact")
    strategy = trained(settings)
    schema = strategy.federation.schema
    own = [pool(settings, schema, test=False).X, pool(settings, schema, test=True).X]
    original = np.vstack(own)
    answers = list(published(strategy))
    columns = answers[0]["rows"].shape[1]
    assert len(answers) == 3
    if order == "select-first":
        original = original[:, np.isin(schema.columns, strategy.outcome.figures["columns_kept"])]  # type: ignore[union-attr]
    assert columns == original.shape[1]
    sent = np.vstack([answer["rows"] for answer in answers])
    assert len(sent) == len(own[0])
    for row in original:
        assert np.abs(sent - row).max(axis=1).min() > 1e-6 * np.abs(row).max()
    # No other answer is as long as a site's rows, and what else is disclosed is names and keys.
    told = {(one["task"], one["how"]) for one in strategy.federation.costs.disclosed()}
    assert {task for task, how in told if how == "disclosed"} == {"join", "distorted_rows"}
    assert {task for task, how in told if how == "exact"} <= {"column_votes", "scores"}


def test_the_order_of_the_published_rows_is_not_the_tables(train: Train) -> None:
    X, y = noisy(0)
    orders = np.arange(60), np.random.default_rng(1).permutation(60)
    one, other = (
        next(published(train([(X[order], y[order]), noisy(1)], test_fraction=0.0))) for order in orders
    )
    assert one["rows"] == pytest.approx(other["rows"])
    assert one["classes"].tolist() == other["classes"].tolist()


def test_rows_that_would_leave_as_they_are_stay(train: Train) -> None:
    """A column that is repeated brings a singular value of 0, which goes, and no other does."""
    generator = np.random.default_rng(0)
    tables = []
    for _ in range(2):
        X = generator.uniform(9, 10, size=(40, 1))
        tables.append((np.hstack([X, X]), (X[:, 0] > 9.5).astype(np.int64)))
    told = r"leaves rows of site 'site-00.' as they are.*ssvd-order=perturb-first"
    with pytest.raises(TableError, match=told):
        train(tables, ssvd_order="select-first", privacy="exact")


@pytest.mark.parametrize("order", ["select-first", "perturb-first"])
def test_a_rule_that_keeps_nothing_asks_for_larger_numbers(order: str, train: Train) -> None:
    with pytest.raises(TableError):
        train([(X / 1000, y) for X, y in (noisy(0), noisy(1))], ssvd_order=order)


@pytest.mark.parametrize("order", ["select-first", "perturb-first"])
def test_a_constant_column_is_never_selected_and_can_be_distorted(order: str, train: Train) -> None:
    tables = [(np.column_stack([np.full(60, 7.0), X]), y) for X, y in (noisy(0), noisy(1))]
    found = train(tables, ssvd_order=order).outcome
    assert order != "select-first" or "x0" not in found.figures["columns_kept"]
    assert found.evaluation.rows == 24


def test_a_column_of_numbers_of_patients_warns_in_the_hospitals_log(
    train: Train, caplog: pytest.LogCaptureFixture
) -> None:
    numbered = [(np.column_stack([842300 + 17 * np.arange(60), X]), y) for X, y in (noisy(0), noisy(1))]
    # And it is so large that it hides all other columns.
    with pytest.raises(SettingError, match="published"):
        train(numbered, privacy="exact")
    warned = [text for text in caplog.messages if "nearly all different whole numbers" in text]
    assert ["'x0'" in text for text in warned] == [True, True]
    assert "8423" not in "".join(warned)


def test_a_class_at_one_site_only_takes_part(train: Train) -> None:
    generator = np.random.default_rng(0)
    tables = []
    for classes in ([0, 1], [0, 1], [0, 2]):
        y = np.array(classes * 30)
        tables.append((generator.normal(size=(60, 3)) + 12.0 * np.eye(3)[y] + 1, y))
    found = train(tables).outcome
    assert found.model is not None
    assert found.evaluation.accuracy > 0.9


def test_sites_of_one_class_vote_for_nothing_and_the_run_says_what_to_do(train: Train) -> None:
    tables = [(X[y == one], y[y == one]) for one in (0, 1) for X, y in (noisy(0, 120),)]
    told = r"No column has the votes of more than half.*ssvd-order=perturb-first"
    with pytest.raises(SettingError, match=told):
        train(tables, ssvd_order="select-first")
    assert train(tables).outcome.evaluation is not None


def test_published_rows_that_tell_nothing_end_the_run(train: Train) -> None:
    generator = np.random.default_rng(0)
    tables = [(generator.normal(size=(40, 3)), np.arange(40) % 2) for _ in range(2)]
    with pytest.raises(SettingError, match="No column of the published rows separates"):
        train(tables)


def test_a_class_without_a_training_row_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Federation, "collect", changing(lambda one: replace(one, classes=np.minimum(one.classes, 1)))
    )
    with pytest.raises(SettingError, match="'class_2'"):
        trained(settings_of())


def test_missing_cells_are_filled_with_the_sites_own_mean(train: Train) -> None:
    X, y = noisy(0)
    holes, filled = X.copy(), X.copy()
    holes[:5, 0] = np.nan
    filled[:5, 0] = np.nanmean(holes[:, 0])
    first, second = (
        next(published(train([(own, y), noisy(1)], test_fraction=0.0, privacy="exact")))["rows"]
        for own in (holes, filled)
    )
    assert first == pytest.approx(second)


def changing(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a `Federation.collect` that has the sites publish something else."""
    collect = Federation.collect

    def changed(self: Federation, task: Any, question: Any) -> Any:
        answers = collect(self, task, question)
        return {node: change(one) for node, one in answers.items()} if task is DISTORTED_ROWS else answers

    return changed


@pytest.mark.parametrize("changes", [{}, {"ssvd_order": "perturb-first"}], ids=str)
def test_the_audit_says_how_many_rows_are_linked(
    changes: dict[str, Any], pool: Callable[..., Any], tmp_path: Path
) -> None:
    settings = settings_of(audit=True, privacy="exact", **changes)
    run(in_process_grid(settings), settings, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    found = audit(settings, tmp_path)
    wanted = result["rows_train"]
    assert found.entries["rows_published"] == wanted
    assert found.not_examined == []
    assert f"{wanted} distorted rows published with their labels" in str(found)
    schema = trained(settings).federation.schema
    rows = pool(settings, schema)
    X, sites = rows.X, rows.sites
    if not changes:
        X = X[:, np.isin(schema.columns, result["columns_kept"])]  # type: ignore[union-attr]
    pairs = [(X[sites == site], distort(X[sites == site])) for site in range(3)]
    linked = sum(linked_rows(*pair) for pair in pairs) / wanted
    assert found.entries["linked"] == pytest.approx(linked)
    # Several matchings may have nearly the same sum, and rounding decides.
    matched = sum(matched_rows(*pair) for pair in pairs) / wanted
    assert found.entries["matched"] == pytest.approx(matched, abs=0.02)
    correlations = [column_correlation(*pair) for pair in pairs]
    assert found.entries["correlation"] == pytest.approx(np.mean(correlations))
    assert f"{linked:.1%} of them nearest to their own original" in str(found)


# What somebody with some of the rows can do; docs/rivals.md has the figures


def test_whoever_knows_patients_finds_them_and_reads_their_class(shared_data: Path) -> None:
    """Thirty patients of ionosphere, known by their cells: most are the nearest published row."""
    where = {"data": "ionosphere", "data_dir": str(shared_data), "sites": 2, "min_sites": 2}
    settings = settings_of(**where, ssvd_order="perturb-first", privacy="exact", test_fraction=0.0)
    answer = next(published(trained(settings)))
    victims = table_of(settings, 0)
    known = np.random.default_rng(0).permutation(len(victims.X))[:30]
    scale = np.where(answer["rows"].std(axis=0) > 0, answer["rows"].std(axis=0), 1.0)
    distances = np.linalg.norm((victims.X[known][:, None] - answer["rows"][None]) / scale, axis=2)
    nearest = distances.argmin(axis=1)
    copies = distort(victims.X)
    found = [np.allclose(answer["rows"][one], copies[own]) for one, own in zip(nearest, known, strict=True)]
    assert np.mean(found) > 0.6
    read = np.array(["b", "g"])[answer["classes"][nearest]]
    assert (read == victims.labels[known]).mean() > 0.9


def test_a_coordinator_that_asks_for_two_columns_has_most_cells_of_one_nearly_as_they_are() -> None:
    """A site answers one question a run, but the coordinator chooses the columns, and runs are not counted."""
    settings = settings_of(data="breast_cancer", test_fraction=0.0, privacy="exact")
    federation = joined(settings)
    radius_and_area = np.isin(np.arange(30), [0, 3])
    answers = federation.collect(DISTORTED_ROWS, DistortedRowsQuestion(radius_and_area))
    for name in federation.sites:
        original = table_of(settings, int(name.removeprefix("site-"))).X[:, radius_and_area]
        copies = distort(original)
        order = np.lexsort(copies.T)
        assert answers[name].rows == pytest.approx(copies[order])
        assert (np.abs(copies - original) <= 0.1 * original.std(axis=0)).mean(axis=0).max() > 0.7

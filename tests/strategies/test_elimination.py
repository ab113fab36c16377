"""What all feature selections have in common: filters, ranking, choice, the model on the chosen features, bad input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import load_wine, make_classification

from flower_pansvm.errors import SettingError, TrainingError
from flower_pansvm.multiclass import one_versus_all
from flower_pansvm.systems.scaling import NO_FOLD
from simulations.data.sites import SEPARATOR, drawn_split
from simulations.engines.in_process import in_process_grid, train_in_process
from strategies.federation.federation import Federation
from strategies.registry import STRATEGIES
from strategies.selection.elimination import Elimination
from strategies.selection.filters import by_classes
from strategies.settings import make_settings

Write = Callable[..., str]
Pool = Callable[..., Any]

QUICK: dict[str, Any] = {
    "sites": 3, "landmarks": "12", "tol": 0.05, "cv_folds": 2, "seed": 1, "privacy": "exact"
}  # fmt: skip


def select(**config: Any) -> Elimination:
    strategy = train_in_process(make_settings(**{**QUICK, **config}))
    assert isinstance(strategy, Elimination)
    return strategy


def some_rows(features: int = 6) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows of which the first three features tell the classes."""
    shape = {"n_informative": 3, "n_redundant": 0, "n_clusters_per_class": 1, "shuffle": False}
    X, y = make_classification(120, features, class_sep=1.5, random_state=0, **shape)
    return X, y


@pytest.fixture
def table(write_table: Write) -> str:
    return write_table(*some_rows())


# Filters


class Learned(Exception):  # noqa: N818 - not an error
    """Ends a run as soon as the sums of the classes are known."""


class OnlyMoments(Elimination):
    def eliminate(self, federation: Federation) -> None:
        self.classes = self.class_moments(federation)
        raise Learned


@pytest.mark.parametrize("data", [pytest.param("breast_cancer", marks=pytest.mark.slow), "wine"])
def test_statistics_of_five_sites_are_those_of_the_pooled_rows(data: str, pool: Pool) -> None:
    settings = make_settings(data=data, strategy="filter-wrapper", landmarks="10", privacy="exact")
    strategy = OnlyMoments(settings)
    with pytest.raises(Learned):
        strategy.start(in_process_grid(settings))
    schema, scaled = strategy.subsets.schema, strategy.subsets.scaled_sets[-1]
    rows = pool(settings, schema)
    X, pairs = scaled.scaling.transform(rows.X), one_versus_all(len(schema.classes))
    scores = by_classes(strategy.classes, pairs)
    groups = [X[rows.classes == one] for one in range(len(schema.classes))]
    means = np.stack([group.mean(axis=0) for group in groups])
    between = np.square(means - X.mean(axis=0)).sum(axis=0)
    within = sum(np.square(group - group.mean(axis=0)).sum(axis=0) for group in groups)
    assert scores.scatter == pytest.approx(between / within, rel=1e-9)
    sides = [(X[rows.classes == pair.positive], X[rows.classes != pair.positive]) for pair in pairs]
    fisher = [np.abs(a.mean(axis=0) - b.mean(axis=0)) / (a.var(axis=0) + b.var(axis=0)) for a, b in sides]
    assert scores.fisher == pytest.approx(np.sum(fisher, axis=0), rel=1e-9)
    tests = [stats.ttest_ind(a, b, equal_var=False) for a, b in sides]
    assert scores.welch == pytest.approx(np.sum([np.abs(test.statistic) for test in tests], axis=0), rel=1e-9)
    p = np.minimum(1.0, len(pairs) * np.min([test.pvalue for test in tests], axis=0))
    assert scores.p == pytest.approx(p, rel=1e-7, abs=1e-300)


# What every selection leaves


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name != "filter-wrapper"))
        for name in STRATEGIES
        if make_settings(strategy=name).selects
    ],
)
def test_every_feature_is_ranked_and_the_chosen_ones_are_a_head_of_the_ranking(
    strategy: str, table: str
) -> None:
    found = select(strategy=strategy, data=table).selection
    assert sorted(found.ranking) == list(range(6))
    assert found.selected == found.ranking[: len(found.selected)]
    removed = [one for step in found.steps for one in step.removed]
    screened = [] if found.screening is None else list(set(range(6)) - set(found.screening.kept))
    assert sorted(removed + screened) == sorted(found.ranking[1:])
    counts = [point.features for point in found.points]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (6, 1)
    best = max(point.accuracy for point in found.points if point.features <= 6 - len(screened))
    assert found.points[counts.index(len(found.selected))].accuracy == best


@pytest.mark.slow
def test_a_share_of_the_features_goes_at_a_time(write_table: Write) -> None:
    X, y = some_rows(features=40)
    found = select(strategy="voted-wrapper", data=write_table(X, y), step="0.5").selection
    assert [step.features for step in found.steps] == [
        40 - sum(len(one.removed) for one in found.steps[:i]) for i in range(len(found.steps))
    ]
    assert all(1 <= len(step.removed) <= max(1, step.features // 2) for step in found.steps)
    assert 1 < len(found.steps) < 12


@pytest.mark.parametrize("strategy", ["voted-wrapper", "filter-wrapper"])
@pytest.mark.slow
def test_several_classes(strategy: str) -> None:
    found = select(strategy=strategy, data="wine", step="0.3")
    assert found.evaluation.accuracy is not None
    # On 36 rows; of eight seeds the worst has 31 right.
    assert found.evaluation.accuracy > 0.8
    assert set(found.selection.ranking) == set(range(13))
    # Proline, flavanoids, colour and alcohol are what everybody finds.
    columns = load_wine().feature_names
    assert {columns[one] for one in found.selection.ranking[:4]} & {
        "proline",
        "flavanoids",
        "color_intensity",
    }


@pytest.mark.slow
def test_probabilities_and_chosen_penalties_come_with_a_selection(table: str) -> None:
    """And the model is trained to the end."""
    strategy = select(strategy="svm-rfe", data=table, probability=True, C="0.5,4", tol=1e-3)
    assert strategy.choice is not None
    assert all(state.gap <= 1e-3 for state in strategy.training.progress if state.problem.fold == NO_FOLD)
    frame = pd.read_csv(table)
    proba = strategy.model.predict_proba(frame[list(strategy.model.feature_names_in_)])
    assert proba.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("strategy", "filters"),
    [("voted-wrapper", {}), ("filter-wrapper", {"filters": "fisher=100%,welch=100%,scatter=100%"})],
)
@pytest.mark.slow
def test_hospitals_with_their_usual_pins_select(
    strategy: str, filters: dict[str, str], hospital_files: list[Path], hospitals: Callable[..., Any]
) -> None:
    for number, file in enumerate(hospital_files):
        frame = pd.read_csv(file)
        noise = np.random.default_rng(number).normal(size=len(frame))
        frame.assign(noise=noise).to_csv(file, index=False)
    settings = make_settings(sites=3, strategy=strategy, **filters, landmarks="12", tol=0.1)
    found = STRATEGIES[strategy](settings)
    assert isinstance(found, Elimination)
    found.start(hospitals(settings, hospital_files))
    assert found.subsets.schema.columns[found.selection.ranking[-1]] == "noise"


# Test rows


@pytest.mark.parametrize(
    "strategy", [pytest.param("voted-wrapper", marks=pytest.mark.slow), "filter-wrapper"]
)
def test_rows_left_out_have_no_part_in_scaling_landmarks_filters_or_selection(
    strategy: str, tmp_path: Path
) -> None:
    """CV2: the rows of the separate fifth are changed, and nothing but the accuracy on them is different."""
    X, y = some_rows()
    plain, changed = [], []
    for site, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        frame = pd.DataFrame(X[rows], columns=[f"x{one}" for one in range(6)]).assign(label=y[rows])
        plain.append(tmp_path / f"plain{site}.csv")
        frame.to_csv(plain[-1], index=False)
        labels, patients = frame["label"].astype(str).to_numpy(dtype=np.str_), np.arange(len(frame))
        out = drawn_split(labels, patients, 0.2, QUICK["seed"], site).held_out
        frame.loc[out, ["x0", "x1", "x2"]] = -50.0 * frame.loc[out, ["x0", "x1", "x2"]] + 3.0
        changed.append(tmp_path / f"changed{site}.csv")
        frame.to_csv(changed[-1], index=False)
    before, after = (
        select(strategy=strategy, data=SEPARATOR.join(map(str, files))) for files in (plain, changed)
    )
    assert after.selection.ranking == before.selection.ranking
    assert after.selection.steps == before.selection.steps
    assert after.selection.screening == before.selection.screening
    assert [one.accuracy for one in after.selection.points] == [
        one.accuracy for one in before.selection.points
    ]
    assert after.model.sha256() == before.model.sha256()
    assert after.evaluation.accuracy != before.evaluation.accuracy


# Bad input


def test_more_features_than_there_are_are_refused_before_anything_is_trained(table: str) -> None:
    settings = make_settings(strategy="voted-wrapper", data=table, features="7", **QUICK)
    grid = in_process_grid(settings)
    with pytest.raises(SettingError, match="features"):
        STRATEGIES["voted-wrapper"](settings).start(grid)
    assert {reply.metadata.message_type for reply in grid.replies} == {"query.join"}


def test_a_table_of_constants_is_refused(write_table: Write) -> None:
    with pytest.raises(TrainingError):
        select(strategy="filter-wrapper", data=write_table(np.ones((60, 3)), np.arange(60) % 2))


@pytest.mark.slow
def test_a_column_that_is_constant_without_a_fold_ends_no_selection(write_table: Write) -> None:
    X, y = some_rows()
    rare = np.zeros(len(y))
    rare[7] = 1.0
    config = {"kernel": "linear", "test_fraction": 0.0, "cv_folds": 5}
    found = select(strategy="voted-wrapper", data=write_table(np.column_stack([X[:, 0], rare]), y), **config)
    assert sorted(found.selection.ranking) == [0, 1]
    assert select(
        strategy="svm-t", data=write_table(np.column_stack([rare, rare]), y), **config
    ).selection.points


@pytest.mark.slow
def test_a_class_missing_in_a_fold(write_table: Write) -> None:
    X, y = some_rows()
    y = y + 1
    # Three rows of a third class: in five folds, two are without it.
    y[[0, 40, 80]] = 9
    found = select(strategy="voted-wrapper", data=write_table(X, y), cv_folds=5, test_fraction=0.0)
    assert sorted(found.selection.ranking) == list(range(6))


def test_a_single_feature_is_all_there_is_to_choose(write_table: Write) -> None:
    X, y = some_rows()
    found = select(strategy="voted-wrapper", data=write_table(X[:, :1], y))
    assert found.selection.ranking == found.selection.selected == (0,)
    assert found.selection.steps == ()


@pytest.mark.slow
def test_accuracies_by_number_of_features_are_those_of_models_on_other_rows(table: str, pool: Pool) -> None:
    """The fold models of the path are evaluated again by hand, on the rows they have not seen."""
    config = {"strategy": "svm-rfe", "data": table, "features": "3"}
    strategy = select(**config)
    rows = pool(strategy.settings, strategy.subsets.schema)
    mask = strategy.mask(strategy.selection.selected)
    trained, score = strategy.train_and_score(mask, None)
    right = []
    for fold in (0, 1):
        inside = rows.folds == fold
        X = strategy.subsets.scaled_sets[fold].scaling.transform(rows.X[inside])[:, mask]
        best = trained.states[fold][0].best
        decisions = trained.maps[fold].transform(X) @ best[:-1] + best[-1]
        right.append(np.mean((decisions > 0) == rows.classes[inside]))
    assert score.by_fold == pytest.approx(right, abs=1e-12)

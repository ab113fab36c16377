"""Weak mixtures: what two sites with different bounds share, what a coordinator gets, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clients.systems.mixture import class_models
from flower_pansvm import records
from flower_pansvm.errors import PanSVMError, SettingError, TableError
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.models.model import load_model
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.mixture.tasks import ClassModels
from simulations.attack.audit import audit
from simulations.data.pooling import pooled
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.app import run
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import trained

WriteTable = Callable[..., str]
AGREED = {"weak-models": "agreed"}


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "mixture", "sites": 3, "privacy": "exact", **values})


def clouds(rows: int = 360, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return two classes of three clouds each."""
    generator = np.random.default_rng(seed)
    which = generator.integers(6, size=rows)
    centres = np.array([[0, 0], [8, 0], [0, 8], [8, 8], [4, 4], [16, 4]])[which]
    return centres + generator.normal(0, 0.8, (rows, 2)), which % 2


@pytest.fixture
def table(write_table: WriteTable) -> str:
    """Return a table of which every component can be found at each of three sites."""
    return write_table(*clouds())


@pytest.mark.slow
def test_sites_with_different_bounds_share_different_numbers_in_one_run(table: str) -> None:
    strategy = trained(settings_of(data=table, risk_bounds="1,0.35,0"))
    counts = [models.components.sum() for models in strategy.weak.values()]
    assert counts[0] == 6
    assert 0 < counts[1] < 6
    assert counts[2] == 0
    assert strategy.outcome.figures["shared_components"]["site-000"] == [3, 3]


@pytest.mark.slow
def test_hospitals_choose_their_own_bounds(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    """And nothing that the run says of simulated sites' bounds counts for them."""
    settings = settings_of(data="", risk_bounds="0", min_cluster=5)
    some = trained(settings, hospitals(settings, hospital_files, {**AGREED, "risk-bound": 0.45}))
    most = trained(settings, hospitals(settings, hospital_files, {**AGREED, "risk-bound": 1}, run_id=2))
    counts = [sum(m.components.sum() for m in found.weak.values()) for found in (some, most)]
    assert 0 < counts[0] < counts[1]
    with pytest.raises(SettingError, match="classes"):
        trained(settings, hospitals(settings, hospital_files, {**AGREED, "risk-bound": 0}, run_id=3))


@pytest.mark.parametrize(
    "pins",
    [
        {"risk-bound": 1.5},
        {"risk-bound": "low"},
        {"utility-share": 0},
        {"risk-weights": "0.4,0.6"},
        {"risk-weights": "0.4,0.2,0.2,0.3"},
        {"risk-weights": "nan,0,0,1"},
    ],
    ids=str,
)
def test_a_node_config_that_cannot_be_is_refused(
    pins: dict[str, Any], hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    settings = settings_of(data="")
    with pytest.raises(PanSVMError, match=next(iter(pins))):
        trained(settings, hospitals(settings, hospital_files, {**AGREED, **pins}))


def test_components_of_fewer_rows_than_a_hospital_wants_are_not_asked_for(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    settings = settings_of(data="", min_cluster=5)
    with pytest.raises(SettingError, match="min-cluster"):
        trained(settings, hospitals(settings, hospital_files, {**AGREED, "min-cluster": 7}))


@pytest.mark.slow
def test_a_class_that_is_too_small_at_a_site_is_not_shared_by_it(write_table: WriteTable) -> None:
    X, y = clouds(300)
    first = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)[:5]])
    files = [
        write_table(X[part], y[part], f"t{i}") for i, part in enumerate((first, *np.split(np.arange(300), 2)))
    ]
    strategy = trained(settings_of(data="|".join(files), risk_bounds="1"))
    shared = [(models.components > 0).tolist() for models in strategy.weak.values()]
    assert shared == [[True, False], [True, True], [True, True]]
    assert strategy.weak["site-000"].rows[1] == 0


@pytest.mark.slow
def test_a_class_at_one_site_only_is_still_predicted_and_one_at_none_never(
    write_table: WriteTable, caplog: pytest.LogCaptureFixture
) -> None:
    X, y = clouds(400)
    X[y == 2] += 30
    files = []
    for site, part in enumerate(np.split(np.arange(390), 3)):
        labels = y[part].copy()
        rows = X[part].copy()
        if site == 1:
            labels[:40], rows[:40] = 2, rows[:40] + 30
        if site == 2:
            labels[:4], rows[:4] = 3, rows[:4] - 30
        files.append(write_table(rows, labels, f"t{site}"))
    strategy = trained(settings_of(data="|".join(files), risk_bounds="1"))
    text = " ".join(record.getMessage() for record in caplog.records)
    assert "class '2' is shared by one site only, 'site-001'" in text
    assert "class '3' is shared by no site, and is never predicted" in text
    confusion = np.array(strategy.outcome.evaluation.confusion)
    assert confusion[2, 2] == confusion[2].sum() > 0
    assert confusion[:, 3].sum() == 0 < confusion[3].sum()


def test_classes_whose_rows_are_all_the_same_are_not_shared(write_table: WriteTable) -> None:
    """A mixture of one row's copies would be that row."""
    X, y = clouds(300)
    X[y == 1] = 3.0
    with pytest.raises(SettingError, match="risk-bounds"):
        trained(settings_of(data=write_table(X, y), risk_bounds="1"))


def test_training_rows_of_one_class_are_an_error(write_table: WriteTable) -> None:
    X, y = clouds(60)
    y[:] = 0
    y[0] = 1
    with pytest.raises(TableError):
        trained(settings_of(data=write_table(X, y), test_fraction=0.9, sites=2, min_sites=2, privacy="exact"))


@pytest.mark.slow
def test_the_combined_model_is_better_than_the_mean_of_the_weak_ones(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On sites of which each has some of the clouds; scored on all sites' test rows."""
    monkeypatch.setattr("strategies.mixture.PERTURBATION", 0.0)
    settings = settings_of(data=table, split="feature:x0", risk_bounds="1")
    strategy = trained(settings)
    model = strategy.outcome.model
    assert isinstance(model, GaussianMixtures)
    rows = pooled(settings)
    train, test = (model.scaling_.transform(part.X) for part in (rows.train, rows.test))
    weak = []
    for site in range(3):
        own = rows.train.sites == site
        models = class_models(train[own], rows.train.classes[own], False, 5, 0)
        counts = np.bincount(rows.train.classes[own], minlength=2).astype(float)
        alone = ClassModels.of(models, counts, 2, False)
        weak.append(((alone.decisions(test)[:, 0] > 0) == rows.test.classes).mean())
    assert strategy.outcome.evaluation.accuracy > np.mean(weak) + 0.1
    # Counts of the sites are those of the model in one place.
    said = (model.decision_function(rows.test.X) > 0).astype(int)
    assert (said == rows.test.classes).mean() == pytest.approx(strategy.outcome.evaluation.accuracy)


@pytest.mark.slow
def test_the_model_that_is_given_out_is_perturbed_and_saved(table: str, tmp_path: Path) -> None:
    found = trained(settings_of(data=table))
    model = found.outcome.model
    assert isinstance(model, GaussianMixtures)
    for number, given_out in model.mixtures_.by_class().items():
        np.testing.assert_allclose(given_out.covariances, 1.1 * found.combined[number].covariances)
        np.testing.assert_array_equal(given_out.means, found.combined[number].means)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    X = clouds(50, seed=9)[0]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.sha256() == model.sha256()
    assert found.outcome.figures["quality_lost_by_perturbation"] > 0


@pytest.mark.parametrize(
    "change",
    [
        {"means": np.zeros((1, 2))},
        {"scale": np.zeros(2)},
        {"components": np.array([2, 0])},
        {"weights": np.zeros(2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_model_file_whose_parts_do_not_fit_is_refused(change: dict[str, Any]) -> None:
    schema, scaling = Schema(("a", "b"), ("0", "1")), Scaling(np.zeros(2), np.zeros(2), np.ones(2))
    arrays = GaussianMixtures.from_parts(schema, scaling, SOUND).to_arrays()
    assert GaussianMixtures.from_arrays(arrays).to_arrays().keys() == arrays.keys()
    with pytest.raises(ValueError, match=r"do not fit|Fewer than two|Weights"):
        GaussianMixtures.from_arrays({**arrays, **change})


def test_no_row_and_nothing_else_is_in_what_a_site_discloses(table: str) -> None:
    settings = settings_of(data=table, risk_bounds="1")
    replies = trained(settings).federation.grid.replies
    replies = [one for one in replies if one.metadata.message_type == "train.weak_models"]
    assert len(replies) == 3
    X = pooled(settings).train.X
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for reply in replies:
        told = records.get(reply.content, "disclosed")
        assert set(told) == {"rows", "components", "weights", "means", "covariances"}
        # No mean is a row, nor within a tenth of how far it is from the nearest other.
        apart = np.linalg.norm(told["means"][:, None] - scaled[None], axis=2)
        assert apart.min() > 1e-3
        assert (told["weights"] * np.repeat(told["rows"], told["components"]) >= 4.9).all()


SOUND = ClassModels(
    np.array([9.0, 9.0]), np.array([1, 1]), np.ones(2), np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1))
)


@pytest.mark.slow
def test_the_audit_measures_how_near_means_come_to_rows(table: str, tmp_path: Path) -> None:
    settings = settings_of(data=table, audit=True, risk_bounds="1")
    run(in_process_grid(settings), settings, tmp_path)
    found = audit(settings, tmp_path)
    assert found.entries["fewest_rows_of_a_component"] >= 5
    assert found.entries["rows_at_a_mean"] is None


@pytest.mark.slow
def test_two_runs_that_differ_in_one_training_row_give_it_away(table: str) -> None:
    """All components together have the mean of the class; docs/rivals.md says what follows from it."""
    means, rows = [], []
    for fraction in (0.0, 0.015):
        settings = settings_of(data=table, risk_bounds="1", test_fraction=fraction)
        strategy = trained(settings)
        model, shared = strategy.outcome.model, strategy.weak["site-000"]
        assert isinstance(model, GaussianMixtures)
        own = shared.by_class()[0]
        mean = own.weights @ own.means * model.scaling_.scale + model.scaling_.shift
        means.append(shared.rows[0] * mean)
        rows.append(shared.rows[0])
    assert rows[0] - rows[1] == 1
    left_out = pooled(settings).test
    (row,) = left_out.X[(left_out.sites == 0) & (left_out.classes == 0)]
    np.testing.assert_allclose(means[0] - means[1], row, atol=1e-6)

"""Private and hybrid SVM: exact weights of one place, noise of the size that is told, and who is charged for what."""

import functools
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.ledger.ledger import read_ledger
from clients.systems.admm import solve
from clients.systems.output_perturbation import local_weights, weights_of
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError, TrainingError
from flower_pansvm.models.fourier_svc import RandomFourierSVC
from flower_pansvm.privacy.accountant import epsilon_of
from flower_pansvm.privacy.output_perturbation import perturbed
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.output_perturbation import RFF, LocalWeightsQuestion
from flower_pansvm.terms import Scalar
from simulations.attack.active.hospitals import Hospitals, schema_broadcast
from simulations.attack.audit import audit
from simulations.engines.in_process import in_process_grid
from strategies.app import run
from strategies.master import engine
from strategies.output_perturbation.strategies import LOCAL_TOL, PrivateSvm
from strategies.output_perturbation.training import rows_of_file
from strategies.report.page import headline, write_report
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid
from tests.strategies.conftest import trained


def settings_of(**values: Any) -> Settings:
    return make_settings(
        **{"strategy": "private-svm", "data": "breast_cancer", "frequencies": 4, "sites": 3, **values}
    )


def model_of(strategy: PrivateSvm) -> RandomFourierSVC:
    assert isinstance(strategy.outcome.model, RandomFourierSVC)
    return strategy.outcome.model


def guarantee(strategy: PrivateSvm) -> dict[str, Any]:
    found: dict[str, Any] = strategy.outcome.figures["guarantee"]
    return found


def exact(z: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    rows = y[:, None] * z
    weights: np.ndarray = solve(rows, np.full(len(rows), C / len(rows)), np.ones(len(rows)), 1e-10) @ rows
    return weights


# The model


@pytest.mark.parametrize("changes", [{}, {"strategy": "hybrid-svm", "C_total": 1000.0, "gamma": 4.0}])
def test_without_noise_it_is_what_one_place_would_compute(
    pool: Callable[..., Any], changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "strategies.output_perturbation.strategies.perturbed", lambda weights, scale, bits: weights
    )
    settings = settings_of(privacy="exact", **changes)
    strategy = trained(settings)
    model, schema = model_of(strategy), strategy.federation.schema
    rows = pool(settings, schema)
    z, y = model.feature_map_.transform(rows.X), np.where(rows.classes == 1, 1.0, -1.0)
    C, told = changes.get("C_total", 100.0), guarantee(strategy)
    assert told["rows"] == len(y)
    assert 0 <= told["gap"] <= 1e-7 * C
    # The objective is 1-strongly convex.
    assert np.linalg.norm(model.coef_[:, 0] - exact(z, y, C)) <= 2 * np.sqrt(2e-7 * C)
    test, evaluation = pool(settings, schema, test=True), strategy.outcome.evaluation
    right = model.predict(test.X) == np.array(schema.classes)[test.classes].astype(model.classes_.dtype)
    assert evaluation.accuracy == pytest.approx(right.mean())
    assert evaluation.auc is not None


def test_local_models_are_those_of_the_sites_and_the_mean_is_the_model(
    pool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "flower_pansvm.privacy.output_perturbation.perturbed", lambda weights, scale, bits: weights
    )
    monkeypatch.setattr("strategies.output_perturbation.strategies.LOCAL_TOL", LOCAL_TOL)
    settings = settings_of(privacy="dp")
    strategy = trained(settings)
    model = model_of(strategy)
    rows = pool(settings, strategy.federation.schema)
    z, y = model.feature_map_.transform(rows.X), np.where(rows.classes == 1, 1.0, -1.0)
    own = [exact(z[rows.sites == site], y[rows.sites == site], 100.0) for site in range(3)]
    assert model.coef_[:, 0] == pytest.approx(np.mean(own, axis=0), abs=1e-3)


# The noise


def test_the_noise_in_a_release_is_of_the_scale_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    exact_ones: list[np.ndarray] = []

    def spy(weights: np.ndarray, scale: float, bits: Any) -> np.ndarray:
        exact_ones.append(weights)
        return perturbed(weights, scale, bits)

    monkeypatch.setattr("strategies.output_perturbation.strategies.perturbed", spy)
    strategy = trained(settings_of(epsilon=2.0))
    told, noise = guarantee(strategy), model_of(strategy).coef_[:, 0] - exact_ones[0]
    assert told["lambda"] == pytest.approx(2**2.5 * 100 * 2 / (told["rows"] * 2.0), rel=1e-6)
    # The mean of Laplace numbers' sizes is their scale; that of eight is five times it once in 10^12 runs.
    assert 0.05 < np.abs(noise).mean() / told["lambda"] < 5
    assert np.abs(noise).min() > 0


def test_each_sites_noise_is_for_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[float] = []

    def spy(weights: np.ndarray, scale: float, bits: Any) -> np.ndarray:
        scales.append(scale)
        return weights

    monkeypatch.setattr("flower_pansvm.privacy.output_perturbation.perturbed", spy)
    strategy = trained(settings_of(privacy="dp", test_fraction=0.0))
    rows = [569 // 3 + (site < 569 % 3) for site in range(3)]
    expected = [2**2.5 * 100 * np.sqrt(8 / 2) / n for n in rows]
    assert sorted(scales, reverse=True) == pytest.approx(sorted(expected, reverse=True), rel=1e-6)
    assert guarantee(strategy)["lambda_times_rows"] == pytest.approx(2**2.5 * 100 * np.sqrt(4))


def test_simulated_noise_follows_from_the_seed_and_other_noise_from_nothing() -> None:
    def key(**values: Any) -> bytes:
        return PrivateSvm(settings_of(**values))._key()

    assert key() == key() != key(seed=1)
    # With public ends of columns the sites may be hospitals.
    assert key(schema="/schema.toml") != key(schema="/schema.toml")


# What is refused


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"C_total": 0.001}, r"C-total=0.001 is too small for 454 rows.*Set C-total=4e-02 or more"),
        ({"public": "2000"}, "more public rows than it has"),
        ({"strategy": "hybrid-svm", "public": "0"}, "public=0 names none"),
    ],
)
def test_settings_that_make_no_promise(values: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        trained(settings_of(**values))


def test_weights_that_are_less_exact_get_more_noise_before_they_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("strategies.output_perturbation.strategies.TOL", 3e-3)
    told = guarantee(trained(settings_of(C_total=1000.0)))
    exactly = 2**2.5 * 1000 * 2 / told["rows"]
    assert exactly < told["lambda"] < 2 * exactly
    assert told["lambda"] == pytest.approx(exactly / 2 + 4 * np.sqrt(4 * 3e-3 * 1000))


def test_a_search_that_gives_up_releases_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "strategies.output_perturbation.training.solve", functools.partial(engine.solve, most_rounds=2)
    )
    settings = settings_of(out=str(tmp_path / "out"))
    with pytest.raises(TrainingError):
        run(in_process_grid(settings), settings, tmp_path / "out")
    assert not (tmp_path / "out" / "model.npz").exists()


# Public rows


def test_public_rows_are_of_all_classes_and_told(pool: Callable[..., Any]) -> None:
    settings = settings_of(strategy="hybrid-svm", public="18")
    strategy = trained(settings)
    rows = pool(settings, strategy.federation.schema)
    assert len(strategy.public_rows) == strategy.outcome.figures["public_rows"] == 18
    places = [np.flatnonzero((row == rows.X).all(axis=1)) for row in strategy.public_rows]
    assert all(len(place) for place in places)
    positive = np.mean([rows.classes[place[0]] for place in places])
    assert positive == pytest.approx(rows.classes.mean(), abs=0.12)
    assert "18 rows of simulated sites, which were disclosed as public" in guarantee(strategy)["not_covered"]
    assert strategy.federation.costs.disclosures["public_rows", "rows"]["how"] == "disclosed"


def test_public_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("other,dose,age\nx,1,50\ny,,60\nz,3,70\n")
    found = rows_of_file(path, Schema(("age", "dose"), ("0", "1")))
    assert np.array_equal(found, [[50, 1], [60, np.nan], [70, 3]], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read"),
        ("", "cannot be read"),
        ("agee,dose\n1,2\n", "no column 'age'. Did you mean 'agee'"),
        ("age,dose\n1,high\n", "a cell that is not a number"),
        ("age,dose\n1\n", "a line that is too short"),
    ],
)
def test_files_of_public_rows_that_cannot_be(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "public.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingError, match=told):
        rows_of_file(path, Schema(("age", "dose"), ("0", "1")))


# What a run says of itself


@pytest.mark.parametrize(
    ("mode", "level", "protected"),
    [("release", "auto", "whoever gets the model"), ("local", "dp", "everybody but the site")],
)
@pytest.mark.slow
def test_what_a_run_says_of_itself(
    mode: str, level: str, protected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strategies.output_perturbation.strategies.LOCAL_TOL", LOCAL_TOL)
    settings = settings_of(privacy=level, audit=True, out=str(tmp_path))
    run(in_process_grid(settings), settings, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    told = result["guarantee"]
    assert told["mode"] == mode
    assert told["epsilon"] == 1.0
    assert (told["lambda"] is None) == (mode == "local")
    assert told["gap"] <= (1e-4 if mode == "local" else 1e-5)
    assert "the number of training rows, which counts as public" in told["not_covered"]
    found = audit(settings, tmp_path)
    assert set(found.not_examined) <= {"rff_cuts", "rff_scores", "extremes"}
    assert ("rff_cuts" in found.not_examined) == (mode != "local")
    assert "Differential privacy of what is released" in write_report(tmp_path).read_text()
    assert protected in headline(result)["promise"]


# At hospitals


NODE: dict[str, Scalar] = {"epsilon": 4.0, "delta": 1e-5, "classes": "0,1", "own-weights": "agreed"}


@pytest.fixture
def files(write_with_ranges: Callable[[int], list[Path]], tmp_path: Path) -> list[Path]:
    found = write_with_ranges(6000)
    pd.read_csv(found[0]).head(20).to_csv(tmp_path / "public.csv", index=False)
    return found


def of_hospitals(tmp_path: Path, **values: Any) -> Settings:
    usual = {"epsilon": 3.0, "gamma": 6.25, "C_total": 30.0, "frequencies": 20, "privacy": "dp"}
    return settings_of(**{**usual, "schema": str(tmp_path / "ranges.toml"), **values})


@pytest.fixture
def train(files: list[Path], hospitals: MakeGrid, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that trains at hospitals of such a node config, and returns the strategy."""

    def run(node: dict[str, Scalar] | None = NODE, run_id: int | None = None, **values: Any) -> Any:
        settings = of_hospitals(tmp_path, **values)
        return trained(settings, hospitals(settings, files, node, run_id=run_id))

    return run


@pytest.mark.slow
def test_local_answers_are_charged_and_then_no_more(
    train: Callable[..., Any], tmp_path: Path, state_home: Path
) -> None:
    strategy = train(strategy="hybrid-svm", public=str(tmp_path / "public.csv"))
    assert (strategy.outcome.evaluation.accuracy or 0) > 0.75
    assert {reply.metadata.message_type for reply in strategy.federation.grid.replies} == {
        *("query.join", "train.local_weights", "evaluate.rff_private_scores")
    }
    cost = 3.0**2 / (2 * 40)
    for number in range(3):
        ledger = read_ledger(state_home / f"site-hospital{number}")
        assert [one.task for one in ledger.charges] == ["local_weights", "rff_private_scores"]
        assert ledger.spent("train") == pytest.approx(cost)
    told = guarantee(strategy)
    assert told["epsilon_of_ledger"] == pytest.approx(epsilon_of(cost, 1e-5))
    assert all("simulated" not in one for one in told["not_covered"])
    # The budget allows three such answers and no fourth; noise is new each time.
    assert model_of(train(run_id=2)).sha256() != model_of(strategy).sha256()
    train(run_id=3)
    with pytest.raises(BudgetError, match="enough"):
        train(run_id=4)


@pytest.mark.parametrize(
    ("node", "values", "told"),
    [
        (NODE, {"privacy": "auto"}, "privacy='perturbed'"),
        ({}, {}, "no budget for differential privacy"),
        (NODE, {"schema": ""}, "'ranges', which is for simulated sites"),
        (NODE, {"strategy": "hybrid-svm"}, "'public_rows', which is for simulated sites"),
        ({"privacy": "perturbed"}, {"privacy": "exact"}, "privacy='exact'"),
        ({**NODE, "epsilon": 0.5}, {}, "not enough is left"),
        ({key: value for key, value in NODE.items() if key != "own-weights"}, {}, "own-weights='agreed'"),
    ],
)
def test_hospitals_refuse(
    train: Callable[..., Any], state_home: Path, node: dict[str, Scalar], values: dict[str, Any], told: str
) -> None:
    with pytest.raises(PanSVMError, match=told):
        train(node, **values)
    assert all(read_ledger(state_home / f"site-hospital{number}").charges == () for number in range(3))


def test_hospitals_refuse_weights_that_are_not_exact(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strategies.output_perturbation.strategies.LOCAL_TOL", 1e30)
    with pytest.raises(PanSVMError):
        train()


def test_a_hospital_gives_no_weights_of_some_of_its_classes(tmp_path: Path) -> None:
    """The noise tells the number of rows, which is public; that of each class is not."""
    rows = dict.fromkeys(("first", "second", "third"), 60)
    told_map = RandomFourierMap(np.zeros(13), np.ones(13), np.zeros((1, 13)))
    question = LocalWeightsQuestion(size=2, C=1.0, epsilon=0.5, tol=1e-6)
    for listed, refused in ((2, nullcontext()), (3, pytest.raises(SettingError))):
        study = Hospitals(tmp_path / str(listed), rows, classes=listed)
        told = {SCHEMA: schema_broadcast(study.settings, 2), RFF: told_map}
        with refused:
            assert study.exact("first", told, local_weights, question).weights.shape == (2,)


@pytest.mark.parametrize(("C", "tol"), [(1.0, 1e-6), (100.0, 1e-4)])
def test_a_fixed_number_of_steps_finds_weights_as_exactly_as_the_noise_allows_for(
    C: float, tol: float
) -> None:
    """Whether they are found would depend on a row: 30,300 certain answers for a budget of epsilon = 1."""
    generator = np.random.default_rng(0)
    for rows in (generator.normal(size=(60, 4)), np.repeat(generator.normal(size=(1, 4)), 30, axis=0)):
        Z = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
        cost = C / len(Z)
        duals = solve(Z, np.full(len(Z), cost), np.ones(len(Z)), 1e-10)
        lower = duals.sum() - np.square(duals @ Z).sum() / 2
        w = weights_of(Z, C, tol)
        assert w @ w / 2 + cost * np.maximum(0, 1 - Z @ w).sum() <= lower + tol * C


@pytest.mark.parametrize(
    "question", [(1e6, 1e-6), (1.0, 1e-9), (2e6, 1.0), (-1.0, 1e-6), (1.0, float("nan")), (1e-316, 1e-8)]
)
def test_a_gap_that_no_fixed_number_of_steps_proves_is_refused_whatever_the_rows(
    question: tuple[float, float], tmp_path: Path
) -> None:
    """So is a C so small that the noise has no grid: weights by 0 failed with one error at 0, another one elsewhere."""
    study = Hospitals(tmp_path / "study", dict.fromkeys(("first", "second", "third"), 60), classes=2)
    told_map = RandomFourierMap(np.zeros(13), np.ones(13), np.zeros((1, 13)))
    told = {SCHEMA: schema_broadcast(study.settings, 2), RFF: told_map}
    C, tol = question
    with pytest.raises(SettingError):
        study.exact("first", told, local_weights, LocalWeightsQuestion(2, C, 0.5, tol))


def test_hospitals_that_agree_to_sums_without_a_proof_train_for_a_release(
    train: Callable[..., Any],
) -> None:
    strategy = train(None, privacy="auto")
    assert (strategy.outcome.evaluation.auc or 0) > 0.8

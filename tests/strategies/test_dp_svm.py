"""DP-SVM: the model of one place but for the noise, noise of the size that was promised, and every answer paid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from clients.ledger.ledger import read_ledger
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError, TrainingError
from flower_pansvm.fourier_map import BINS, FourierMap, bins, places
from flower_pansvm.models.fourier_svc import FourierSVC
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, STEP, WEIGHT_STEP, rounded, shortened
from flower_pansvm.schema import Schema
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_STEP
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.app import run
from strategies.dp_svm.fit import (
    PRIOR,
    SMOOTHING,
    WIDTHS,
    NoisyRidge,
    fitted_map,
    orthogonal_frequencies,
    shares,
    symmetric,
)
from strategies.settings import Settings, make_settings
from strategies.steps.private_tests import evaluated
from strategies.steps.public_ranges import ranges_of, rounded_outward
from tests.conftest import MakeGrid
from tests.grids import KilledError, from_message, kill, silence
from tests.strategies.conftest import RANGES, trained

Train = Callable[..., Any]


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "dp-svm", "data": "breast_cancer", **values})


@pytest.mark.parametrize(
    "changes", [{}, {"steps": 0}, {"data": "iris", "epsilon": 20.0}, {"sites": 3, "colluders": 2}]
)
def test_without_noise_it_is_what_one_place_would_compute(
    pool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr(
        "clients.gate.private.discrete_gaussian", lambda sigma, size, bits: np.zeros(size, dtype=np.int64)
    )
    settings = settings_of(**changes)
    strategy = trained(settings)
    model, schema = strategy.outcome.model, strategy.federation.schema
    assert isinstance(model, FourierSVC)
    rows = pool(settings, schema)
    z = model.feature_map_.transform(rows.X)
    classes = len(schema.classes)
    y = np.where(rows.classes == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[rows.classes]
    sides, steps = (y if classes == 2 else 2 * y - 1), changes.get("steps", 8)
    rho, of_sites = strategy.budget.rho, settings.sites / (settings.sites - changes.get("colluders", 1))
    scaling, moments, momentum, larger, averaged = (
        (0.25, 0.15, 0.5, 1, 2) if classes == 2 else (0.1, 0.2, 0.7, 0.4, 1)
    )
    in_steps, moments = 1 - scaling - moments, moments if steps else 1 - scaling
    ridge = NoisyRidge(z.T @ z, z.T @ y, np.sqrt(2 * of_sites / (2 * moments * rho)))
    w = ridge.weights if classes == 2 else 2 * ridge.weights - np.eye(z.shape[1])[:, -1:] * 4
    path, v = [rounded(w, WEIGHT_STEP, LARGEST_WEIGHT)], np.zeros_like(w)
    noise = np.sqrt(of_sites / (2 * in_steps * rho / max(steps, 1)))
    penalty = min(ridge.penalty, max(len(z) / 5, noise * np.sqrt(z.shape[1]))) * larger
    penalty *= np.clip(np.sqrt(1500 / len(z)), 1, 1.5)
    for _ in range(steps):
        slopes = np.trunc(sides * np.clip(1 - sides * (z @ path[-1]), 0, 1) / STEP) * STEP
        g = z.T @ shortened(slopes, STEP, longest=1.0, least=1.0)
        v = momentum * v + ridge.solve(g, penalty)
        path.append(rounded(path[-1] + v, WEIGHT_STEP, LARGEST_WEIGHT))
    assert model.coef_ == pytest.approx(np.mean(path[-averaged:], axis=0), abs=WEIGHT_STEP)
    test = pool(settings, schema, test=True)
    expected = np.mean(
        model.predict(test.X) == np.array(schema.classes)[test.classes].astype(model.classes_.dtype)
    )
    assert strategy.outcome.evaluation.accuracy == pytest.approx(expected)


@pytest.mark.parametrize(("sites", "colluders"), [(5, 1), (5, 4), (3, 0)])
def test_the_noise_is_as_large_as_it_has_to_be(
    pool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, sites: int, colluders: int
) -> None:
    seen = []
    monkeypatch.setattr(
        "strategies.dp_svm.strategy.symmetric", lambda d, a: seen.append((d, a)) or symmetric(d, a)
    )
    settings = settings_of(sites=sites, colluders=colluders, steps=1)
    strategy = trained(settings)
    assert isinstance(strategy.outcome.model, FourierSVC)
    z = strategy.outcome.model.feature_map_.transform(pool(settings, strategy.federation.schema).X)
    exact = z.T @ z
    (diagonal, above), size = seen[0], len(exact)
    one = np.sqrt(2 * sites / (sites - colluders) / (2 * 0.15 * strategy.budget.rho))
    assert np.std(above - exact[np.triu_indices(size, 1)]) == pytest.approx(one / np.sqrt(2), rel=0.1)
    assert np.std(diagonal - np.diag(exact)) == pytest.approx(one, rel=0.4)


@pytest.fixture
def files(write_with_ranges: Callable[[int], list[Path]]) -> list[Path]:
    return write_with_ranges(1500)


NODE: dict[str, Scalar] = {"epsilon": 4.0, "delta": 1e-5, "classes": "0,1"}
LISTED: dict[str, Scalar] = {"epsilon": 4.0, "classes": "0,1"}
EXTREMES: dict[str, Scalar] = {"extremes": "agreed"}


def of_hospitals(tmp_path: Path, **values: Any) -> Settings:
    return settings_of(**{"sites": 3, "epsilon": 4.0, "schema": str(tmp_path / "ranges.toml"), **values})


@pytest.fixture
def train(files: list[Path], hospitals: MakeGrid, tmp_path: Path) -> Train:
    """Return a function that trains at hospitals of such a node config, and returns the strategy."""

    def run(node: dict[str, Scalar] = NODE, run_id: int | None = None, **values: Any) -> Any:
        settings = of_hospitals(tmp_path, **values)
        return trained(settings, hospitals(settings, files, node, run_id=run_id))

    return run


def test_hospitals_pay_for_every_answer_and_then_no_more(train: Train, state_home: Path) -> None:
    strategy = train()
    assert (strategy.outcome.evaluation.accuracy or 0) > 0.8
    told = strategy.outcome.figures["privacy"]
    assert told["not_covered"] == []
    assert max(told["epsilon_train"], told["epsilon_test"]) <= 4.0
    assert [(one["task"], one["rows"], one["answers"]) for one in told["spent"]] == [
        ("private_bins", "train", 1),
        ("private_moments", "train", 1),
        ("private_step", "train", 8),
        ("private_scores", "test", 1),
    ]
    # One to join.
    assert strategy.federation.costs.round_trips == 1 + 11
    # Nothing but names and private sums has left, each of them charged.
    sent = {reply.metadata.message_type for reply in strategy.federation.grid.replies}
    training = {f"train.{task.name}" for task in (PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_STEP)}
    assert sent == {"query.join", *training, "evaluate.private_scores"}
    for number in range(3):
        ledger = read_ledger(state_home / f"site-hospital{number}")
        assert ledger.spent("train") == pytest.approx(strategy.budget.total("train"))
        assert epsilon_of(ledger.spent("train"), 1e-5) == pytest.approx(4.0, abs=1e-6)
        assert [one.task for one in ledger.charges].count("private_step") == 8
    with pytest.raises(BudgetError, match="enough"):
        train(run_id=2)
    with pytest.raises(BudgetError):
        train(run_id=3, epsilon=0.5)


def test_nothing_that_a_hospital_sends_tells_whether_most_of_a_column_is_in_other_units(
    files: list[Path], train: Train, tmp_path: Path
) -> None:
    """What most cells are would be told without noise, and free of charge, by a refusal."""
    sent = []
    for run_id in (1, 2):
        node = {**NODE, "schema": str(tmp_path / "ranges.toml")}
        grid = train(node, run_id, epsilon=1.0, steps=1).federation.grid
        assert not any(reply.has_error() for reply in grid.replies)
        # Keys, masks and noise are new each time, and how long a sum is follows from what the last one has chosen.
        parts = [
            (reply.metadata.message_type, *part) for reply in grid.replies for part in reply.content.items()
        ]
        sent.append(sorted((kind, place, name) for kind, place, record in parts for name in record))
        pd.read_csv(files[1]).assign(age=lambda table: 12 * table["age"]).to_csv(files[1], index=False)
    assert sent[0] == sent[1]


def test_a_repeated_sum_is_charged_again(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path, state_home: Path
) -> None:
    """Also at the hospital whose answer was lost: it has left."""
    settings = of_hospitals(tmp_path, timeout=0.05, min_sites=2)
    grid = hospitals(settings, files, {**NODE, "min-sites": 2})
    silence(grid, from_message(3, 5), delivered=True)
    strategy = trained(settings, grid)
    charges = [read_ledger(state_home / f"site-hospital{number}") for number in range(3)]
    tasks = [[one.task for one in ledger.charges] for ledger in charges]
    assert tasks[0].count("private_step") == tasks[2].count("private_step") == 8
    assert tasks[1].count("private_step") == 2
    told = strategy.outcome.figures["privacy"]
    # Seven different questions, one of them paid twice.
    assert next(one["answers"] for one in told["spent"] if one["task"] == "private_step") == 8
    assert told["epsilon_train"] <= 4.0
    assert charges[0].spent("train") == pytest.approx(strategy.budget.total("train"))


def test_a_double_masked_sum_is_opened_only_over_those_whose_noise_is_enough(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path, state_home: Path
) -> None:
    """Without colluders the noise of all is needed: one of seven sums is asked for again, and charged."""
    settings = of_hospitals(
        tmp_path, timeout=0.05, min_sites=2, colluders=0, aggregation="double-mask", share_threshold="half"
    )
    grid = hospitals(settings, files, {**NODE, "min-sites": 2, "colluders": 0})
    silence(grid, from_message(3, 2, "private_step"))
    strategy = trained(settings, grid)
    assert strategy.federation.costs.dropped == ["hospital1"]
    ledger = read_ledger(state_home / "site-hospital0")
    assert [one.task for one in ledger.charges].count("private_step") == 8


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("trip", [1, 2, 3, 4, 5])
@pytest.mark.slow
def test_the_ledgers_show_all_that_was_sent_to_a_coordinator_that_was_killed(
    trip: int, before: bool, files: list[Path], hospitals: MakeGrid, tmp_path: Path, state_home: Path
) -> None:
    """At each of its messages; and so after the run was resumed, which never spends more than the budget."""
    sent: list[list[str]] = [[], [], []]

    def check(grid: InProcessGrid) -> None:
        for reply in grid.replies:
            task = reply.metadata.message_type.split(".")[1]
            if reply.has_content() and task.startswith("private_"):
                sent[reply.metadata.src_node_id - 2].append(task)
        for number, answers in enumerate(sent):
            ledger = read_ledger(state_home / f"site-hospital{number}")
            assert [one.task for one in ledger.charges] == answers
            for side in ("train", "test"):
                assert ledger.spent(side) <= rho_of(4.0, 1e-5)  # type: ignore[arg-type]

    settings = of_hospitals(tmp_path, steps=1, out=str(tmp_path / "out"))
    grid = hospitals(settings, files, NODE)
    kill(grid, trip, before=before)
    with pytest.raises(KilledError):
        run(grid, settings, tmp_path / "out")
    check(grid)
    assert len(sent[0]) == max(trip - 1 - before, 0)
    again = of_hospitals(tmp_path, steps=1, out=str(tmp_path / "out"), resume=trip > 2)
    grid = hospitals(again, files, NODE, run_id=2)
    run(grid, again, tmp_path / "out")
    check(grid)
    assert (tmp_path / "out" / "model.npz").exists()


def test_a_hospitals_noise_is_new_each_time(train: Train) -> None:
    models = [train(run_id=one, epsilon=0.5, steps=0).outcome.model for one in (1, 2)]
    assert models[0].sha256() != models[1].sha256()


def test_a_budget_smaller_than_the_runs_ends_the_steps_early(train: Train) -> None:
    strategy = train({**NODE, "epsilon": 3.0})
    told = strategy.outcome.figures["privacy"]
    steps = next(one for one in told["spent"] if one["task"] == "private_step")
    assert 0 < steps["answers"] < 8
    assert told["epsilon_train"] <= 3.0
    # The test rows have been asked once, for more than their budget.
    assert strategy.outcome.evaluation is None


@pytest.mark.parametrize(
    ("node", "values", "told"),
    [
        ({"epsilon": 4.0}, {}, "without looking at its rows"),
        ({"classes": "0,1"}, {}, "no budget for differential privacy"),
        (NODE, {"test_fraction": 0.3}, "keeps the same 0.2 of its rows"),
        (NODE, {"colluders": 0}, "its minimum is 1"),
        ({**NODE, "colluders": 2}, {}, "colluders=1: its minimum is 2"),
        (NODE, {"colluders": 3}, "cannot share noise among 3 sites of which 3"),
        ({**NODE, "aggregation": "plain"}, {"aggregation": "plain"}, "in secure sums only"),
        (NODE, {"schema": ""}, "'ranges', which is for simulated sites"),
        ({**NODE, **EXTREMES, "privacy": "exact"}, {"schema": ""}, "for simulated sites"),
    ],
)
def test_hospitals_refuse(
    train: Train, state_home: Path, node: dict[str, Scalar], values: dict[str, Any], told: str
) -> None:
    with pytest.raises(PanSVMError, match=told):
        train(node, **values)
    assert all(read_ledger(state_home / f"site-hospital{number}").charges == () for number in range(3))


def test_labels_that_count_as_positive_are_public_too(train: Train, tmp_path: Path) -> None:
    public = tmp_path / "ranges.toml"
    public.write_text(f"classes = ['0', '1']\npositive = ['1']\n{public.read_text()}")
    strategy = train({**LISTED, "positive": "1"}, steps=0)
    assert strategy.outcome.model.schema_.classes == ("negative", "positive")
    assert (strategy.outcome.evaluation.accuracy or 0) > 0.8
    with pytest.raises(SettingError, match="'positive'"):
        train({**LISTED, "positive": "1"}, 2, positive="2")


@pytest.mark.parametrize("invented", ["classes = ['0', '1', '2']", "classes = ['0', '7']"])
def test_classes_that_the_hospitals_do_not_list_are_refused(
    train: Train, tmp_path: Path, invented: str
) -> None:
    """How many classes a run has is not the coordinator's choice."""
    public = tmp_path / "ranges.toml"
    public.write_text(f"{invented}\n{public.read_text()}")
    with pytest.raises(SettingError, match="lists"):
        train(LISTED)


def test_columns_that_the_rows_number_are_not_told(
    files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    text = files[0].with_suffix(".libsvm")
    text.write_text("0 1:50\n1 2:0.01\n" * 100)
    settings = of_hospitals(tmp_path)
    grid = hospitals(settings, files, NODE)
    grid._contexts[2].node_config["data"] = str(text)
    with pytest.raises(PanSVMError, match="LIBSVM"):
        trained(settings, grid)


def test_too_few_rows_are_told_before_most_of_the_budget_is_spent() -> None:
    with pytest.raises(TrainingError):
        trained(settings_of(epsilon=0.2))


def test_a_column_without_a_public_range_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text("[columns.age]\nrange = [30, 90]\n[columns.Does]\nrange = [0, 1]\n")
    told = r"no public range for the column 'dose'.*'range = \[LOW, HIGH\]'.*Did you mean 'Does'"
    with pytest.raises(SettingError, match=told):
        ranges_of(TableSchema.read(path), Schema(("age", "dose"), ("0", "1")))
    path.write_text("[columns.age]\n[columns.sex]\nkind = 'category'\ncategories = ['f', 'm']\n")
    with pytest.raises(
        SettingError, match=r"below \[columns.\"age\"\]\.$"
    ):  # "Choose one of: sex=f, sex=m." it said
        ranges_of(TableSchema.read(path), Schema(("age", "sex=f", "sex=m"), ("0", "1")))


def test_categories_have_the_ends_of_zero_and_one(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(
        RANGES
        + '[columns.sex]\nkind = "category"\ncategories = ["f", "m"]\n[columns.pain]\nkind = "yes/no"\n'
    )
    low, high = ranges_of(TableSchema.read(path), Schema(("pain", "sex=m", "age"), ("0", "1")))
    assert (low.tolist(), high.tolist()) == ([0, 0, 30], [1, 1, 90])


@pytest.mark.parametrize("value", [0.0, 1.0, -7.4172179, 0.078, 846.0, 2.5e-9, -1e12, 99.1, 0.1 + 0.2])
def test_rounding_is_outward(value: float) -> None:
    low, high = rounded_outward(value, up=False), rounded_outward(value, up=True)
    assert low <= value * (1 + 1e-9) and value * (1 - 1e-9) <= high if value > 0 else low <= value <= high
    assert high - low <= 0.11 * abs(value)


def test_shares_of_bins_are_the_counts_if_there_is_no_noise_and_smooth_if_there_is_much() -> None:
    counts = np.zeros((1, BINS))
    counts[0, [3, 10]] = 400.0, 600.0
    sure, unsure = shares(counts, 1000.0, 0.1), shares(counts, 1000.0, 1e5)
    assert sure[0, [3, 10]] == pytest.approx([0.38, 0.57], abs=0.01)
    assert sure.sum() == pytest.approx(1.0)
    assert unsure.max() < 0.2
    assert unsure.sum() == pytest.approx(1.0)


def test_shares_minimise_what_they_are_said_to() -> None:
    cells = np.random.default_rng(0).normal(30, 40, size=(1, BINS))
    rows, deviation = float(cells.sum()), 40.0

    def loss(raw: Any) -> float:
        p = np.exp(raw) / np.exp(raw).sum()
        return float(
            np.square(cells[0] - rows * p).sum() / (2 * deviation**2) + (p * np.log(p / PRIOR)).sum()
        )

    best = minimize(loss, np.zeros(BINS), tol=1e-10)
    p = (shares(cells, rows, deviation)[0] - SMOOTHING * WIDTHS) / (1 - SMOOTHING)
    assert loss(np.log(p)) <= best.fun + 1e-6


def test_frequencies_make_the_kernel() -> None:
    frequencies = orthogonal_frequencies(4000, 5, 0.3, 0)
    assert frequencies.shape == (4000, 5)
    difference = np.array([0.5, -1.0, 0.2, 0.0, 0.7])
    expected = np.exp(-0.3 * difference @ difference)
    assert np.cos(frequencies @ difference).mean() == pytest.approx(expected, abs=0.01)
    assert abs(frequencies[0] @ frequencies[1]) < 1e-12


def test_ranks_rise_evenly_and_the_map_standardises() -> None:
    X = np.random.default_rng(0).beta(2, 5, size=(20_000, 1))
    ends = np.array([0.0]), np.array([1.0])
    counts = np.bincount(bins(places(X, *ends))[:, 0], minlength=BINS)[None].astype(float)
    feature_map: FourierMap = fitted_map(shares(counts, 20_000.0, 1.0), *ends, 200.0, 0)
    scaled = feature_map.scaled(X)
    assert scaled.mean() == pytest.approx(0.0, abs=0.1)
    assert scaled.std() == pytest.approx(1.0, abs=0.1)
    sorted_cells = np.linspace(0, 1, 2000)[:, None]
    assert (np.diff(feature_map.scaled(sorted_cells)[:, 0]) > -1e-12).all()
    assert feature_map.scaled(np.array([[np.nan]])).item() == 0.0


def test_the_map_of_a_column_is_the_same_to_the_bit_beside_any_others() -> None:
    """So the model's digest does not depend on how BLAS adds up."""
    p = np.random.default_rng(0).dirichlet(np.ones(BINS), size=23)
    low, high = -np.arange(23.0), np.ones(23)
    whole = fitted_map(p, low, high, 200.0, 0)
    for number in range(23):
        alone = fitted_map(p[[number]], low[[number]], high[[number]], 200.0, 0)
        for name in ("ranks", "rises", "mean", "deviation"):
            assert (getattr(whole, name)[number] == getattr(alone, name)[0]).all(), name


def test_noisy_counts_of_test_rows() -> None:
    found, noise = evaluated(np.array([[40.0, -3.0], [10.0, 50.0]]), 2.0)
    assert found.accuracy == pytest.approx(0.9)
    assert found.rows == 100
    assert noise == pytest.approx(2.0 * np.sqrt(2 * (0.81 + 0.01)) / 100)
    many, _ = evaluated(np.array([[1.0, 9.0], [2.0, 8.0], [5.0, 5.0]]), 2.0)
    assert many.accuracy == pytest.approx(22 / 30)
    assert evaluated(np.full((2, 2), -1.0), 2.0)[0].accuracy is None


def test_no_test_rows_no_question() -> None:
    strategy = trained(settings_of(test_fraction=0.0))
    assert strategy.outcome.evaluation is None
    assert strategy.outcome.figures["privacy"]["epsilon_test"] == 0.0

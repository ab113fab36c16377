"""An audit of the promise: what an active coordinator with colluders measures is what was promised, and no more.

The worst neighbours: a table without a row that moves the answer as far as a row can, and one with it; of no other
rows, and of many. The coordinator knows all but whether the row is there; its colluders have taken their noise off, so
that what is left is the noise of one honest site. It looks at the noise along the row's contribution: its best test
(Neyman and Pearson).
"""

import math
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import beta

from clients.gate import private
from clients.gate.private import privately
from clients.rows import Rows
from clients.site import Site
from clients.systems import dp_svm as private_training
from clients.systems import evaluation
from flower_pansvm.errors import BudgetError
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.privacy.discrete_noise import discrete_gaussian, sigma_of
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, in_turns, shortened
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum.contract import SecureSum, SumRound
from flower_pansvm.secure_sum.protocols.double_mask import DoubleMask
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.protocols.k_secure_hops import KSecureHops
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.secure_sum.protocols.ring_hops import RingHops
from flower_pansvm.systems.dp_svm import (
    PRIVATE_BINS,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    BinsQuestion,
    PrivateMomentsQuestion,
    PrivateScoresQuestion,
    PrivateWeightsQuestion,
)
from flower_pansvm.systems.evaluation import MODEL_TEST, ModelTestQuestion
from flower_pansvm.tasks import Task
from flower_pansvm.terms import Terms
from tests.clients.fake_site import FakeSite, rows_of

DELTA = 1e-5
RHO = rho_of(4.0, DELTA)
TIMES = 400
SURE = 1 + 4 / math.sqrt(2 * TIMES)
"""Four deviations of a deviation that is measured so often."""

MAP = FourierMap(
    *(np.array([end]) for end in (0.0, 1.0)),
    *np.zeros((2, 1, BINS)),
    *(np.array([end]) for end in (-9.0, 1.0)),
    in_turns(np.array([[0.3]])),
    0.7,
)
OTHERS = (0, 241)
"""Rows besides, which both neighbours have."""


def neighbours(others: int = 0) -> tuple[Rows, Rows]:
    """Return the table with the row, and without it."""
    generator = np.random.default_rng(others)
    X, classes = (
        np.vstack([generator.uniform(size=(others, 1)), [[0.4]]]),
        generator.integers(2, size=others + 1),
    )
    classes[-1] = 1
    return rows_of(X, classes), rows_of(X[:-1], classes[:-1])


SCHEMA = Schema(("a",), ("0", "1"))
MODEL = PanSVC.from_parts(
    SCHEMA,
    Scaling(*(np.array([value]) for value in (0.5, 0.0, 1.0))),
    NystromMap(Kernel("rbf", 1.0), np.array([[0.2], [0.9]]), np.eye(2)),
    np.array([[1.0, -1.0, 0.0]]),
)

QUESTIONS: dict[Task[Any, Any], Any] = {
    PRIVATE_BINS: BinsQuestion(RHO, MAP.low, MAP.high),
    PRIVATE_MOMENTS: PrivateMomentsQuestion(RHO),
    PRIVATE_STEP: PrivateWeightsQuestion(RHO, np.full((MAP.size, 1), -LARGEST_WEIGHT)),
    PRIVATE_SCORES: PrivateScoresQuestion(
        RHO, np.full((MAP.size, 1), -LARGEST_WEIGHT), edges=np.array([-1.0, 0.0, 1.0])
    ),
    MODEL_TEST: ModelTestQuestion(RHO, np.frombuffer(MODEL.to_bytes(), np.uint8)),
}
WORK: dict[Task[Any, Any], Callable[..., Any]] = {
    PRIVATE_BINS: private_training.private_bins,
    PRIVATE_MOMENTS: private_training.private_moments,
    PRIVATE_STEP: private_training.private_step,
    PRIVATE_SCORES: private_training.private_scores,
    MODEL_TEST: evaluation.model_test,
}


def one_honest_site(
    rows: Rows,
    sites: int = 2,
    colluders: int = 1,
    protocol: SecureSum = KSecure(),  # noqa: B008
) -> Site:
    """Return a simulated site that takes part in a sum over so many."""
    site: Any = FakeSite(rows, broadcasts=defaultdict(lambda: MAP), columns=SCHEMA.columns, simulated=True)
    this = SumRound("1", "sum", 1, 0, tuple(map(str, range(sites))))
    site.run_id, site.terms = 1, Terms(colluders=colluders)
    site.participation = SimpleNamespace(sum_round=this, protocol=protocol)
    return cast(Site, site)


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    # New noise for every answer, as at a hospital; the same in each run of a test.
    keys = count()
    monkeypatch.setattr(private, "lasting_secret", lambda _: next(keys).to_bytes(32, "big"))


def answer(task: Task[Any, Any], rows: Rows, **of: Any) -> dict[str, Any]:
    return vars(privately(one_honest_site(rows, **of), task, QUESTIONS[task], WORK[task]).answer)


@pytest.mark.parametrize(
    ("protocol", "colluders", "refused"),
    [
        (Ring(), 1, False),
        (Ring(), 2, True),
        (Ring(), 4, False),  # each site adds all of the noise
        (RingHops(), 2, True),
        (KSecure(k=2), 2, True),
        (KSecure(k=3), 2, False),
        (KSecure(), 3, False),
        (KSecureHops(k=2), 2, True),
        (KSecureHops(k=3), 2, False),
    ],
    ids=str,
)
def test_colluders_that_can_take_a_sum_apart_are_not_allowed_for(
    protocol: SecureSum, colluders: int, refused: bool
) -> None:
    """Two neighbours in a ring of five learn the sum of the site between them, which has a third of the noise."""
    site = one_honest_site(neighbours()[0], 5, colluders, protocol)
    with pytest.raises(BudgetError, match="take apart") if refused else nullcontext():
        privately(site, PRIVATE_STEP, QUESTIONS[PRIVATE_STEP], WORK[PRIVATE_STEP])


def row_in(task: Task[Any, Any], others: int) -> dict[str, np.ndarray]:
    """Return by how much the row changes each part of an answer without noise."""
    with_row, without = (
        vars(WORK[task](one_honest_site(rows), QUESTIONS[task])) for rows in neighbours(others)
    )
    return {name: with_row[name] - without[name] for name in with_row}


def sensitivities(task: Task[Any, Any]) -> dict[str, float]:
    exact = WORK[task](one_honest_site(neighbours()[0]), QUESTIONS[task])
    return {name: part.sensitivity(exact) for name, part in task.declared.items()}


def noise(task: Task[Any, Any], rows: Rows, others: int, **of: Any) -> tuple[np.ndarray, float]:
    """Return the coordinator's statistic of many answers, in deviations of the promised noise, and the row's in it."""
    moved = row_in(task, others)
    weight = {name: moved[name] / one**2 for name, one in sensitivities(task).items()}
    length = math.sqrt(sum(float((weight[name] * moved[name]).sum()) for name in weight))

    def statistic() -> float:
        seen = answer(task, rows, **of)
        return sum(float((weight[name] * seen[name]).sum()) for name in weight) / length * promised()

    return np.array([statistic() for _ in range(TIMES)]), length * promised()


def apart(task: Task[Any, Any], others: int = 0, **of: Any) -> float:
    """Return how many deviations of the noise apart the row moves an answer."""
    without, shift = noise(task, neighbours(others)[1], others, **of)
    return shift / max(float(without.std()), 1e-12)


def least_epsilon(task: Task[Any, Any], others: int) -> float:
    """Return a lower bound of epsilon from how often the row is found (Clopper and Pearson, 95 %)."""
    (with_row, _), (without, _) = (noise(task, rows, others) for rows in neighbours(others))
    lower = 0.0
    for threshold in np.quantile(without, [0.5, 0.8, 0.9, 0.95, 0.98]):
        # As often as this the row is found where it is, and at most as often as that where it is not.
        found, wrong = int((with_row > threshold).sum()), int((without > threshold).sum())
        least = beta.ppf(0.025, found, TIMES - found + 1) if found else 0.0
        most = beta.ppf(0.975, wrong + 1, TIMES - wrong)
        lower = max(lower, math.log(max(least - DELTA, 1e-9) / most))
    return lower


def promised() -> float:
    """Return how many deviations apart neighbours may be: the noise of one answer that costs RHO."""
    return math.sqrt(2 * RHO)


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("task", list(WORK), ids=lambda task: task.name)
@pytest.mark.slow
def test_no_more_is_found_than_promised(task: Task[Any, Any], others: int) -> None:
    found = apart(task, others)
    assert found <= promised() * SURE
    # And the audit sees nearly all there is to see: it is no weak test that passes.
    assert found >= 0.9 * promised() / SURE
    assert 0.2 < least_epsilon(task, others) <= epsilon_of(RHO, DELTA)


@pytest.mark.parametrize(("copies", "most"), [(1, 1), (2, 2), (5, 5)])
@pytest.mark.parametrize("task", [PRIVATE_STEP, PRIVATE_SCORES], ids=lambda task: task.name)
@pytest.mark.slow
def test_all_rows_of_a_patient_together_are_found_no_more_than_promised(
    task: Task[Any, Any], copies: int, most: int
) -> None:
    """The coordinator's question moves all of a patient's rows the same way: they add up, and so does the noise."""
    moved = {name: copies * part for name, part in row_in(task, 0).items()}
    weight = {name: moved[name] / one**2 for name, one in sensitivities(task).items()}
    length = math.sqrt(sum(float((weight[name] * moved[name]).sum()) for name in weight))

    def seen(rows: Rows) -> float:
        site = one_honest_site(rows)
        site.terms = Terms(colluders=1, rows_per_patient=most)  # type: ignore[misc]
        found = vars(privately(site, task, QUESTIONS[task], WORK[task]).answer)
        return sum(float((weight[name] * found[name]).sum()) for name in weight) / length

    without = np.array([seen(neighbours()[1]) for _ in range(TIMES)])
    assert length / without.std() <= promised() * SURE
    assert length / without.std() >= 0.9 * promised() / SURE
    (row, _), k = neighbours(), copies
    all_of_them = Rows(np.repeat(row.X, k, axis=0), np.repeat(row.classes, k), np.zeros(k, dtype=np.int64))
    assert seen(all_of_them) - without.mean() == pytest.approx(length, abs=6 * without.std())


NOISE = "clients.gate.private.discrete_gaussian"
MUTANTS: dict[str, tuple[str, Callable[..., Any], Task[Any, Any]]] = {
    "half the noise": (NOISE, lambda sigma, *rest: discrete_gaussian(sigma // 2, *rest), PRIVATE_STEP),
    "a part without noise": (
        NOISE,
        lambda sigma, size, bits: discrete_gaussian(sigma if size > 5 else 1, size, bits),
        PRIVATE_MOMENTS,
    ),
    "a constant without noise": (
        NOISE,
        lambda sigma, size, bits: discrete_gaussian(sigma, size, bits) * (np.arange(size) < size - 1),
        PRIVATE_STEP,
    ),
    "sensitivity off by the root of two": (
        "clients.gate.private.sigma_of",
        lambda sensitivity, *rest: sigma_of(sensitivity / math.sqrt(2), *rest),
        PRIVATE_MOMENTS,
    ),
    "noise shared among colluders too": (
        "clients.gate.private._honest_sites",
        lambda site: len(site.participation.sum_round.roster),
        PRIVATE_BINS,
    ),
    "rows that are not clipped": (
        "flower_pansvm.fourier_map.exact.shortened",
        lambda rows, step, longest, least: shortened(rows, step, 2 * longest, least),
        PRIVATE_STEP,
    ),
}


def keeps_its_promise(task: Task[Any, Any]) -> bool:
    """Tell whether a task does; also of each number alone, which the others' noise could hide."""
    if apart(task) > promised() * SURE:
        return False
    seen = [answer(task, neighbours()[1]) for _ in range(40)]
    return all(
        (np.std([one[name] for one in seen], axis=0) > 0.5 * sensitivity / promised()).all()
        for name, sensitivity in sensitivities(task).items()
    )


@pytest.mark.parametrize("task", list(WORK), ids=lambda task: task.name)
def test_every_number_has_noise(task: Task[Any, Any]) -> None:
    assert keeps_its_promise(task)


@pytest.mark.parametrize("mutant", list(MUTANTS))
def test_a_fault_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, fault, task = MUTANTS[mutant]
    monkeypatch.setattr(place, fault)
    assert not keeps_its_promise(task)


def test_with_more_honest_sites_each_adds_less() -> None:
    """Four of five: half the noise each, and together the whole."""
    assert apart(PRIVATE_STEP, sites=5, colluders=1) == pytest.approx(2 * promised(), rel=0.15)


def test_what_a_double_masked_sum_lacks_of_lost_sites_the_others_add() -> None:
    """It is opened over seven of ten. Of these three may collude, so that four have to add the whole noise.

    By shares for the seven that do not collude, an active coordinator measured epsilon 1.36 where 1 was promised.
    """
    found = apart(PRIVATE_STEP, sites=10, colluders=3, protocol=DoubleMask())
    assert found == pytest.approx(math.sqrt(4) * promised(), rel=0.15)

"""Consensus by ADMM: SVC's objective, sums that leave masked, no stop at a lost site, one by Boyd's residuals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.admm import CONSENSUS, ConsensusAnswer
from flower_pansvm.systems.pan_svm.cuts import Problem
from simulations.data.pooling import pooled
from simulations.engines.in_process import in_process_grid
from strategies.admm import Consensus, Penalty, SvmAdmm, agreed
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from tests.grids import from_message, silence
from tests.strategies.conftest import trained

QUICK: dict[str, Any] = {"landmarks": "8", "sites": 3}
"""Few landmarks, few sites: fewer steps."""


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "svm-admm", "privacy": "exact", **values})


def gaps(strategy: SvmAdmm, *lost: int) -> list[float]:
    """Return by what share each class's objective is above SVC's, over the rows of the sites that are left."""
    model, settings = strategy.outcome.model, strategy.settings
    assert isinstance(model, PanSVC)
    rows = pooled(settings).train
    rows = rows.of(~np.isin(rows.sites, lost))
    F = model.feature_map_.transform(model.scaling_.transform(rows.X))
    found = []
    for w, b, pair in zip(model.coef_, model.intercept_, model.pairs_, strict=True):
        y = np.where(rows.classes == pair.positive, 1.0, -1.0)
        weight = np.ones(len(y))
        if settings.class_weight == "balanced":
            weight = len(y) / (2 * np.where(y > 0, np.count_nonzero(y > 0), np.count_nonzero(y < 0)))
        svc = SVC(kernel="linear", C=settings.C, tol=1e-6).fit(F, y, sample_weight=weight)
        objectives = [
            0.5 * v @ v + settings.C * weight @ np.maximum(0, 1 - y * (F @ v + c))
            for v, c in ((w, b), (svc.coef_[0], svc.intercept_[0]))
        ]
        found.append(objectives[0] / objectives[1] - 1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"data": "wine", **QUICK},
        {"data": "breast_cancer", "split": "dirichlet:0.3", **QUICK},
        {"data": "breast_cancer", "class_weight": "balanced", "kernel": "linear", "C": 0.1, **QUICK},
        {"data": "breast_cancer"},
        {"data": "heart", "C": 2.0},
        {"data": "fourclass", "C": 8.0, "gamma": 2.0},
    ],
    ids=str,
)
def test_every_class_is_within_a_thousandth_of_svc(shared_data: Path, changes: dict[str, Any]) -> None:
    strategy = trained(settings_of(data_dir=str(shared_data), **changes))
    assert strategy.outcome.figures["converged"]
    assert all(-1e-6 <= gap <= 1e-3 for gap in gaps(strategy))


@pytest.mark.slow
def test_without_a_lost_site_the_others_come_to_their_own_consensus() -> None:
    settings = settings_of(**{**QUICK, "data": "wine", "positive": "class_1", "sites": 4, "timeout": 0.05})
    strategy = trained(settings, silence(in_process_grid(settings), from_message(3, 15, CONSENSUS.name)))
    assert strategy.federation.costs.dropped == ["site-001"]
    assert strategy.outcome.figures["converged"]
    assert max(gaps(strategy, 1)) <= 1e-3
    # It is not that of all: the test above would notice the loss.
    assert gaps(strategy)[0] > 1e-2


def test_the_point_agreed_on_is_the_least_of_its_objective() -> None:
    mean, rho_sites = np.array([[2.0, -1.0, 0.5]]), np.array([6.0])
    z = agreed(mean, rho_sites)[0]
    slope = np.append(z[:2], 0.0) + 6.0 * (z - mean[0])
    assert slope == pytest.approx(0.0, abs=1e-12)


class ScriptedFederation(Federation):
    """Sites that answer what they are told to."""

    def __init__(self, answers: list[ConsensusAnswer]) -> None:
        self.sites = dict.fromkeys("abcd")  # type: ignore[arg-type]
        self.answers = iter(answers)
        self.asked: list[Any] = []
        self.costs = type("Costs", (), {"round_trips": 0})()

    def secure_sum(self, task: Any, question: Any, slack: Any = None, **_: Any) -> Any:
        self.asked.append(question)
        self.costs.round_trips += 1
        return next(self.answers)


def scripted(
    models: list[float], primal: list[float], **changes: Any
) -> tuple[Consensus, ScriptedFederation]:
    """Train one weight and a bias with four sites that send these sums of weights and squared primal residuals."""
    answers = [
        ConsensusAnswer(np.array([[w, 0.0]]), np.array([r]), np.array([4.0]), np.array([1.0]))
        for w, r in zip(models, primal, strict=True)
    ]
    federation = ScriptedFederation(answers)
    penalty = Penalty(**{"rho": 1.0, "adaptive": True, "absolute": 1e-9, "relative": 0.01, **changes})
    problem = Problem("", 1, 10.0, 1.0, Pair(1, REST))
    return Consensus(federation, [problem], penalty, len(models)), federation


def test_training_stops_when_both_residuals_are_small_and_not_before() -> None:
    # Dual: rho sqrt(4) |z - z before|, allowed 0.01. Primal allowed: 0.01 max(sqrt(4), sqrt(4) |z|).
    consensus, federation = scripted([5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 1.0, 1e-4], adaptive=False)
    point = consensus.train()
    assert consensus.converged
    assert (consensus.rounds, len(federation.asked)) == (4, 4)
    assert [bool(one.met.all()) for one in consensus.history] == [False, False, True]
    # z: 4 rho / (1 + 4 rho) of the mean.
    assert point == pytest.approx(np.array([[5.0 / 4 * 0.8, 0.0]]))
    assert consensus.history[0].dual == pytest.approx([2 * 1.0])
    assert consensus.history[-1].primal_allowed == pytest.approx([0.02], rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("primal", "adaptive", "expected"),
    [(1e4, True, 2.0), (1e-9, True, 0.5), (4.0, True, 1.0), (1e4, False, 1.0)],
)
def test_rho_follows_the_larger_residual(primal: float, adaptive: bool, expected: float) -> None:
    consensus, federation = scripted([5.0, 5.0, 5.0], [0.0, primal, primal], adaptive=adaptive, relative=1e-9)
    consensus.train()
    assert federation.asked[2].rho[-1, 0] == expected
    assert not consensus.converged

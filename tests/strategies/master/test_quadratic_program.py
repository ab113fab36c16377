"""The quadratic program: known answers, and what happens when the solver gives up."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import piqp
import pytest
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from strategies.master.quadratic_program import TOLERANCES, minimise

NOTHING = np.empty(0)

REAL = piqp.DenseSolver

Outcome = Callable[["Unreliable"], piqp.Status]


class Unreliable:
    """The real solver, whose answer is tampered with."""

    def __init__(self, outcome: Outcome) -> None:
        self.real = REAL()
        self.settings = self.real.settings
        self.outcome = outcome
        self.result: piqp.Result | SimpleNamespace = self.real.result

    def setup(self, **program: NDArray[np.float64] | None) -> None:
        self.real.setup(**program)

    def solve(self) -> piqp.Status:
        return self.outcome(self)


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Callable[[Outcome], None]:
    """Return a function that replaces the solver by one with the given outcome."""
    return lambda outcome: monkeypatch.setattr(piqp, "DenseSolver", lambda: Unreliable(outcome))


def by_hand() -> tuple[NDArray[np.float64], float, float, NDArray[np.float64], float]:
    # With the multiplier s of the cut L >= 4 - u1 - u2, u = (s, 3 + s); it is at 0 where 4 - 3 - 2 s = 0.
    return minimise(np.array([0.0, -3.0]), np.array([[1.0, 1.0]]), NOTHING, np.array([4.0]))


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("reliable_from", TOLERANCES)
def test_a_solver_that_fails_is_asked_for_less(
    reliable_from: float, says_so: bool, solver: Callable[[Outcome], None]
) -> None:
    """If it does not say so, its numbers are none."""
    asked: list[float] = []

    def outcome(unreliable: Unreliable) -> piqp.Status:
        asked.append(unreliable.settings.eps_abs)
        status = unreliable.real.solve()
        if asked[-1] >= reliable_from:
            return status
        unreliable.result = SimpleNamespace(x=np.full(3, np.nan), z_l=np.zeros(1))
        return piqp.PIQP_NUMERICS if says_so else status

    solver(outcome)
    u, *_, tolerance = by_hand()
    assert u == pytest.approx([0.5, 3.5], abs=1e-3)
    assert tolerance == reliable_from
    assert asked == list(TOLERANCES[: TOLERANCES.index(reliable_from) + 1])


def test_where_the_iterations_have_run_out_the_point_so_far_is_taken(
    solver: Callable[[Outcome], None],
) -> None:
    def outcome(unreliable: Unreliable) -> piqp.Status:
        unreliable.settings.max_iter = 3
        return unreliable.real.solve()

    solver(outcome)
    u, _, _, multipliers, _ = by_hand()
    assert np.isfinite(u).all()
    assert u == pytest.approx([0.5, 3.5], abs=0.5)
    assert (multipliers >= 0).all()


@pytest.mark.parametrize("status", [piqp.PIQP_NUMERICS, piqp.PIQP_PRIMAL_INFEASIBLE])
def test_a_solver_that_always_fails_is_a_training_error(
    solver: Callable[[Outcome], None], status: piqp.Status
) -> None:
    solver(lambda unreliable: status)
    with pytest.raises(TrainingError):
        by_hand()

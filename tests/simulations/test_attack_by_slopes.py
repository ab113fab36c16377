"""The coordinator that reads rows from slopes of the loss reads none where all that leaves is private."""

import numpy as np
import pytest

from flower_pansvm.privacy.accountant import rho_of
from simulations.attack.slopes import rows_read
from strategies.settings import make_settings

PLANES = 60
BUDGET = rho_of(1.0, 1e-5)


@pytest.mark.parametrize("preset", [pytest.param("exact", marks=pytest.mark.slow), "private"])
def test_it_reads_rows_from_losses_at_far_points(preset: str) -> None:
    """Also where the sites add their noise: it does not grow with the points."""
    found = rows_read(make_settings(kernel="linear", preset=preset, sites=3), PLANES)
    assert found.exact >= 3


@pytest.mark.parametrize("planes", [2, pytest.param(PLANES, marks=pytest.mark.slow)])
def test_it_reads_none_from_private_steps_whatever_it_makes_of_the_budget(planes: int) -> None:
    assert rows_read(make_settings(strategy="dp-svm", sites=3), planes, BUDGET).within_10 == 0


@pytest.mark.slow
def test_it_would_if_these_had_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack itself works: the test above does not pass because of a fault in it."""
    monkeypatch.setattr(
        "clients.gate.private.discrete_gaussian", lambda sigma, size, bits: np.zeros(size, dtype=np.int64)
    )
    assert rows_read(make_settings(strategy="dp-svm", sites=3), PLANES, BUDGET).within_1 >= 3

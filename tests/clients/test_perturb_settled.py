"""What is settled of a column, or refused because of it, tells no more of a cell than the cell's copy does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from clients.perturb import PerturbedTerms, settling, shares
from clients.perturb.kept import FEWEST_RECORDS, Kept, KeptColumn, moments_of
from clients.perturb.settling import LARGER
from clients.table.table import Table
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.terms import MIN_CLUSTER

NOISE = 0.5
MOVED = 0.2
"""How far one record's cell is moved, in standard deviations of the noise."""

Drawn = Callable[..., tuple[Ints, Floats]]


def table_of(X: Floats) -> Table:
    ids = np.array([f"P{number}" for number in range(len(X))])
    return Table(tuple(f"c{place}" for place in range(X.shape[1])), X, None, ids=ids)


def settled(X: Floats, key: int = 0) -> Kept:
    return settling.settled_of(table_of(X), "label", None, PerturbedTerms(NOISE), key.to_bytes(32, "big"))


def tells(shares: tuple[float, float]) -> bool:
    """Tell whether an event tells a moved cell better than the cell's copy can.

    Of a normal copy, an event of probability p has at most Φ(Φ⁻¹(p) + `MOVED`) where the cell was moved (Neyman and
    Pearson). Five standard errors are allowed.
    """
    found = np.array([*shares, *(1 - share for share in shares)])
    others = found[[1, 0, 3, 2]]
    error = 5 * np.sqrt(0.5 / TRIES)
    return bool((found > ndtr(ndtri(others.clip(1e-12, 1 - 1e-12)) + MOVED) + error).any())


def without_noise(real: Drawn) -> Drawn:
    """Return a function that returns codes of copies and true measurements."""

    def drawn(cells: Floats, *more: Any) -> tuple[Ints, Floats]:
        return real(cells, *more)[0], cells.copy()

    return drawn


TRIES = 500
"""Columns that are alike, or keys: each has noise of its own."""


def ends_of(X: Floats) -> Floats:
    """Return the ends of each column, shape (2, columns)."""
    columns = settled(np.repeat(X[:, None], TRIES, axis=1)).features
    return np.array([[column.low for column in columns], [column.high for column in columns]])


@pytest.mark.parametrize("noisy", [True, False], ids=["as it is", "of true cells"])
@pytest.mark.parametrize("rows", [FEWEST_RECORDS, 150])
def test_ends_tell_no_more_of_a_record_than_its_copy(
    rows: int, noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends were true cells: median error .06 deviations after a table had grown."""
    X = np.sort(np.random.default_rng(rows).normal(50, 7, rows))
    moved = X.copy()
    moved[-MIN_CLUSTER] += MOVED * NOISE * X.std()
    if not noisy:
        monkeypatch.setattr(shares, "drawn", without_noise(shares.drawn))
    (low, high), (low_moved, high_moved) = ends_of(X), ends_of(moved)
    told = [
        tells((np.mean(before > edge), np.mean(after > edge)))
        for before, after in ((low, low_moved), (high, high_moved))
        for edge in np.unique(np.quantile([before, after], np.linspace(0.02, 0.98, 49), method="midpoint"))
    ]
    assert any(told) == (not noisy)
    if noisy:
        assert min(low.std(), high.std()) > 0.05 * X.std(), "ends differ from key to key"


def test_a_pilot_does_not_size_the_noise_of_a_column_that_few_records_have() -> None:
    """Twelve cells that are alike settled a noise of .03 deviations, for .25, of eight others."""
    generator = np.random.default_rng(0)
    X = np.full((200, 1), np.nan)
    X[:12], X[60:68] = generator.normal(0, 0.1, (12, 1)), generator.normal(0, 1, (8, 1))
    kept, terms = settled(X[:60]), PerturbedTerms(NOISE)
    assert kept.features[0].measured
    settling._settle(kept, table_of(X[:60]), "label", None, terms)
    with pytest.raises(TableError):
        settling._settle(kept, table_of(X), "label", None, terms)


@pytest.mark.parametrize("noisy", [True, False], ids=["as it is", "by true cells"])
@pytest.mark.slow
def test_the_refusal_of_records_unlike_the_first_tells_no_more_of_one_than_its_copy(
    noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator that knows all other records read of one whether deviations had been settled by too little."""
    generator, how = np.random.default_rng(0), PerturbedTerms(NOISE)
    alike = generator.normal(50, 0.7, (FEWEST_RECORDS, 1))
    refused = np.zeros(2)
    if not noisy:
        monkeypatch.setattr(settling, "drawn", without_noise(settling.drawn))
    for key in range(TRIES):
        kept = settled(alike, key)
        (column,) = kept.features
        most = column.deviation * np.sqrt(LARGER**2 * (1 + NOISE**2) - NOISE**2 * noisy)

        def later(far: float, moved: float, column: KeptColumn = column) -> Floats:
            """Return a table of ten records that are so far from the mean, and of one that is moved."""
            ten = np.resize([column.mean - far, column.mean + far], (10, 1)) + np.arange(10)[:, None] * 1e-4
            cell = column.mean + far + moved * NOISE * column.deviation
            return np.vstack([alike, ten, [[cell]], alike[:20] + 0.01])

        far = brentq(lambda far: moments_of(later(far, 0))[1] - most, 0, 10)  # noqa: B023 - it is called here
        for place, moved in enumerate((-MOVED / 2, MOVED / 2)):
            try:
                settling._settle(kept, table_of(later(far, moved)), "label", None, how)
            except TableError:
                refused[place] += 1
    assert tells(tuple(refused / TRIES)) == (not noisy)
    if noisy:
        assert refused == pytest.approx(TRIES / 2, rel=0.3), "one record decides"

"""Random kernel: values of every row are disclosed; the audit solves for rows as another site of the block can."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from clients.column_blocks import block_number
from clients.ledger.lasting_split import lasting_secret
from clients.site import Site
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.kernels import Kernel
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.common import LAYOUT
from flower_pansvm.systems.random_kernel import CELL, MEANS, block_seed, random_matrix
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum
from strategies.random_kernel.strategy import RandomKernelSettings
from strategies.random_kernel.training import most_rows, scale_of

CLOSE = 1e-6
"""Largest error of a reconstructed row's cells, as a share of the column's range."""

FITS = 1e-6
"""Largest error of equations and bounds of a solution."""

MOST_ZERO_ONE = 12
"""Most binary columns whose combinations are all evaluated."""


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
    """Return the number of disclosed parts of rows, one a row and column block, and of reconstructed training ones."""
    entries = [entry for entry in transcript if entry.task == MEANS.name]
    if not entries:
        return {}
    settings, layout = sites.settings, entries[0].received(LAYOUT)
    assert isinstance(settings, RandomKernelSettings)
    rows = next(entry for entry in transcript if entry.task == CELL.name).answer(CELL).rows
    size = settings.random_kernel_rows or most_rows(int(rows[0]), int(np.bincount(layout.columns).min()))
    (gamma,) = settings.gamma_values(scale_of(len(layout.columns)))
    kernel = Kernel(settings.kernel, gamma)  # type: ignore[arg-type]
    blocks: dict[int, list[Site]] = {}
    for site in sites.before(entries[0]):
        blocks.setdefault(block_number(layout, site.name), []).append(site)
    solved = sum(_solved_rows(kernel, size, cells) for cells in blocks.values() if len(cells) > 1)
    return {"kernel_rows_shown": int(rows.sum()) or None, "rows_from_kernel": solved or None}


def _solved_rows(kernel: Kernel, size: int, cells: Sequence[Site]) -> int:
    """Return the number of rows of a column block that one of its sites reconstructs."""
    cell = np.vstack([site.train().X for site in cells])
    low, high = np.nanmin(cell, axis=0), np.nanmax(cell, axis=0)
    X = Scaling(np.nanmean(cell, axis=0), low, np.where(high > low, high - low, 1.0)).transform(cell)
    columns = np.array(cells[0].schema().columns, dtype=np.str_)[cells[0].own_columns()]
    B = random_matrix(block_seed(lasting_secret(cells[0]), columns.tolist()), size, X.shape[1])
    zero_one: Bools = np.array([set(column) <= {0.0, 1.0} for column in X.T])
    differ = np.abs(rows_from_kernel(kernel, kernel(X, B), B, zero_one) - X).max(axis=1)
    return int((differ < CLOSE).sum())


def rows_from_kernel(kernel: Kernel, K: Floats, B: Floats, zero_one: Bools) -> Floats:
    """Solve for the rows behind a published kernel matrix, in units of [0, 1]; NaN for a row that is not determined.

    Each value of a linear kernel row is an equation (2.6). The logarithm of a Gaussian one is a squared distance;
    differences of these are linear in the row, and one distance is a further equation. All combinations of the binary
    columns are evaluated; the one that fulfils the equations is the solution. ``K`` has shape (rows, rows of B), ``B``,
    the random matrix of the column block, (rows of B, columns).
    """
    solved = np.full((len(K), B.shape[1]), np.nan)
    slopes, right = (B, K) if kernel.name == "linear" else _linear_in_the_row(kernel, K, B)
    binary, free = slopes[:, zero_one], slopes[:, ~zero_one]
    if zero_one.sum() > MOST_ZERO_ONE or np.linalg.matrix_rank(free) < free.shape[1]:
        return solved
    inverse, best = np.linalg.pinv(free), np.full(len(K), FITS)
    for cells in product((0.0, 1.0), repeat=int(zero_one.sum())):
        rows = np.empty_like(solved)
        rows[:, zero_one] = cells
        remainder = right - np.array(cells) @ binary.T
        rows[:, ~zero_one] = remainder @ inverse.T
        wrong = np.abs(rows[:, ~zero_one] @ free.T - remainder).max(axis=1, initial=0.0)
        wrong = np.maximum(wrong, np.maximum(-rows, rows - 1.0).max(axis=1))
        if kernel.name == "rbf":
            distance = np.square(rows - B[0]).sum(axis=1)
            wrong = np.maximum(wrong, np.abs(distance + np.log(K[:, 0]) / kernel.gamma))
        better = wrong < best
        solved[better], best[better] = rows[better], wrong[better]
    return solved


def _linear_in_the_row(kernel: Kernel, K: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return both sides of the differences of squared distances: 2 (b_1 - b_k).x = d_k - |b_k|² - d_1 + |b_1|²."""
    distances = -np.log(K) / kernel.gamma - np.square(B).sum(axis=1)
    return 2.0 * (B[0] - B[1:]), distances[:, 1:] - distances[:, :1]

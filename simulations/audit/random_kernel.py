"""Random kernel: numbers of every row are disclosed, and the audit does what another site of the column block can."""

from collections.abc import Sequence

import numpy as np

from clients.gate.secret import lasting_secret
from clients.site import Site
from flower_pansvm.arrays import Bools
from flower_pansvm.kernels import Kernel
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.common import LAYOUT
from flower_pansvm.systems.random_kernel import (
    CELL,
    COLUMN_RANGES,
    KERNEL,
    KERNEL_POINTS,
    MEANS,
    block_seed,
    random_matrix,
)
from simulations.attack.random_kernel import rows_from_kernel
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum
from strategies.random_kernel.strategy import RandomKernelSettings
from strategies.random_kernel.training import most_rows

CLOSE = 1e-6
"""Largest difference of a cell, in shares of its column's range, of a row that counts as found."""


@PHASES.register("random_kernel")
class RandomKernelAudit(Phase):
    """How many rows of each cell a site that knows the random matrix computes.

    It knows which columns hold two values only. Sums of rows and of columns are over all rows of a block of columns.
    """

    tasks = tuple(task.name for task in (CELL, MEANS, COLUMN_RANGES, KERNEL, KERNEL_POINTS))
    texts = {  # noqa: RUF012
        "kernel_rows_shown": ("kernel values and labels of {} parts of rows shown", "no kernel value shown"),
        "rows_from_kernel": (
            "{} of these training parts of rows computed exactly by a site with the same columns",
            "none of them computed exactly by a site with the same columns",
        ),
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> dict[str, int | None]:
        """Return how many parts of rows, a cell's share of a row, are shown, and how many training ones are found."""
        asked = [one for one in transcript if one.task == MEANS.name]
        if not asked:
            return {}
        chosen, layout = sites.settings, asked[0].heard(LAYOUT)
        assert isinstance(chosen, RandomKernelSettings)
        rows = next(one for one in transcript if one.task == CELL.name).answer(CELL).rows
        size = chosen.random_kernel_rows or most_rows(int(rows[0]), int(np.bincount(layout.columns).min()))
        kernel = Kernel(chosen.kernel, chosen.mu or 1.0 / len(layout.columns))  # type: ignore[arg-type]
        blocks: dict[int, list[Site]] = {}
        for site in sites.before(asked[0]):
            blocks.setdefault(site.block_number(), []).append(site)
        found = sum(_found(kernel, size, cells) for cells in blocks.values() if len(cells) > 1)
        return {"kernel_rows_shown": int(rows.sum()) or None, "rows_from_kernel": found or None}


def _found(kernel: Kernel, size: int, cells: Sequence[Site]) -> int:
    """Return how many rows of a column block are found by a site of it."""
    cell = np.vstack([site.train().X for site in cells])
    low, high = np.nanmin(cell, axis=0), np.nanmax(cell, axis=0)
    X = Scaling(np.nanmean(cell, axis=0), low, np.where(high > low, high - low, 1.0)).transform(cell)
    columns = np.array(cells[0].schema().columns, dtype=np.str_)[cells[0].own_columns()]
    B = random_matrix(block_seed(lasting_secret(cells[0].context), columns.tolist()), size, X.shape[1])
    zero_one: Bools = np.array([set(column) <= {0.0, 1.0} for column in X.T])
    differ = np.abs(rows_from_kernel(kernel, kernel(X, B), B, zero_one) - X).max(axis=1)
    return int((differ < CLOSE).sum())

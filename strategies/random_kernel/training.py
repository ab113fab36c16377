"""The random-kernel phase: the columns' ranges, the number of rows of B, and the kernel of all cells."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, hstack

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import FederationError, SettingError, TableError, TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.common import LayoutBroadcast
from flower_pansvm.systems.random_kernel import (
    CELL,
    COLUMN_RANGES,
    KERNEL,
    MEANS,
    KernelAnswer,
    KernelQuestion,
    combined,
)
from flower_pansvm.tasks import Nothing, Task
from strategies.api import Federation, learn_extremes, logger, note_differences, refusal, share_differences

ROWS_EACH = 10
"""Rows of the data set for each row of B (section 4 of the paper: a tenth of the rows)."""


@dataclass(frozen=True)
class KernelRows:
    """The kernel over all columns, and the labels of its rows."""

    K: Floats  # (rows, rows of B): one row block after the other
    classes: Ints  # (rows,): class index
    # Names of the sites of each row block, in the order of the column blocks.
    row_blocks: tuple[tuple[str, ...], ...]
    digests: tuple[str, ...]  # of the random matrix of each column block


def count_rows(federation: Federation, layout: LayoutBroadcast) -> int:
    """Return the number of training and test rows of all row blocks.

    Raises
    ------
    TableError
        If the column blocks have different numbers of rows.
    """
    rows = federation.secure_sum(CELL, Nothing()).rows
    if rows.shape != (len(set(layout.blocks.tolist())),) or len(set(rows.tolist())) > 1:
        owners = [layout.sites[layout.blocks.tolist().index(block)] for block in sorted(set(layout.blocks))]
        raise TableError(
            "The sites do not hold the same rows of all columns: the columns of "
            + ", ".join(f"'{site}'" for site in owners)
            + " have different numbers of rows. Every table of a row block must have each row once, with its row id "
            "and its label; remove rows that other tables lack."
        )
    return int(rows[0])


def scale_of(columns: int) -> float:
    """Return gamma for ``scale``: the columns have the range [0, 1], and their variance is unknown."""
    return 1.0 / columns


def most_rows(rows: int, columns: int) -> int:
    """Return the number of rows of B in the paper's experiments, by rows and columns of the smallest block."""
    return max(1, min(columns - 1, rows // ROWS_EACH))


def rows_of_matrix(setting: int | None, rows: int, layout: LayoutBroadcast) -> int:
    """Return the number of rows of B (2.5): below the number of columns of each block, and a tenth of the rows.

    Parameters
    ----------
    setting : int or None
        As the user has set it; None for the number in the paper's experiments.
    rows : int
        Rows of the whole data set.
    layout : LayoutBroadcast
        The blocks of columns.

    Raises
    ------
    SettingError
        If the setting is too large, or a block has a single column.
    """
    columns = np.bincount(layout.columns)
    block = int(columns.argmin())
    fewest, owner = int(columns[block]), layout.sites[layout.blocks.tolist().index(block)]
    reason = f"the column block of site '{owner}' has {fewest} column{'s' * (fewest > 1)}"
    if fewest < 2:
        raise SettingError(
            f"The random matrix must have fewer rows than any block has columns, and {reason}. Make fewer blocks, of "
            "two or more columns each."
        )
    if setting is not None and setting >= fewest:
        raise SettingError(
            f"random-kernel-rows is {setting}, but the random matrix must have fewer rows than any block has columns, "
            f"and {reason}: from as many equations as unknowns a site's rows could be computed. Set at most "
            f"{fewest - 1}."
        )
    size = setting or most_rows(rows, fewest)
    if 2 * size > fewest:
        logger.warning(
            "the random matrix has %d rows and %s: other sites with these columns receive more than half as many "
            "equations as a row has cells, enough to compute rows where a few columns are 0 or 1 (docs/rivals.md); "
            "random-kernel-rows=%d gives half",
            size,
            reason,
            max(1, fewest // 2),
        )
    return size


def learn_ranges(federation: Federation, layout: LayoutBroadcast) -> Scaling:
    """Return the scaling of each column to [0, 1], missing cells at the mean; a constant column becomes 0.

    Raises
    ------
    FederationError
        If a site's reply is invalid.
    """
    sums = federation.secure_sum(MEANS, Nothing())
    low, high = (
        ends[0]
        for ends in learn_extremes(
            federation,
            COLUMN_RANGES,
            held_by=lambda site: layout.columns == layout.blocks[layout.sites.index(site)],
        )
    )
    present = low <= high
    low, high = np.where(present, low, 0.0), np.where(present, high, 0.0)
    fill = np.where(present, sums.total / np.maximum(sums.count, 1.0), 0.0)
    return Scaling(np.clip(fill, low, high), low, np.where(high > low, high - low, 1.0))


def gather_kernel(
    federation: Federation,
    layout: LayoutBroadcast,
    question: KernelQuestion,
    task: Task[KernelQuestion, KernelAnswer] = KERNEL,
) -> KernelRows:
    """Collect each cell's kernel rows, and combine those of each row block (2.6), (3.9).

    Raises
    ------
    TableError
        If the rows of the cells do not match.
    FederationError
        If a site's reply is invalid.
    """
    answers = federation.collect(task, question)
    for site, answer in answers.items():
        check_kernel_rows(site, answer, question.rows)
    if task is KERNEL and federation.schema:
        by_class = {
            site: np.bincount(answer.labels, minlength=2).astype(float) for site, answer in answers.items()
        }
        note_differences(federation, share_differences(federation.schema.classes, by_class))
    block_of = dict(zip(layout.sites, layout.blocks.tolist(), strict=True))
    digests = _common_digests(answers, block_of)
    row_blocks = match_cells({site: answer.row_block for site, answer in answers.items()}, block_of)
    kernel = Kernel(question.kernel, question.mu)  # type: ignore[arg-type]
    kernels, labels = [], []
    for sites in row_blocks:
        cells = [answers[site] for site in sites]
        for site, cell in zip(sites, cells, strict=True):
            if not np.array_equal(cell.labels, cells[0].labels):
                raise TableError(
                    f"Sites '{sites[0]}' and '{site}' hold the same rows, but not all with the same label. Give a row "
                    "the same label in every table that holds a part of it."
                )
        kernels.append(combined(kernel, [cell.kernel for cell in cells]))
        labels.append(cells[0].labels)
    return KernelRows(np.vstack(kernels), np.concatenate(labels), row_blocks, digests)


def match_cells(marks: Mapping[str, str], block_of: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Return the sites of each row block, in the order of the column blocks.

    Parameters
    ----------
    marks : mapping of site name to str
        The mark of each site's row ids.
    block_of : mapping of site name to int
        Number of each site's column block.

    Raises
    ------
    TableError
        If the rows of a site are missing in a column block, or in it twice.
    """
    rows: dict[str, dict[int, str]] = {}
    for site, mark in marks.items():
        cells = rows.setdefault(mark, {})
        other = cells.setdefault(block_of[site], site)
        if other != site:
            raise TableError(
                f"Sites '{other}' and '{site}' hold the same rows of the same columns: their row ids are the same. "
                "Leave one of them out, or correct the ids."
            )
    blocks = sorted(set(block_of.values()))
    for cells in rows.values():
        missing = [block for block in blocks if block not in cells]
        if missing:
            present = next(iter(cells.values()))
            elsewhere = next(site for site, block in block_of.items() if block == missing[0])
            raise TableError(
                f"No site that holds the columns of '{elsewhere}' has the same rows as site '{present}': their row ids "
                "differ, a site names no row-id column in its node config, or a site dropped out. All tables of a row "
                "block must have the same row ids, and no other table may have them; remove rows that one of them "
                "lacks."
            )
    return tuple(tuple(cells[block] for block in blocks) for cells in rows.values())


def check_kernel_rows(site: str, answer: KernelAnswer, rows: int) -> None:
    """Check a site's kernel rows and labels of two classes; FederationError if they are invalid."""
    fits = answer.kernel.ndim == 2 and answer.kernel.shape == (len(answer.labels), rows)
    if not (fits and answer.labels.ndim == 1 and np.isfinite(answer.kernel).all()):
        raise refusal(site, f"its kernel is not {rows} finite numbers for each of its rows")
    if not np.isin(answer.labels, (0, 1)).all():
        raise refusal(site, "its labels are not 0 and 1")


def _common_digests(answers: Mapping[str, KernelAnswer], block_of: Mapping[str, int]) -> tuple[str, ...]:
    by_block: dict[int, tuple[str, str]] = {}
    for site, answer in answers.items():
        owner, digest = by_block.setdefault(block_of[site], (site, answer.matrix))
        if digest != answer.matrix:
            raise FederationError(
                f"Sites '{owner}' and '{site}' have the same columns, but not the same random matrix. Start a new run; "
                "if it happens again, one of them runs another version of flower-pansvm, or a changed one."
            )
    return tuple(digest for _, (_, digest) in sorted(by_block.items()))


METHODS = ("highs", "highs-ipm")
"""HiGHS' default, the simplex method; and interior points, where that fails (as it did on ionosphere)."""


def one_norm_svm(K: Floats, d: Floats, nu: float) -> tuple[Floats, float]:
    """Minimise nu sum y + ||u||_1 subject to D(K u - gamma) + y >= 1 and y >= 0.

    With u = p - q this is a linear program in p, q, y >= 0 and a free gamma.

    Parameters
    ----------
    K : ndarray of shape (rows, rows of B)
        Kernel of the training rows.
    d : ndarray of shape (rows,)
        1 or -1 for each row.
    nu : float
        Weight of the loss, above 0.

    Returns
    -------
    u : ndarray of shape (rows of B,)
        All zero if nu is too small: then every row gets the same class.
    gamma : float

    Raises
    ------
    TrainingError
        If HiGHS finds no solution.
    """
    rows, size = K.shape
    signed = d[:, None] * K
    # Sparse, since a dense identity would be as large as a kernel matrix of all rows.
    constraints = -hstack(
        [csc_array(np.hstack([signed, -signed, -d[:, None]])), eye_array(rows)], format="csc"
    )
    cost = np.concatenate([np.ones(2 * size), [0.0], np.full(rows, nu)])
    bounds = np.zeros((len(cost), 2))
    bounds[:, 1] = np.inf
    bounds[2 * size, 0] = -np.inf
    for method in METHODS:
        solution = linprog(cost, A_ub=constraints, b_ub=-np.ones(rows), bounds=bounds, method=method)
        if solution.x is not None:
            break
    else:
        raise TrainingError(
            f"HiGHS did not solve the 1-norm SVM of {rows} rows: {solution.message} Choose another C-random-kernel or "
            "gamma."
        )
    return solution.x[:size] - solution.x[size : 2 * size], float(solution.x[2 * size])

"""Random kernel: the kernel of the site's cell with the secret random matrix of its column block."""

import hmac
import secrets
from typing import cast

import numpy as np

from clients.column_blocks import block_number, column_block
from clients.ledger.lasting_split import lasting_secret
from clients.rows import Rows
from clients.seeds import COLUMN_BLOCK, SLOTS, distribute_seed
from clients.site import Site
from clients.systems import answers
from clients.systems.scaling import scaling_of
from flower_pansvm import records, scaling
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.secure_sum import tags
from flower_pansvm.systems import random_kernel as tasks
from flower_pansvm.systems.random_kernel import block_seed, matrix_digest, random_matrix
from flower_pansvm.systems.scaling import SCALING, ExtremesAnswer
from flower_pansvm.tasks import Nothing

OUTSIDE = 1e-9  # by how much rounding may put a cell outside of its column's range, in shares of the range


@answers(tasks.CELL)
def cell(site: Site, question: Nothing) -> tasks.CellAnswer:  # noqa: ARG001
    """Count the rows of the column block, and deal out the seed of its random matrix.

    The seed follows from the site's lasting secret, so that the next run has the same matrix: with another one,
    kernel rows of two runs would give whole rows to those who know both matrices.
    """
    layout = site.layout()
    block, names = block_number(layout, site.name), column_block(layout, site.name)
    blocks = int(layout.blocks.max()) + 1
    site.check_size(blocks)
    rows = np.zeros(blocks)
    rows[block] = len(site.train().classes) + len(site.test().classes)
    if site.participation is not None:
        roster = site.participation.sum_round.roster
        distribute_seed(site, SLOTS, secrets.token_bytes(32), roster)
        columns = np.array(site.schema().columns, dtype=np.str_)[site.own_columns()]
        seed = block_seed(lasting_secret(site), columns.tolist())
        distribute_seed(site, COLUMN_BLOCK, seed, [name for name in roster if name in names])
    return tasks.CellAnswer(rows)


@answers(tasks.MEANS)
def means(site: Site, question: Nothing) -> tasks.MeansAnswer:  # noqa: ARG001
    """Add to the means of the site's own columns, which fill missing cells."""
    mask = site.own_columns()
    answer = tasks.MeansAnswer(np.zeros(len(mask)), np.zeros(len(mask)))
    sums = scaling.moments(site.train().X)
    answer.count[mask], answer.total[mask] = sums["count"], sums["total"]
    return answer


@answers(tasks.COLUMN_RANGES)
def column_ranges(site: Site, question: Nothing) -> ExtremesAnswer:  # noqa: ARG001
    """Disclose the smallest and largest training cell of each of the site's columns."""
    X = site.train().X
    return ExtremesAnswer(
        low=np.where(np.isnan(X), np.inf, X).min(axis=0, initial=np.inf)[None],
        high=np.where(np.isnan(X), -np.inf, X).max(axis=0, initial=-np.inf)[None],
    )


@answers(tasks.KERNEL)
def kernel(site: Site, question: tasks.KernelQuestion) -> tasks.KernelAnswer:
    """Disclose the kernel of the training rows with the random matrix, and their labels."""
    X = scaling_of(site, 0).of(site.own_columns()).transform(site.train().X)
    if ((X < -OUTSIDE) | (X > 1 + OUTSIDE)).any():
        raise SettingError(
            f"Site '{site.name}' received ranges of columns that do not hold all its cells: in other units a column "
            f"could stand out in the kernel rows. {NOT_FOLLOWED}"
        )
    return _kernel_of(site, question, site.train())


@answers(tasks.KERNEL_POINTS)
def kernel_points(site: Site, question: tasks.KernelQuestion) -> tasks.KernelAnswer:
    """Disclose the same of the test rows."""
    return _kernel_of(site, question, site.test())


def _kernel_of(site: Site, question: tasks.KernelQuestion, rows: Rows) -> tasks.KernelAnswer:
    request = f"{records.digest(records.values_of(question))} {site.digest_of(SCALING)}"
    site.require_same(
        tasks.KERNEL.name, request, "a second kernel: kernel rows of two scalings reveal more of the rows"
    )
    X = scaling_of(site, 0).of(site.own_columns()).transform(rows.X)
    if not 1 <= question.rows < X.shape[1]:
        raise SettingError(
            f"Site '{site.name}' refuses a random matrix of {question.rows} rows for its {X.shape[1]} columns: from so "
            f"many equations, each row follows for those who know the matrix. The largest is {X.shape[1] - 1}."
        )
    if question.kernel not in ("linear", "rbf"):
        raise FederationError(f"Site '{site.name}' knows no random kernel of that name. {NOT_FOLLOWED}")
    site.check_size(float(len(X)) * question.rows)
    B = random_matrix(cast(bytes, site.remembered(COLUMN_BLOCK)), question.rows, X.shape[1])
    ids = site.table().ids
    marked = [site.name] if ids is None else ids.tolist()
    about = tags.join_fields(tags.ROW_BLOCK, *(str(text).encode() for text in marked))
    return tasks.KernelAnswer(
        kernel=Kernel(question.kernel, question.mu)(X, B),  # type: ignore[arg-type]
        labels=rows.classes,
        row_block=hmac.digest(cast(bytes, site.remembered(SLOTS)), about, "sha256").hex(),
        matrix=matrix_digest(B),
    )

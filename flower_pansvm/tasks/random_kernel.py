"""Random kernel: cells of a checkerboard of rows and columns, and their kernel with a random matrix."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.records import Texts
from flower_pansvm.tasks.consents import CONSENTS, Consent
from flower_pansvm.tasks.limits import COUNT
from flower_pansvm.tasks.scaling import ExtremesAnswer
from flower_pansvm.tasks.task import Broadcast, Nothing, Task, disclosed, summed

CONSENTS.register("kernel-rows")(
    Consent(
        "numbers of each of its rows, from which other hospitals with the same columns can compute most of the row",
        "strategy=pan-svm",
    )
)
CONSENTS.register("row-labels")(Consent("the label of each of its rows", "strategy=pan-svm"))


@dataclass(frozen=True)
class LayoutBroadcast:
    """Which site holds which columns: sites with the same ones are a column block. A run has one layout."""

    sites: Texts
    blocks: Ints  # (sites,): number of each site's column block
    columns: Ints  # (columns,): number of the block of each column of the schema


LAYOUT = Broadcast("layout", LayoutBroadcast)


@dataclass(frozen=True)
class CellAnswer:
    """How many rows each column block has."""

    rows: Floats = summed(COUNT)  # (column blocks,): training and test rows, at the site's own block


CELL = Task("cell", "train", Nothing, CellAnswer, since="0.1.0", deals=True)
"""The first site of each column block writes the seed of the block's random matrix to the others."""


@dataclass(frozen=True)
class MeansAnswer:
    """What the columns' means are made of, shape (columns,); 0 where a column is not the site's."""

    count: Floats = summed(COUNT)
    total: Floats = summed()


MEANS = Task("means", "train", Nothing, MeansAnswer, since="0.1.0", deals=True)


COLUMN_RANGES = Task("column_ranges", "train", Nothing, ExtremesAnswer, since="0.1.0")
"""Smallest and largest training cell of each of the site's columns, as of a single fold."""


@dataclass(frozen=True)
class KernelQuestion:
    """The kernel and the number of rows of B; the scaling of the columns has been broadcast."""

    kernel: str  # linear or rbf
    mu: float  # width of the Gaussian kernel exp(-mu ||x - b||^2); any number for a linear one
    rows: int  # of the random matrix


@dataclass(frozen=True)
class KernelAnswer:
    """K(A_ij, B_j') of a cell; rows in the order of their ids."""

    kernel: Floats = disclosed(consent="kernel-rows")  # (rows, rows of B)
    labels: Ints = disclosed(consent="row-labels")  # (rows,): class index
    row_block: str = disclosed()  # the same for cells of the same rows; says nothing else to the coordinator
    matrix: str = disclosed()  # digest of B_j


KERNEL = Task("kernel", "train", KernelQuestion, KernelAnswer, since="0.1.0")
KERNEL_POINTS = Task("kernel_points", "evaluate", KernelQuestion, KernelAnswer, since="0.1.0")
"""The same of the test rows, which the model is tried on."""

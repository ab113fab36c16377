"""Distortion: votes on which columns are worth distorting, and the distorted rows that each hospital publishes."""

from dataclasses import dataclass

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.tasks.consents import CONSENTS, Consent
from flower_pansvm.tasks.task import Nothing, Task, disclosed, summed

CONSENTS.register("distorted-rows")(
    Consent(
        "a distorted copy of its rows with their labels, to the coordinator and, in the model, to every other "
        "hospital: whoever knows a patient's row may find the patient in it",
        "strategy=dp-svm",
    )
)


@dataclass(frozen=True)
class ColumnVotesAnswer:
    """How many sites' own rows choose a column."""

    votes: Floats = summed(
        1.0, consent="distorted-rows"
    )  # (columns,): 1 for a column that the site's rows choose


COLUMN_VOTES = Task("column_votes", "train", Nothing, ColumnVotesAnswer, since="0.1.0")


@dataclass(frozen=True)
class DistortedRowsQuestion:
    """Which cells are to be distorted."""

    columns: Bools  # (columns,): those that are wanted
    test: int  # 1 if the test rows are to be published as well, else 0


@dataclass(frozen=True)
class DistortedRowsAnswer:
    """The site's rows, distorted, in an order that is not the table's."""

    rows: Floats = disclosed(consent="distorted-rows")  # (rows, columns wanted): in the table's units
    classes: Ints = disclosed(consent="distorted-rows")  # (rows,): class index
    test: Bools = disclosed(consent="distorted-rows")  # (rows,): whether it is a test row


DISTORTED_ROWS = Task("distorted_rows", "train", DistortedRowsQuestion, DistortedRowsAnswer, since="0.1.0")
"""Answered for one question a run: two copies of the same rows would tell more than each."""

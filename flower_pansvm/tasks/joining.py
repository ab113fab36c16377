"""Joining: who takes part, and what the columns and classes are called."""

from dataclasses import dataclass

from flower_pansvm.records import Texts
from flower_pansvm.tasks.task import Broadcast, Task, disclosed


@dataclass(frozen=True)
class JoinQuestion:
    """Asks a site who it is.

    Parameters
    ----------
    positive_labels : tuple of str
        Labels that count as positive; empty if the classes are the labels themselves.
    """

    positive_labels: Texts


@dataclass(frozen=True)
class JoinAnswer:
    """What a site says of itself.

    Parameters
    ----------
    name : str
        Its name.
    version : str
        Version of this project that it runs.
    public_key, published, signature : bytes
        See :class:`flower_pansvm.tasks.summing.PublicKeys`.
    columns : tuple of str
        Names of its columns.
    absent_is_zero : bool
        Whether a column that it lacks is all zero (LIBSVM text).
    classes : tuple of str
        Names of its classes; not how many rows have them.
    """

    name: str = disclosed()
    version: str = disclosed()
    public_key: bytes = disclosed()
    published: bytes = disclosed()
    signature: bytes = disclosed()
    columns: Texts = disclosed()
    absent_is_zero: bool = disclosed()
    classes: Texts = disclosed()


JOIN = Task("join", "query", JoinQuestion, JoinAnswer, since="0.1.0")


@dataclass(frozen=True)
class SchemaBroadcast:
    """What all sites agree on, once in a run.

    Parameters
    ----------
    columns, classes, positive_labels : tuple of str
        See :class:`flower_pansvm.schema.Schema`.
    test_fraction : float
        Share of each site's rows that is kept for evaluation.
    folds : int
        Folds of the training rows; 0 for none.
    seed : int
        Seed of both draws.
    """

    columns: Texts
    classes: Texts
    positive_labels: Texts
    test_fraction: float
    folds: int
    seed: int


SCHEMA = Broadcast("schema", SchemaBroadcast)

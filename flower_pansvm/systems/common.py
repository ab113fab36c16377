"""The tasks of every run: joining it, and its columns and classes."""

from dataclasses import dataclass

from flower_pansvm.arrays import Ints
from flower_pansvm.records import Texts
from flower_pansvm.tasks import Broadcast, Task, disclosed


@dataclass(frozen=True)
class JoinQuestion:
    """Asks a site who it is."""

    positive_labels: Texts  # labels that count as positive; empty if the classes are the labels themselves
    classes: Texts = ()  # names of the classes where they are public, so that no site has to look at its rows for them
    dp: bool = False  # whether all answers of the run are differentially private
    tested: bool = False  # whether only those about the model's test are, in a run at level perturbed

    @property
    def charged(self) -> bool:
        """Whether any answer of the run is charged to the hospital's budget."""
        return self.dp or self.tested


@dataclass(frozen=True)
class JoinAnswer:
    """A site's description of itself."""

    name: str = disclosed()
    version: str = disclosed()  # of this project
    simulated: bool = disclosed()  # whether nobody's records are in it
    public_key: bytes = disclosed()  # raw X25519 key of this run
    published: bytes = disclosed()  # the protocol's own public half, empty for most
    epochs: bytes = disclosed()  # of its ledger (clients/ledger/epochs.py); empty unless the run is private
    signature: bytes = disclosed()  # of the site's identity on all three, empty without one
    columns: Texts = disclosed()  # names of its columns
    absent_is_zero: bool = disclosed()  # whether a column that it lacks is all zero (LIBSVM text)
    # Of its classes; not how many rows have them. Public ones are those of the question or of the node config.
    classes: Texts = disclosed()
    schema: str = disclosed()  # digest of its schema file, which is public; empty without one


JOIN = Task("join", "query", JoinQuestion, JoinAnswer)


@dataclass(frozen=True)
class SchemaBroadcast:
    """The common columns and classes, once in a run."""

    columns: Texts  # in common order
    classes: Texts
    positive_labels: Texts  # as in JoinQuestion
    test_fraction: float  # share of each site's rows that is kept for evaluation
    folds: int  # of the training rows; 0 for none
    seed: int  # of both draws, at simulated sites only


SCHEMA = Broadcast("schema", SchemaBroadcast)


@dataclass(frozen=True)
class LayoutBroadcast:
    """Which site holds which columns: sites with the same ones are a column block. A run has one layout."""

    sites: Texts
    blocks: Ints  # (sites,): number of each site's column block
    columns: Ints  # (columns,): number of the block of each column of the schema


LAYOUT = Broadcast("layout", LayoutBroadcast)

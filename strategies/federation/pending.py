"""What is written on messages besides the question: which sum it is, and what waited for the next message.

That is broadcasts to all sites, sealed notes from site to site, and everybody's keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from flwr.app import RecordDict

from flower_pansvm import records
from flower_pansvm.records import Values
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.summing import AllKeys, PublicKeys, WhichSum


@dataclass(frozen=True)
class Contact:
    """How to reach a site that has joined, and what it has said of itself."""

    node_id: int
    keys: PublicKeys
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    simulated: bool = False


class Pending:
    """What rides on the next messages and has no round trip of its own; all sites have it when all have answered.

    Attributes
    ----------
    broadcasts : dict of str to mapping
        The values that not all sites have yet, by the broadcast's name.
    digests : dict of str to str
        The digest of everything that has been broadcast so far; the name of each sum is made from them.
    """

    def __init__(self) -> None:
        self.broadcasts: dict[str, Values] = {}
        self.digests: dict[str, str] = {}
        self._keys: AllKeys | None = None  # until all sites have them
        self._notes: Mapping[str, Mapping[str, bytes]] = {}

    def add_broadcast(self, name: str, values: Values) -> None:
        """Take values for all sites, which replace those of the same name."""
        self.broadcasts[name] = values
        self.digests[name] = records.digest(values)

    def add_keys(self, keys: AllKeys) -> None:
        """Take what all sites have published, for their first sum; lost ones too: a note may come from one."""
        self._keys = keys

    def put_broadcasts(self, content: RecordDict) -> None:
        """Add the broadcasts to a message."""
        for name, values in self.broadcasts.items():
            records.put(content, f"broadcast.{name}", values)

    def put(self, content: RecordDict, site: str) -> None:
        """Add everything to the message of a secure sum to a site."""
        if self._keys is not None:
            records.write(content, "keys", self._keys)
        records.put(content, "notes", self._notes.get(site, {}))
        self.put_broadcasts(content)

    def delivered(self, notes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Forget what all sites have now, and take the notes in their answers, by the site they are for."""
        self.broadcasts.clear()
        self._keys, self._notes = None, notes


def put_sum(content: RecordDict, this: SumRound, joined: Mapping[str, Contact]) -> None:
    """Write on a message which sum it is about.

    Parameters
    ----------
    content : RecordDict
        The message's content.
    this : SumRound
        The sum.
    joined : mapping of site name to Contact
        All sites that have joined the run.
    """
    taking_part = set(this.roster)
    left_out = tuple(name for name in joined if name not in taking_part)
    records.write(content, "sum", WhichSum(this.task, this.round_trip, this.attempt, left_out))


def notes_by_receiver(contents: Mapping[str, RecordDict]) -> dict[str, dict[str, bytes]]:
    """Sort the sealed notes in the sites' replies by the site they are for."""
    notes: dict[str, dict[str, bytes]] = {}
    for sender, content in contents.items():
        for receiver, note in records.read_each(content, "notes", bytes, sender_of(sender)).items():
            notes.setdefault(receiver, {})[sender] = note
    return notes


def sender_of(site: str) -> str:
    """Return how the errors of :mod:`flower_pansvm.records` name a site that has sent something."""
    return f"Site '{site}'"

"""What travels along with the next messages: broadcasts to all sites, sealed notes from site to site, everybody's keys.

None of it has a round trip of its own. It rides on the next request, and is at its goal when all sites have answered.
"""

from collections.abc import Mapping

from flwr.app import RecordDict

from flower_pansvm import records
from flower_pansvm.records import Values
from flower_pansvm.summing import AllKeys


class Luggage:
    """What rides on the next messages.

    Attributes
    ----------
    broadcasts : dict of str to mapping
        The values that not all sites have yet, by the broadcast's name.
    told : dict of str to str
        The digest of everything that has been broadcast so far; the name of each sum is made from them.
    """

    def __init__(self) -> None:
        self.broadcasts: dict[str, Values] = {}
        self.told: dict[str, str] = {}
        self._keys: AllKeys | None = None  # until all sites have them
        self._notes: Mapping[str, Mapping[str, bytes]] = {}

    def take_broadcast(self, name: str, values: Values) -> None:
        """Take values for all sites, which replace those of the same name."""
        self.broadcasts[name] = values
        self.told[name] = records.digest(values)

    def take_keys(self, keys: AllKeys) -> None:
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

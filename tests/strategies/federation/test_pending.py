"""What rides on messages: broadcasts until all have them, notes to their receivers only, keys once."""

from flwr.app import RecordDict

from flower_pansvm import records
from strategies.federation.messages import Pending


def message_to(pending: Pending, site: str) -> RecordDict:
    content = RecordDict()
    pending.put(content, site)
    return content


def test_broadcasts_ride_until_all_sites_have_them_and_stay_in_the_names_of_sums() -> None:
    pending = Pending()
    pending.add_broadcast("scaling", {"shift": 1.0})
    # A sum that is repeated without a lost site is another message, which some sites have not had.
    for _ in range(2):
        assert records.get(message_to(pending, "north"), "broadcast.scaling") == {"shift": 1.0}
    pending.delivered({})
    assert not records.has(message_to(pending, "north"), "broadcast.scaling")
    assert pending.digests == {"scaling": records.digest({"shift": 1.0})}

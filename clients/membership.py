"""A site's part in the secure sums: its keys for the run, and which sums it takes part in."""

from dataclasses import dataclass
from typing import cast

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Context, RecordDict

from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum import make
from flower_pansvm.secure_sum.contract import Member, SecureSum, SumRound
from flower_pansvm.secure_sum.keys import seal, unseal
from flower_pansvm.secure_sum.refusals import Memory, admit
from flower_pansvm.settings import Settings

KEYS = "keys"
MEMORY = "memory"


def site_name(context: Context) -> str:
    """Return the name of a site: the one its node config gives it, else the number of a simulated node."""
    if "name" in context.node_config:
        return str(context.node_config["name"])
    if "partition-id" in context.node_config:
        return f"site-{int(cast(int, context.node_config['partition-id'])):03d}"
    return f"node-{context.node_id}"


@dataclass(frozen=True)
class Participation:
    """What a site needs to take part in one secure sum.

    Parameters
    ----------
    protocol : SecureSum
        The protocol.
    this : SumRound
        Which sum it is.
    member : Member
        This site's keys and the others' public keys.
    bounds : dict of str to float
        Largest absolute value any site may hold, for each result; infinite if unknown.
    memory : Memory
        What the site has to remember once its answer is on its way.
    """

    protocol: SecureSum
    this: SumRound
    member: Member
    bounds: dict[str, float]
    memory: Memory


def protocol_of(context: Context) -> SecureSum:
    """Return the protocol of the run.

    Raises
    ------
    SumError
        If it does not protect the site and the hospital has not agreed to that in its node config.
    """
    settings = Settings.from_config(context.run_config)
    protocol = make(settings.aggregation)
    node = context.node_config
    simulated = "partition-id" in node
    if not (protocol.protected or simulated or node.get("aggregation") == protocol.name):
        raise SumError(
            f"Site '{site_name(context)}' refuses the aggregation '{protocol.name}': the coordinator would see this "
            "site's numbers. Choose aggregation=ring, or write it into the site's node config to agree."
        )
    return protocol


def make_keys(context: Context) -> tuple[bytes, bytes]:
    """Make this site's keys for the run, and return the two public halves: X25519, and the protocol's own."""
    key = X25519PrivateKey.generate()
    secret, published = protocol_of(context).prepare()
    records.put(context.state, KEYS, {"private": key.private_bytes_raw(), "secret": secret})
    records.put(context.state, MEMORY, {"json": Memory(run=str(context.run_id)).to_json()})
    return key.public_key().public_bytes_raw(), published


def take_part(context: Context, content: RecordDict) -> Participation:
    """Check a request for a secure sum and return what the site needs to answer it.

    Parameters
    ----------
    context : Context
        Flower's context of this node, which has joined the run.
    content : RecordDict
        The request: groups ``sum``, ``bounds``, ``public_keys`` and ``published``.

    Raises
    ------
    SumError
        If the site refuses (:func:`flower_pansvm.secure_sum.refusals.admit` lists the reasons).
    """
    keys = records.get(context.state, KEYS)
    if not keys:
        raise SumError(
            f"Site '{site_name(context)}' has no keys for this run: it has not joined. Start the run again."
        )
    request = records.get(content, "sum")
    this = SumRound(
        run=str(context.run_id),
        task=str(request["task"]),
        round_trip=cast(int, request["round_trip"]),
        attempt=cast(int, request["attempt"]),
        roster=tuple(map(str, cast("list[str]", request["roster"]))),
    )
    public_keys = cast("dict[str, bytes]", records.get(content, "public_keys"))
    published = cast("dict[str, bytes]", records.get(content, "published"))
    memory = admit(
        Memory.from_json(str(records.get(context.state, MEMORY)["json"])),
        this,
        site_name(context),
        {name: public_keys[name] + published[name] for name in public_keys},
        _min_sites(context),
    )
    member = Member(
        name=site_name(context),
        key=X25519PrivateKey.from_private_bytes(cast(bytes, keys["private"])),
        peers={name: key for name, key in public_keys.items() if name != site_name(context)},
        secret=cast(bytes, keys["secret"]),
        published=published,
    )
    bounds = cast("dict[str, float]", records.get(content, "bounds"))
    return Participation(protocol_of(context), this, member, bounds, memory)


def remember(context: Context, participation: Participation) -> None:
    """Note that this sum has been answered; called when nothing can fail any more."""
    records.put(context.state, MEMORY, {"json": participation.memory.to_json()})


def _min_sites(context: Context) -> int:
    """Return the fewest sites in a sum: what the run says, or more if the hospital asks for more."""
    settings = Settings.from_config(context.run_config)
    return max(settings.min_sites, int(cast(int, context.node_config.get("min-sites", 0))))


def note_to(participation: Participation, receiver: str, purpose: str, note: bytes) -> bytes:
    """Return a note that only the site ``receiver`` can read, to be handed on by the coordinator."""
    return seal(participation.member, receiver, _of_the_run(participation, purpose), purpose, note)


def note_from(participation: Participation, sender: str, purpose: str, sealed: bytes) -> bytes:
    """Return what another site wrote to this one; raises SumError if it was not that site."""
    return unseal(participation.member, sender, _of_the_run(participation, purpose), purpose, sealed)


def _of_the_run(participation: Participation, purpose: str) -> SumRound:
    """Return the label of notes that are valid for the whole run: they may be read in a later round trip."""
    return SumRound(participation.this.run, purpose, round_trip=1, attempt=0, roster=())

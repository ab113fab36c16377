"""The keys a site makes for one run, and how it knows the other sites' keys to be theirs.

Without a roster file the site takes the others' keys as the coordinator first hands them out. With one
(``identity`` and ``roster`` in the node config) it signs its own keys and believes no unsigned ones, so the
coordinator cannot stand in the middle.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Context

from clients.gate.terms import site_name
from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import Member, SecureSum
from flower_pansvm.tasks.summing import PublicKeys

STATE = "keys"


def make_run_keys(context: Context, protocol: SecureSum) -> PublicKeys:
    """Make this site's keys for the run, private halves into its state, and return what it publishes of them.

    A second time it refuses: new keys would make it forget which sums it has answered.
    """
    if records.has(context.state, STATE):
        raise SumError(f"Site '{site_name(context)}' has joined this run already. Start a new run.")
    key = X25519PrivateKey.generate()
    secret, published = protocol.prepare()
    records.put(context.state, STATE, {"private": key.private_bytes_raw(), "secret": secret})
    public_key = key.public_key().public_bytes_raw()
    signature = b""
    if "identity" in context.node_config:
        # Only here and below, as each message may start a process.
        from flower_pansvm.secure_sum.identities import RunKeys, load_identity, sign  # noqa: PLC0415

        identity = load_identity(Path(str(context.node_config["identity"])))
        signature = sign(identity, RunKeys(str(context.run_id), site_name(context), public_key, published))
    return PublicKeys(public_key, published, signature)


def member_of(context: Context, public: Mapping[str, PublicKeys]) -> Member:
    """Return this site's keys together with the other sites' public ones, after checking their signatures.

    ``public`` is what :func:`make_run_keys` returned at each site, as the coordinator hands it on.
    """
    own = records.get(context.state, STATE)
    name = site_name(context)
    if not own:
        raise SumError(f"Site '{name}' has no keys for this run: it has not joined. Start the run again.")
    if "roster" in context.node_config:
        from flower_pansvm.secure_sum.identities import RunKeys, read_roster, verify  # noqa: PLC0415

        trusted = read_roster(Path(str(context.node_config["roster"])))
        for peer, keys in public.items():
            claimed = RunKeys(str(context.run_id), peer, keys.public_key, keys.published)
            verify(trusted, claimed, keys.signature)
    return Member(
        name=name,
        key=X25519PrivateKey.from_private_bytes(cast(bytes, own["private"])),
        peers={peer: keys.public_key for peer, keys in public.items() if peer != name},
        secret=cast(bytes, own["secret"]),
        published={peer: keys.published for peer, keys in public.items()},
    )

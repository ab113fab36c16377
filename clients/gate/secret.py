"""The lasting key of a site: its table's, from which it makes whatever must be the same in all runs."""

import hashlib
from pathlib import Path

from flwr.app import Context

from clients.gate.budget import linked_ledger
from clients.gate.state_folder import state_folder
from clients.policy import site_name
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields


def key_of(context: Context) -> Path | bytes:
    """Return the folder that leads to a hospital's key; of a simulated site the key, which follows from the seed."""
    folder = state_folder(context)
    if folder is not None:
        return folder
    seed = str(context.run_config.get("seed", 0)).encode()
    return hashlib.sha256(join_fields(tags.SECRET, seed, site_name(context).encode())).digest()


def lasting_secret(context: Context) -> bytes:
    """Return the key; BudgetError if a hospital's ledger is missing or damaged."""
    key = key_of(context)
    return key if isinstance(key, bytes) else bytes.fromhex(linked_ledger(key).key)

"""Where a site's lasting key is: a hospital's in its table's ledger; a simulated site's follows from the seed."""

import hashlib
from pathlib import Path

from clients.hospital import Hospital
from clients.ledger.ledger import linked_ledger
from clients.state_folder import state_folder
from flower_pansvm.secure_sum import tags


def key_of(hospital: Hospital) -> Path | bytes:
    """Return the folder that leads to a hospital's key; of a simulated site the key, which follows from the seed."""
    folder = state_folder(hospital)
    if folder is not None:
        return folder
    seed = str(hospital.terms.config.get("seed", 0)).encode()
    return hashlib.sha256(tags.join_fields(tags.SECRET, seed, hospital.name.encode())).digest()


def lasting_secret(hospital: Hospital) -> bytes:
    """Return the key; BudgetError if a hospital's ledger is missing or damaged."""
    key = key_of(hospital)
    return key if isinstance(key, bytes) else bytes.fromhex(linked_ledger(key).key)

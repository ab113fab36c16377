"""What is the same in all runs: a table's lasting key, and which of its records are kept for evaluation.

A record's side follows from the record and its table's ledger, and from nothing that a coordinator says: by its id,
or, without ids, by the ledger's key and its cells in the columns that the table had first. So equal records are on the
same side, whatever columns are added; and hospitals that share a patient by an id keep it on the same side. Folds, and
the order in which systems see a copy, follow from the key, too: they tell nothing of an id or a cell.
"""

import hashlib
import hmac
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from clients.hospital import Hospital
from clients.ledger.ledger import Ledger, linked_ledger
from clients.ledger.tables import BLOCK_ROWS, Digests, cell_digests
from clients.state_folder import state_folder
from clients.table.table import Table
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields


def key_of(hospital: Hospital) -> Path | bytes:
    """Return the folder that leads to a hospital's key; of a simulated site the key, which follows from the seed."""
    folder = state_folder(hospital)
    if folder is not None:
        return folder
    seed = str(hospital.terms.config.get("seed", 0)).encode()
    return hashlib.sha256(join_fields(tags.SECRET, seed, hospital.name.encode())).digest()


def lasting_secret(hospital: Hospital) -> bytes:
    """Return the key; BudgetError if a hospital's ledger is missing or damaged."""
    key = key_of(hospital)
    return key if isinstance(key, bytes) else bytes.fromhex(linked_ledger(key).key)


def lasting_split(folder: Path, table: Table, test_fraction: float) -> tuple[Bools, Digests]:
    """Return which records are kept for evaluation, and a secret number of each, by which they are put in order.

    Both have the shape (rows,).

    Parameters
    ----------
    folder : Path
        The hospital's state folder.
    table : Table
        The true records.
    test_fraction : float
        What the run asks for.

    Raises
    ------
    SettingError
        If it is not the share that the hospital has settled on.
    BudgetError
        If there is no ledger, or the table was not looked at when the site joined the run.
    """
    ledger = linked_ledger(folder)
    if test_fraction != ledger.test_fraction:
        raise SettingError(
            f"The hospital keeps the same {ledger.test_fraction:g} of its rows for evaluation in all runs. Start the "
            f"run with test-fraction={ledger.test_fraction:g}."
        )
    sides, numbers = lasting_numbers(table, ledger)
    return sides < ledger.test_fraction * 2.0**64, numbers


def lasting_numbers(table: Table, ledger: Ledger) -> tuple[Digests, Digests]:
    """Return two numbers of each record, evenly spread from 0 to 2^64: of its side, and the secret one of its place.

    Anyone can hash an id. And the sums of digests of cells are in an order from which, over few columns of codes, an
    attacker could compute the true cells of the copies. So the digests are encrypted once more.
    """
    digests = record_digests(table, ledger)
    octets = np.zeros((len(digests), 2), "<u8")
    octets[:, 0] = digests
    numbers = np.frombuffer(_cipher(ledger, b"place").encryptor().update(octets.tobytes()), "<u8")[::2]
    return (digests if _is_by_ids(table, ledger) else numbers), numbers


def record_digests(table: Table, ledger: Ledger) -> Digests:
    """Return a number of each record, from 0 to 2^64, shape (rows,): equal ones of equal records."""
    if table.ids is not None and _is_by_ids(table, ledger):
        digests = (hashlib.sha256(tags.SIDE + str(one).encode()).digest()[:8] for one in table.ids)
        return np.frombuffer(b"".join(digests), "<u8")
    key = bytes.fromhex(ledger.key)
    cipher = _cipher(ledger, b"cell")
    sums, X = np.zeros(len(table.X), "<u8"), table.X
    for name in ledger.columns:
        place, tag = table.columns.index(name), int.from_bytes(hmac.digest(key, name.encode(), "sha256")[:8])
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            sums[rows] += cell_digests(cipher, tag, X[rows, place])
    return sums


def _is_by_ids(table: Table, ledger: Ledger) -> bool:
    return ledger.by_ids and table.ids is not None


def _cipher(ledger: Ledger, purpose: bytes) -> Cipher[modes.ECB]:
    key = hmac.digest(bytes.fromhex(ledger.key), join_fields(tags.SIDE, purpose), "sha256")
    return Cipher(algorithms.AES256(key), modes.ECB())

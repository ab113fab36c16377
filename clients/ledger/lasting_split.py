"""What is the same in all runs: a table's lasting key, and which of its records are kept for evaluation.

A record's side follows from its table's ledger and from nothing that a coordinator says. Where the schema file names a
``patient-id``, it follows from the patient alone: all records of a patient are on one side, those that come later, too.
Else it follows from the record's id; or, without ids, from its cells in the columns that the table had first, so that
equal records are on the same side, whatever columns are added.

Each patient is kept with the chance ``test_fraction``, whatever its class: so no class is always or never tested, at
however many small hospitals, and in expectation the test has the mix of all. A patient of two hospitals may be trained
on at one and tested at the other: nothing notices that, but where tables have row ids, by which both decide alike.

Folds, and the order in which systems see a copy, follow from the ledger's key: they tell nothing of an id or a cell.
"""

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from clients.hospital import Hospital
from clients.ledger.ledger import Ledger, linked_ledger
from clients.state_folder import state_folder
from clients.table.table import Table
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import tags

Digests = NDArray[np.uint64]
BLOCK_ROWS = 2**16
"""Rows at a time."""


def key_of(hospital: Hospital) -> Path | bytes:
    """Return the folder that leads to a hospital's key; of a simulated site the key, which follows from the seed."""
    if not hospital.simulated:
        return state_folder(hospital)
    seed = str(hospital.terms.config.get("seed", 0)).encode()
    return hashlib.sha256(tags.join_fields(tags.SECRET, seed, hospital.name.encode())).digest()


def lasting_secret(hospital: Hospital) -> bytes:
    """Return the key; BudgetError if a hospital's ledger is missing or damaged."""
    key = key_of(hospital)
    return key if isinstance(key, bytes) else bytes.fromhex(linked_ledger(key).key)


@dataclass(frozen=True)
class LastingSplit:
    """What follows from records and ledger; arrays of shape (rows,)."""

    held_out: Bools  # for evaluation
    numbers: NDArray[Any]  # a secret number of each record, by which records are put in order
    of_patients: NDArray[Any]  # and one of each record's patient, by which patients are dealt to folds
    fold_start: int  # place of the first patient: the hospital's own


def lasting_split(folder: Path, table: Table, test_fraction: float) -> LastingSplit:
    """Return which records are kept for evaluation, and by what records and patients are put in order.

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
    sides, numbers, of_patients = lasting_numbers(table, ledger)
    start = int.from_bytes(_cipher(ledger, b"fold").encryptor().update(bytes(16))[:2])
    return LastingSplit(sides < ledger.test_fraction * 2.0**64, numbers, of_patients, start)


def lasting_numbers(table: Table, ledger: Ledger) -> tuple[Digests, Digests, Digests]:
    """Return three numbers of each record, evenly spread from 0 to 2^64: of its side, its place and its patient.

    The last two are secret, and the same where each record is a patient.

    Anyone can hash an id. And the sums of digests of cells are in an order from which, over few columns of codes, an
    attacker could compute the true cells of the copies. So the digests are encrypted once more.
    """
    digests = record_digests(table, ledger)
    numbers = of_patients = _encrypted(digests, ledger)
    sides = digests if _goes_by_ids(table, ledger) else numbers
    if ledger.by_patients and table.patients is not None:
        sides = digests_of_ids(table.patients)
        of_patients = _encrypted(sides, ledger)
        # Hospitals that have other columns of the same rows have row ids, and decide alike; else nobody has to know.
        sides = sides if _goes_by_ids(table, ledger) else of_patients
    return sides, numbers, of_patients


def _encrypted(digests: Digests, ledger: Ledger) -> Digests:
    octets = np.zeros((len(digests), 2), "<u8")
    octets[:, 0] = digests
    return np.frombuffer(_cipher(ledger, b"place").encryptor().update(octets.tobytes()), "<u8")[::2]


def record_digests(table: Table, ledger: Ledger) -> Digests:
    """Return a number of each record, from 0 to 2^64, shape (rows,): equal ones of equal records."""
    if table.ids is not None and _goes_by_ids(table, ledger):
        return digests_of_ids(table.ids)
    key = bytes.fromhex(ledger.key)
    cipher = _cipher(ledger, b"cell")
    sums, X = np.zeros(len(table.X), "<u8"), table.X
    for name in ledger.columns:
        index, tag = table.columns.index(name), int.from_bytes(hmac.digest(key, name.encode(), "sha256")[:8])
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            sums[rows] += cell_digests(cipher, tag, X[rows, index])
    return sums


def cell_digests(cipher: Cipher[Any], tag: int, cells: NDArray[np.float64]) -> Digests:
    """Return the digests of some cells of a column, shape (rows,): of its tag and each number in single precision."""
    octets = np.empty((len(cells), 2), "<u8")
    with np.errstate(over="ignore"):
        # One way to write a zero, and one for a missing cell.
        single = np.where(np.isnan(cells), np.nan, cells + 0.0).astype("<f4")
    octets[:, 0], octets[:, 1] = single.view("<u4"), tag
    return np.frombuffer(cipher.encryptor().update(octets.tobytes()), "<u8")[::2]


def digests_of_ids(ids: NDArray[np.str_]) -> Digests:
    """Return a number of each id, shape (rows,), the same at all hospitals."""
    digests = (hashlib.sha256(tags.SIDE + str(row_id).encode()).digest()[:8] for row_id in ids)
    return np.frombuffer(b"".join(digests), "<u8")


def _goes_by_ids(table: Table, ledger: Ledger) -> bool:
    return ledger.by_ids and table.ids is not None


def _cipher(ledger: Ledger, purpose: bytes) -> Cipher[modes.ECB]:
    key = hmac.digest(bytes.fromhex(ledger.key), tags.join_fields(tags.SIDE, purpose), "sha256")
    return Cipher(algorithms.AES256(key), modes.ECB())

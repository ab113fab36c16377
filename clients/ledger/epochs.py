"""How an old copy of a hospital's ledger is noticed: the other hospitals remember the last run that it had.

When a hospital joins a private run, it enters an *epoch* into its ledger: the number of the run, random bytes, and a
tag by which it knows its own. It publishes the epoch, signed together with its keys, and the last one that it has heard
of each hospital in its roster. Whoever hears of an epoch of its own that its ledger lacks has an older ledger than it
once had, or a copy is in use elsewhere. Nothing in an epoch depends on the rows.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clients.hospital import Hospital
from clients.ledger.ledger import BEHIND, EPOCH, Ledger, change_ledger
from clients.state_folder import locked_state, read_checked, state_folder, write_checked
from flower_pansvm import records
from flower_pansvm.errors import BudgetError
from flower_pansvm.secure_sum import tags
from flower_pansvm.summing import EPOCH_BYTES

HEARD_FILE = "epochs.json"
NUMBER, TAG = 8, 16  # bytes of the run's number, which are first, and of the tag, which are last


def enter_run(hospital: Hospital) -> bytes:
    """Enter this run into the hospital's ledger, and return what it publishes: its epoch, and those it has heard."""
    folder, key = state_folder(hospital), _key(hospital)

    def entered(ledger: Ledger) -> Ledger:
        serial = int(max(ledger.epochs, default="0")[: 2 * NUMBER], 16) + 1
        fresh = serial.to_bytes(NUMBER, "big") + secrets.token_bytes(EPOCH_BYTES - NUMBER - TAG)
        return replace(ledger, epochs=(*ledger.epochs, (fresh + _tag(key, fresh)).hex()))

    epoch = change_ledger(folder, entered).epochs[-1]
    records.put(hospital.state, EPOCH, {EPOCH: epoch})
    heard, roster = _heard(folder), _roster(hospital)
    return bytes.fromhex(epoch + "".join(heard[i] for i in roster.values() if i in heard))


def receive_epochs(hospital: Hospital, published: Mapping[str, bytes]) -> None:
    """Remember the epochs of the hospitals in a run, and check what they have heard of this one's.

    ``published`` is what :func:`enter_run` returned at each site, with a signature that was checked.

    Raises
    ------
    BudgetError
        If this site's ledger is behind; it is marked as such.
    """
    folder, roster, key = state_folder(hospital), _roster(hospital), _key(hospital)
    with locked_state(folder):  # two runs may begin in the same second
        before, missed = _heard(folder), set()
        heard = dict(before)
        for site, octets in published.items():
            epoch, *heard_by_site = (
                octets[start : start + EPOCH_BYTES] for start in range(0, len(octets) or 1, EPOCH_BYTES)
            )
            # A coordinator may hand out what a hospital has published in an older run.
            later = epoch[:NUMBER].hex() > heard.get(roster[site], "")[: 2 * NUMBER]
            if later and len(epoch) == EPOCH_BYTES:
                heard[roster[site]] = epoch.hex()
            missed |= {e.hex() for e in heard_by_site if hmac.compare_digest(e[-TAG:], _tag(key, e[:-TAG]))}
        if heard != before:
            write_checked(folder / HEARD_FILE, heard)

    def checked(ledger: Ledger) -> Ledger:
        return replace(ledger, missed=tuple(sorted(missed - set(ledger.epochs))))

    if change_ledger(folder, checked).missed:
        raise BudgetError(BEHIND)


def _tag(key: bytes, fresh: bytes) -> bytes:
    """Return the tag by which a hospital knows its own epochs, so that another one cannot forge them."""
    return hmac.digest(key, tags.EPOCH + fresh, "sha256")[:TAG]


def _key(hospital: Hospital) -> bytes:
    from flower_pansvm.secure_sum.identities import load_identity  # noqa: PLC0415 - of private runs alone

    return load_identity(Path(hospital.policy.identity)).private_bytes_raw()


def _roster(hospital: Hospital) -> dict[str, str]:
    """Return the public identity of each hospital in the roster, 64 hexadecimal digits."""
    from flower_pansvm.secure_sum.identities import read_roster  # noqa: PLC0415 - as above

    roster = read_roster(Path(hospital.policy.roster))
    return {name: key.public_bytes_raw().hex() for name, key in roster.items()}


def _heard(folder: Path) -> dict[str, str]:
    """Return the last epoch heard of each hospital, by its identity; none if the file is lost or damaged."""
    try:
        return read_checked(folder / HEARD_FILE)
    except (FileNotFoundError, ValueError):
        return {}

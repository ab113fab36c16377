"""What ``pansvm hospital init`` and ``accept`` write."""

import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP384R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from clients.budget import new_ledger
from clients.deployment.node_file import node_text, set_key
from clients.deployment.outside_parts import outside_parts, pin_parts
from clients.deployment.service_files import unit
from clients.ledger.home import tables_home
from clients.node.node_config import AUTHORITY_FILE, FLOWER_FOLDER, KEY_FILE, NODE_FILE, read_node_config
from clients.policy import LEAST_SITES, HospitalPolicy, policy_of
from clients.table.table import FUNCTION
from flower_pansvm.bundle import hash_of, installed_files
from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, write
from flower_pansvm.locking import locked
from flower_pansvm.printable import is_printable
from flower_pansvm.secure_sum.contract import FEWEST_ENOUGH
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.study.documents import is_code
from flower_pansvm.study.folder import new_folder, read_private
from flower_pansvm.study.invitation import INVITATION_FILE, Invitation
from flower_pansvm.study.registration import Registration, check_name
from flower_pansvm.version import VERSION

IDENTITY_FILE, ROSTER_FILE, STATE_FOLDER = "identity.pem", "roster.json", "state"
OWN = "this hospital's private key, made by `pansvm hospital init`"


def make_hospital(
    folder: Path,
    name: str,
    data: str,
    label: str | None = None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    test_fraction: float = 0.2,
    privacy: str = "dp",
    noise: float = 0.5,
) -> tuple[Path, Registration]:
    """Make a hospital's folder with all that is its own, and return the file that it hands over, and what is in it.

    The name is that of the hospital in the study, epsilon and delta are what all runs together may spend on its
    table, ``test_fraction`` is the share of the rows that all runs keep for evaluation; ``privacy`` is the weakest
    level and noise the least that it agrees to. SettingError if a value cannot be, there is no such table, or there is
    something in the folder; nothing has been written.
    """
    check_name(name)
    table = _table(folder, data, label)
    agreed: dict[str, float | str]
    agreed = {"epsilon": epsilon, "delta": delta, "privacy": privacy, "noise": noise}
    HospitalPolicy(**agreed)  # type: ignore[arg-type] # checks the values
    if epsilon == 0 or not 0 <= test_fraction < 1:
        raise SettingError(
            "epsilon has to be above 0, and test-fraction from 0 to below 1. Usual are 1 and 0.2."
        )
    folder = new_folder(folder)
    create_identity(folder / IDENTITY_FILE)
    key = generate_private_key(SECP384R1())
    content = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    write(folder / KEY_FILE, content, mode=PRIVATE)
    for inner in (STATE_FOLDER, FLOWER_FOLDER):
        (folder / inner).mkdir(mode=0o700)
    new_ledger(folder / STATE_FOLDER, test_fraction)
    tables_home()  # systemd lets a SuperNode write into folders only that are there
    write(folder / NODE_FILE, node_text(folder, name, table, label, agreed), mode=PRIVATE)
    write(folder / "pansvm-hospital.service", unit(folder, name))
    registration = Registration.of(name, load_identity(folder / IDENTITY_FILE), _public(key))
    file = folder / f"{name}.registration.json"
    write(file, registration.to_json())
    return file, registration


def _table(folder: Path, data: str, label: str | None) -> Path:
    """Return the path of a table; SettingError if there is none, or a name cannot be written into a node config."""
    if not is_printable(f"{folder}{data}{label or ''}"):
        raise SettingError(
            "The path of the table or of the folder, or the label, holds a control character, or is no text in the "
            "locale of this shell (LC_ALL). Rename it, or choose a UTF-8 locale."
        )
    if data.startswith(FUNCTION):
        # Not loaded by a SuperNode, which waits for months.
        from clients.table.sources.function import installed_function  # noqa: PLC0415

        installed_function(data)
        return Path(data)
    table = Path(data).expanduser().absolute()
    if not table.is_file():
        raise SettingError(f"There is no table {table}. Is the path right?")
    return table


def state_of(folder: Path) -> Path:
    """Return the state folder of a hospital's folder; SettingError if this is no such folder."""
    return Path(str(read_node_config(folder).get("state", folder / STATE_FOLDER)))


def own_registration(folder: Path) -> Registration:
    """Return a hospital's registration, made again from its private keys; SettingError if one of them is missing."""
    name = str(read_node_config(folder).get("name", ""))
    if not name:
        raise SettingError(
            f"{folder / NODE_FILE} has no 'name', which is what this hospital is called in the study. Write it in "
            "again, as `pansvm hospital init` had it."
        )
    read_private(folder / IDENTITY_FILE, OWN)
    try:
        key = load_ssh_private_key(read_private(folder / KEY_FILE, OWN), None)
    except ValueError:
        key = None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise SettingError(
            f"{folder / KEY_FILE} is damaged. It is {OWN}. Get it back from a backup, or join anew."
        )
    return Registration.of(name, load_identity(folder / IDENTITY_FILE), _public(key))


def check_invited(invitation: Invitation, site: Registration) -> None:
    """Check that an invitation is for this hospital, and has its own keys; else SettingError."""
    invited = {entry.name: entry for entry in invitation.hospitals}
    if site.name not in invited:
        raise SettingError(
            f"The invitation is for {', '.join(invited)}; '{site.name}' is not among them. Has the coordinator got "
            f"this hospital's {site.name}.registration.json? Ask for an invitation that was made with it."
        )
    entry = invited[site.name]
    if entry.identity != site.identity:
        raise SettingError(
            f"The invitation's roster gives this hospital, '{site.name}', an identity that is not its own: the other "
            "hospitals would trust somebody else's keys. Either the coordinator has an old file of this hospital, or "
            "somebody has exchanged it on its way, or the coordinator has. Hand over the registration again and "
            "compare its code by telephone."
        )
    if entry.supernode_key != site.supernode_key:
        raise SettingError(
            f"The invitation has another SuperNode's key for '{site.name}' than this folder's: the SuperLink would "
            "refuse it. The coordinator has an older file of this hospital: hand over the registration again."
        )


def check_software(invitation: Invitation) -> str:
    """Check that the software of an invitation is what is installed, and return its hash; else SettingError."""
    installed = hash_of(installed_files())
    if invitation.software["hash"] != installed:
        raise SettingError(
            f"The invitation is for flower-pansvm {invitation.software['version']} with the hash\n"
            f"{invitation.software['hash']}, and installed here is {VERSION} with the hash\n{installed}. This hospital "
            "runs what is installed and nothing else: it would refuse every run. Get the coordinator's checkout, audit "
            "it, and install it by `pip install .`; or ask for an invitation that was made with this version."
        )
    return installed


def accept(folder: Path, file: Path, code: str) -> Invitation:
    """Take an invitation in, after all checks that need no network, and return it.

    The code is as somebody has read it out who has it from elsewhere than this file. SettingError if it is another,
    the invitation is not for this hospital or not for the installed software, or it does not replace the one that was
    accepted before. Nothing has been written.
    """
    site, invitation = own_registration(folder), Invitation.read(file)
    check_invited(invitation, site)
    check_software(invitation)
    if not is_code(code, invitation.code):
        raise SettingError(
            f"The code is not that of {file}. If it was not misread, this file is not the one that the others have: "
            "somebody on the way, or the coordinator, has made one for this hospital alone. Do not start; compare with "
            "another hospital and the coordinator by telephone."
        )
    with locked(folder):
        _check_newer(folder, invitation)
        # Before anything is written: a policy that cannot be read is told here.
        parts = outside_parts(policy_of(read_node_config(folder), site.name))
        files = {ROSTER_FILE: roster_text(invitation), AUTHORITY_FILE: invitation.authority}
        if invitation.schema:
            files[invitation.schema["name"]] = invitation.schema["text"]
        for name, text in files.items():
            write(folder / name, text, overwrite=True)
        before = recommended_pins(folder, accepted(folder)) if (folder / INVITATION_FILE).exists() else {}
        for key, value in recommended_pins(folder, invitation).items():
            # What somebody has changed stays.
            if read_node_config(folder).get(key) in (None, before.get(key)):
                set_key(folder, key, value)
        pin_parts(folder, parts)
        # Last the one that says that all are there.
        write(folder / INVITATION_FILE, invitation.to_json(), overwrite=True)
        return invitation


def recommended_pins(folder: Path, invitation: Invitation) -> dict[str, int | str]:
    """Return what an invitation sets in the node config of a hospital's folder, unless its operator decides otherwise.

    The study's schema file. No sum without one of the hospitals: else whoever claims that one is lost gets its part, as
    the difference of two sums. And masks shared with all of them, or, of many, with enough.
    """
    hospitals = len(invitation.hospitals)
    schema = {"schema": str(folder / invitation.schema["name"])} if invitation.schema else {}
    return {"min-sites": max(hospitals, LEAST_SITES), "k": min(hospitals - 1, FEWEST_ENOUGH), **schema}


def accepted(folder: Path) -> Invitation:
    """Return the invitation that a hospital has accepted; SettingError if there is none."""
    if not (folder / INVITATION_FILE).exists():
        raise SettingError(
            f"{folder} has no invitation yet. When the coordinator has sent one: pansvm hospital accept FILE"
        )
    return Invitation.read(folder / INVITATION_FILE)


def _check_newer(folder: Path, invitation: Invitation) -> None:
    """Check that an invitation may replace the one that was accepted before, if one was."""
    if not (folder / INVITATION_FILE).exists():
        return
    before = accepted(folder)
    if before.coordinator != invitation.coordinator:
        raise SettingError(
            "This hospital has accepted another coordinator's invitation: the new one is signed by another key. Ask "
            "the coordinator by telephone. For its study, make another folder (pansvm hospital init --folder): the "
            "table's budget is one for all studies."
        )
    if invitation.number < before.number or (
        invitation.number == before.number and invitation.content != before.content
    ):
        raise SettingError(
            f"This hospital has accepted invitation number {before.number}, and this one is number {invitation.number}"
            ": an older one, or a second one of the same number. Ask the coordinator for the latest."
        )


def roster_text(invitation: Invitation) -> str:
    """Return the text of the roster file."""
    return f"{json.dumps(invitation.roster, indent=2)}\n"


def _public(key: EllipticCurvePrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()

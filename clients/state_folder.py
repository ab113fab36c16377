"""The folder in which a hospital keeps what must outlive a run: Flower's own state ends with SuperNode and run."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from clients.hospital import Hospital
from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, lock, write
from flower_pansvm.private_folder import account_state, why_unusable

LOCK = "state.lock"


def state_folder(hospital: Hospital) -> Path:
    """Return this hospital's own folder, made if it is not there; a simulated site has none.

    It is what the node config's ``state`` says; without that key ``pansvm/site-NAME`` in the account's state folder,
    ``$XDG_STATE_HOME`` or ``~/.local/state``, so that several sites of one account do not share it. A site without a
    name has ``pansvm/site``: the number of its node is a new one after each start. A folder that cannot be used is a
    SettingError, whose text names the key and not the folder: it may travel.
    """
    assert not hospital.simulated
    policy = hospital.policy
    folder = account_state() / (f"site-{quote(policy.name, safe='')}" if policy.name else "site")
    if policy.state:
        folder = Path(os.path.expanduser(policy.state))
    if problem := why_unusable(folder):
        raise SettingError(
            f"The state folder of site '{hospital.name}' {problem}. Write state='/an/absolute/path' into its node "
            "config: a folder of this SuperNode's account that no other account may enter, and that is kept from run "
            "to run."
        )
    return folder


def write_checked(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a file by a JSON object that has a checksum; a power failure leaves the old or the new one."""
    text = json.dumps(content, sort_keys=True, default=vars)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    write(path, f"{checksum}\n{text}\n", overwrite=True, mode=PRIVATE, durable=True)


def read_checked(path: Path) -> dict[str, Any]:
    """Return what :func:`write_checked` wrote; OSError if it cannot be read, ValueError if it is damaged."""
    checksum, _, text = path.read_text(encoding="utf-8").strip().partition("\n")
    if checksum != hashlib.sha256(text.encode()).hexdigest():
        raise ValueError("damaged")
    return dict(json.loads(text))


@contextmanager
def locked_state(folder: Path) -> Iterator[None]:
    """Let one process at a time read and replace files of the folder; SettingError where no file can be locked."""
    with os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)) as file:
        lock(file, wait=True)
        yield

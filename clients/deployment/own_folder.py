"""Whose a hospital's folder is: what a command of another account writes there, its SuperNode cannot read.

And whether a file can be made in a folder.
"""

import os
import shlex
import stat
from pathlib import Path
from tempfile import TemporaryFile

from clients.node.node_config import NODE_FILE
from flower_pansvm.errors import SettingError
from flower_pansvm.study.folder import account_name

LEDGER_BYTES = 2**16
"""More than a hospital writes before it answers a question."""


def own_folder(folder: Path) -> Path:
    """Return the absolute path of a hospital's folder, which need not be there.

    SettingError if the folder or its node config is another account's, root's too, or others can write to it.
    """
    folder = folder.expanduser().absolute()
    for path in (folder, folder / NODE_FILE):
        try:
            status = path.stat()
        except OSError:  # who reads the node config says what is wrong
            return folder
        if status.st_uid != os.getuid():
            raise SettingError(_of_another(folder, path, status.st_uid))
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SettingError(
                f"Other accounts of this machine can write to {path}, and so decide what this hospital agrees to. "
                f"Close it with: chmod go-w {shlex.quote(str(path))}; and see whether {NODE_FILE} is as you left it."
            )
    return folder


def _of_another(folder: Path, path: Path, owner: int) -> str:
    account, other = account_name(os.getuid()), account_name(owner)
    if path == folder:
        return (
            f"{folder} belongs to the account {other}, and this is {account}: the SuperNode could not read what this "
            f"command writes. Run it in the account of the SuperNode: sudo -H -u {shlex.quote(other)} pansvm hospital …"
        )
    return (
        f"{path} belongs to the account {other}, and this is {account}: probably a command was run in that account. "
        f"Give the folder back to the account of the SuperNode, as root: chown -R {account} {shlex.quote(str(folder))}"
    )


def takes_files(folder: Path) -> bool:
    """Return whether a file can be made in a folder and filled.

    Modes do not tell it of a disk that an error made read-only, nor its free room of an account's quota.
    """
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(LEDGER_BYTES))
            file.flush()
            return True
    except OSError:
        return False

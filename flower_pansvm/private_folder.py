"""Folders for one account alone."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def account_state() -> Path:
    """Return the folder ``pansvm`` in the account's state folder, ``$XDG_STATE_HOME`` or ``~/.local/state``."""
    return Path(os.path.expanduser(os.environ.get("XDG_STATE_HOME") or "~/.local/state")) / "pansvm"


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are not there, for this account alone; OSError if that cannot be.

    ``mkdir`` makes those above by the umask: where others may write into one, they can put another in its place.
    """
    if not folder.exists():
        make_private(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask
    if not folder.is_dir():
        raise NotADirectoryError(20, "it is no folder", str(folder))


def why_unusable(folder: Path) -> str:
    """Make a folder for this account alone if there is none, and return why it cannot be used; an empty text if it can.

    The text is the end of a sentence about the folder, and does not name it: it may travel.
    """
    if not folder.is_absolute():
        return "is no absolute path"
    try:
        make_private(folder)
        return (
            "" if is_private(folder) else "is open to other accounts or belongs to one (chmod 700 closes it)"
        )
    except OSError as error:
        return f"cannot be used ({error.strerror})"


def is_private(path: Path) -> bool:
    """Return whether a file or folder is this account's own and closed to all others."""
    status = path.stat()
    return status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0 and status.st_uid == os.getuid()

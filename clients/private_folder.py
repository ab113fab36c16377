"""Folders that only the account of the SuperNode may enter."""

import os
import stat
from pathlib import Path


def is_private(folder: Path) -> bool:
    """Return whether a folder is this account's own and closed to all others."""
    status = folder.stat()
    return status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0 and status.st_uid == os.getuid()

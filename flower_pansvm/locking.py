"""A folder in which one process at a time works: two runs that chose it in the same second do not mix their files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flower_pansvm.errors import SettingError
from flower_pansvm.files import lock

COMMAND, RUN = ".command.lock", ".run.lock"
"""Locks of a folder: that of the command whose folder it is, and that of the ServerApp, which a command may start."""


@contextmanager
def locked(folder: Path, name: str = COMMAND) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if need be, in a ``with`` block.

    Where the file system has no locks, nothing is kept out. SettingError if another process has the lock ``name``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    with _locked_file(path):
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def _locked_file(path: Path) -> IO[str]:
    """Return an open file whose lock this process has."""
    while True:
        file = path.open("a")
        try:
            ours = lock(file)
        except SettingError:  # there are no locks
            return file
        if not ours:
            file.close()
            raise SettingError(
                f"Another process works in {path.parent}. Wait for its end, end it, or name another folder."
            )
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # The process that had it has removed it since it was opened.

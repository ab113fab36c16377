"""A folder in which one process at a time works: two runs that chose it in the same second do not mix their files."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import fstat
from pathlib import Path
from typing import IO

from flower_pansvm.errors import SettingError

COMMAND, RUN = ".command.lock", ".run.lock"
"""Locks of a folder: that of the command whose folder it is, and that of the ServerApp, which a command may start."""


@contextmanager
def locked(folder: Path, name: str = COMMAND) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if need be, in a ``with`` block.

    A lock ends with its process, however that ends. Where the file system has no locks, nothing is kept out.

    Parameters
    ----------
    folder : Path
        The folder.
    name : {COMMAND, RUN}
        Which lock.

    Raises
    ------
    SettingError
        If another process has the lock.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    with _lock(path):
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def _lock(path: Path) -> IO[str]:
    """Return an open file whose lock this process has."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system that simulates
    except ImportError:
        return path.open("a")
    while True:
        file = path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise SettingError(
                f"Another process works in {path.parent}. Wait for its end, end it, or name another folder."
            ) from None
        except OSError:
            return file
        if fstat(file.fileno()).st_nlink:
            return file
        file.close()  # The process that had it has removed it since it was opened.

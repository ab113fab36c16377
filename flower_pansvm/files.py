"""Files that are whole or as they were before, and locks of files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from flower_pansvm.errors import SettingError

PRIVATE, PUBLIC = 0o600, 0o644
"""Modes of files: for this account alone, or for all to read."""


@contextmanager
def complete_file(
    path: Path, overwrite: bool = False, mode: int = PUBLIC, durable: bool = False
) -> Iterator[Path]:
    """Write a file that gets its name when it is complete: the block writes to the path that it is given.

    An error leaves the file as it was before. With ``durable`` the old or the new one is on the disk whenever the power
    fails. SettingError if the file exists, or another process has made it in the meantime, unless ``overwrite``;
    OSError, which names the file, if it cannot be written.
    """
    if path.exists() and not path.is_file():
        yield path  # A device or a pipe, which is written to and not replaced.
        return
    path = path.resolve()
    unfinished = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        _make(unfinished, mode)
        yield unfinished
        if durable:
            sync(unfinished)
        if not overwrite:
            try:
                # Only one process can make the name; who replaces it afterwards has made it.
                _make(path, mode)
            except FileExistsError:
                raise SettingError(
                    f"{path} exists already, and is not overwritten. Choose another name, move it away, or, if the "
                    "command has it, give --overwrite."
                ) from None
        unfinished.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def write(
    path: Path, content: bytes | str, overwrite: bool = False, mode: int = PUBLIC, durable: bool = False
) -> None:
    """Write a file as :func:`complete_file` does."""
    with complete_file(path, overwrite, mode, durable) as unfinished:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode())


def _make(path: Path, mode: int) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def sync(path: Path) -> None:
    """Put a file, or which files a folder has, on the disk, as far as the system can tell."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(file: IO[Any], wait: bool = False) -> bool:
    """Lock an open file until it is closed; False if another process has it, SettingError if there are no locks."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system that simulates

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except ImportError:
        return True
    except BlockingIOError:
        return False
    except OSError as error:
        raise SettingError(
            f"The hospital's folder, 'state' or pansvm/tables is on a file system without locks ({error.strerror}), "
            "where two runs at once could spend the same budget. Put all on a disk of this machine: the folder, "
            "'state' in the node config, and XDG_STATE_HOME."
        ) from None
    return True

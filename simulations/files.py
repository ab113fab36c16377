"""Names of folders and files that two commands may choose in the same second: one of them gets it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from flower_pansvm.errors import SettingError


@contextmanager
def made_folder(folder: Path | None) -> Iterator[Path]:
    """Make a folder for the results of a command, in a ``with`` block that removes it if nothing has come into it.

    It may exist; by default it is a new one below ``runs``, named after the time of day.
    """
    made = True
    if folder is None:
        folder = new_default_folder()
    else:
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            made = False
    try:
        yield folder.absolute()
    finally:
        if made:
            with suppress(OSError):  # It is not empty.
                folder.rmdir()


def new_default_folder() -> Path:
    """Make a folder below ``runs`` that did not exist, named after the time of day, and return it."""
    name = datetime.now().strftime("%Y-%m-%d_%H%M%S")
    for one in (name, *(f"{name}-{number}" for number in range(2, 1000))):
        folder = Path("runs") / one
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
            return folder
    raise SettingError("There are 999 folders of this second below runs. Name another by --out.")


@contextmanager
def complete_file(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Write a file that gets its name when it is complete: the block writes to the path that it is given.

    SettingError if it exists and is not to be written over; also if another process has made it since the block
    began.
    """
    if path.exists() and not path.is_file():
        yield path  # A device or a pipe, which is written to and not replaced.
        return
    path = path.resolve()
    unfinished = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        yield unfinished
        if not overwrite:
            # Only one process can make the name; who replaces it afterwards has made it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        unfinished.replace(path)
    except FileExistsError:
        raise SettingError(
            f"{path} exists. Choose another --out, or give --overwrite to write over it."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)

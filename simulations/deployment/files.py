"""Writing files of which none is overwritten, and private ones that only their owner can read."""

import os
import secrets
import stat
from pathlib import Path

from flower_pansvm.errors import SettingError

PRIVATE, PUBLIC = 0o600, 0o644


def new_folder(folder: Path) -> Path:
    """Make a folder for this account alone and return its absolute path; SettingError if there is something in it."""
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise SettingError(
                f"{folder} is not empty, and nothing is overwritten. Choose another --folder; or, if nobody uses what "
                "is in there, move it away."
            )
        folder.chmod(0o700)
    except OSError as error:
        raise SettingError(
            f"The folder {folder} cannot be made: {error.strerror}. Choose another --folder."
        ) from None
    return folder


def write_new(path: Path, content: bytes | str, mode: int = PUBLIC) -> None:
    """Write a file that must not exist yet; else SettingError."""
    data = content if isinstance(content, bytes) else content.encode()
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
    except FileExistsError:
        raise SettingError(
            f"{path} exists already, and nothing is overwritten. Move it away first."
        ) from None
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with file:
            file.write(data)
    except OSError as error:
        path.unlink()  # A part of it would be in the way of the next attempt.
        raise SettingError(f"{path} cannot be written: {error.strerror}.") from None


def replace(path: Path, text: str, mode: int = PUBLIC) -> None:
    """Write a file at once: whoever reads finds the old or the new one, and no part of either."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    write_new(unfinished, text, mode)
    unfinished.replace(path)


def read_private(path: Path, owner: str) -> bytes:
    """Return the content of a private file; SettingError if it is missing or others can read it.

    ``owner`` says whose file it is, and by which command it was made.
    """
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SettingError(
                f"{path} can be read by other accounts of this machine. Close it with: chmod 600 {path}; and if "
                f"somebody may have read it, make a new one. It is {owner}."
            )
        return path.read_bytes()
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}. It is {owner}.") from None

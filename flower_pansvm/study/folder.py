"""The folder of a hospital or a coordinator, which is this account's alone, and the private files in it."""

import pwd
import stat
from pathlib import Path

from flower_pansvm.errors import SettingError
from flower_pansvm.private_folder import make_private


def new_folder(folder: Path) -> Path:
    """Make a folder for this account alone and return its absolute path; SettingError if there is something in it."""
    folder = folder.expanduser().absolute()
    try:
        make_private(folder)
        if any(folder.iterdir()):
            raise SettingError(
                f"{folder} is not empty, and nothing is overwritten. Choose another folder; or, if nobody uses what "
                "is in there, move it away."
            )
        folder.chmod(0o700)
    except OSError as error:
        raise SettingError(
            f"The folder {folder} cannot be made: {error.strerror}. Choose another folder."
        ) from None
    return folder


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


def account_name(account: int) -> str:
    """Return the name of an account, or its number as ``sudo`` takes it."""
    try:
        return pwd.getpwuid(account).pw_name
    except KeyError:
        return f"#{account}"

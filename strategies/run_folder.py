"""The folder of a run: checked before any computation, and never overwritten without ``--overwrite``."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path

from flower_pansvm.command_line import check_can_be_folder
from flower_pansvm.errors import SettingError
from flower_pansvm.locking import locked
from flower_pansvm.result_file import MODEL_FILE, RESULT_FILE, read_result

OTHERS = {
    "coordinator.json": "a coordinator's, with its keys",
    "node.toml": "a hospital's, with its keys",
    "pyproject.toml": "of software",
}
"""Files by which a folder is known as one that has another use."""


def cautions_of(folder: Path) -> list[str]:
    """Return the cautions of a run's report for the terminal."""
    from strategies.report.cautions import cautions  # noqa: PLC0415 - takes seconds to import

    return [f"Caution: {text}" for text in cautions(read_result(folder))]


@contextmanager
def made_folder(folder: Path | None) -> Iterator[Path]:
    """Create a folder for the results of a command, in a ``with`` block that removes it if it stays empty.

    The folder may exist; by default it is a new one below ``runs``, named after the time of day.
    """
    created = True
    if folder is None:
        folder = new_default_folder()
    else:
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            created = False
    try:
        yield folder.absolute()
    finally:
        if created:
            with suppress(OSError):  # It is not empty.
                folder.rmdir()


def new_default_folder() -> Path:
    """Make a folder below ``runs`` that did not exist, named after the time of day; SettingError if that fails."""
    name = datetime.now().strftime("%Y-%m-%d_%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
        folder = Path("runs") / f"{name}{suffix}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
            return folder
    raise SettingError("There are 999 folders of this second below runs. Name another by --out.")


@contextmanager
def run_folder(path: Path | None, overwrite: bool | None, resume: str = "", *, new: bool) -> Iterator[Path]:
    """Create and lock the folder of a run, below ``runs`` if none is named, in a ``with`` block.

    SettingError if another command works in it, or it cannot hold a new run: `check_folder`.
    """
    with made_folder(path) as folder, locked(folder):
        if new:
            check_folder(folder, overwrite, resume)
        yield folder


def check_folder_early(path: Path, overwrite: bool) -> None:
    """Check a folder as `run_folder` will, before other checks; SettingError if another command works in it."""
    check_can_be_folder(path)
    with locked(path) if path.is_dir() else nullcontext():
        check_folder(path, overwrite)


def check_folder(path: Path, overwrite: bool | None, resume: str = "") -> None:
    """Check that a folder can hold the results of a new run.

    SettingError if it is not writable, has another use, or has results or a checkpoint without ``overwrite`` (None for
    a command that never overwrites). ``resume`` is the hint how to resume a stopped run, by default ``--resume
    FOLDER``.
    """
    from strategies.federation.checkpoint import sums_in  # noqa: PLC0415 - takes seconds to import

    check_can_be_folder(path)
    if uses := [use for file, use in OTHERS.items() if (path / file).exists()]:
        raise SettingError(f"The folder {path} is {uses[0]}. Choose another --out; one in it can be.")
    if overwrite:
        return
    remedy = "Choose another --out" + ("" if overwrite is None else ", or give --overwrite to write over it")
    if sums_in(path):
        raise SettingError(
            f"{path} has a run that was stopped. {remedy}; or resume it: "
            + (resume or f"--resume {shlex.quote(str(path))}")
        )
    if (path / RESULT_FILE).exists() or (path / MODEL_FILE).exists():
        raise SettingError(f"{path} has the results of another run. {remedy}.")

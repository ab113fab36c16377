"""Where a command writes: looked at before anything is computed, and never written over unasked."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.errors import SettingError
from simulations.files import made_folder

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over what is at --out.")]


def check_file(path: Path, overwrite: bool, *read: Path) -> None:
    """Check that a file can be written, and make its folder.

    SettingError if it exists and is not to be written over, is a folder or one of the files that the command reads,
    or its folder cannot be written to.
    """
    if path.is_dir():
        raise SettingError(f"--out {path} is a folder. Name a file in it.")
    if path.exists() and not overwrite:
        raise SettingError(f"{path} exists. Choose another --out, or give --overwrite to write over it.")
    if path.exists() and any(one.exists() and path.samefile(one) for one in read):
        raise SettingError(
            f"--out {path} is a file that this command reads, and would be lost. Name another."
        )
    _check_writable(path, path.absolute().parents)
    path.parent.mkdir(parents=True, exist_ok=True)


def cautions_of(folder: Path) -> list[str]:
    """Return what the report of a run cautions of, for the terminal."""
    from simulations.report.cautions import cautions  # noqa: PLC0415 - takes seconds to import
    from strategies.results import read_result  # noqa: PLC0415

    return [f"Caution: {text}" for text in cautions(read_result(folder))]


@contextmanager
def run_folder(path: Path | None, overwrite: bool | None, resume: str = "", *, new: bool) -> Iterator[Path]:
    """Make the folder of a run, below ``runs`` if none is named, and keep others out of it, in a ``with`` block.

    SettingError if another command works in it, or a new run has to leave alone what it holds, as of `check_folder`.
    """
    from strategies.locking import locked  # noqa: PLC0415 - takes seconds to import

    with made_folder(path) as folder, locked(folder):
        if new:
            check_folder(folder, overwrite, resume)
        yield folder


def check_folder_early(path: Path, overwrite: bool) -> None:
    """Check a folder as `run_folder` will, before anything else is looked at; another command may work in it."""
    from strategies.locking import locked  # noqa: PLC0415 - takes seconds to import

    check_can_be_folder(path)
    with locked(path) if path.is_dir() else nullcontext():
        check_folder(path, overwrite)


def check_folder(path: Path, overwrite: bool | None, resume: str = "") -> None:
    """Check that a folder can hold the results of a new run.

    SettingError if it cannot be written to, or has results or a checkpoint and they are not to be written over
    (``overwrite``; None for a command that never does). ``resume`` says how the command goes on with a run that was
    stopped, if not by ``--resume FOLDER``.
    """
    from strategies.federation.checkpoint import sums_in  # noqa: PLC0415 - takes seconds to import
    from strategies.results import MODEL_FILE, RESULT_FILE  # noqa: PLC0415

    check_can_be_folder(path)
    if overwrite:
        return
    again = "Choose another --out" + ("" if overwrite is None else ", or give --overwrite to write over it")
    if sums_in(path):
        raise SettingError(
            f"{path} has a run that was stopped. {again}; or go on with it: "
            + (resume or f"--resume {shlex.quote(str(path))}")
        )
    if (path / RESULT_FILE).exists() or (path / MODEL_FILE).exists():
        raise SettingError(f"{path} has the results of another run. {again}.")


def check_can_be_folder(path: Path) -> None:
    """Check that a path is a folder that can be written to, or can become one; SettingError if not."""
    if path.exists() and not path.is_dir():
        raise SettingError(f"--out {path} is a file. Name a folder, which need not exist.")
    if path.is_symlink() and not path.exists():
        raise SettingError(f"--out {path} is a link to nothing. Remove it, or choose another --out.")
    _check_writable(path, [path, *path.absolute().parents])


def _check_writable(path: Path, folders: Sequence[Path]) -> None:
    """Check that the first of some folders that exists can be written to."""
    folder = next(one for one in folders if one.exists())
    if not folder.is_dir():
        raise SettingError(f"--out {path} cannot be: {folder} is a file, not a folder. Choose another --out.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SettingError(
            f"The folder {folder} cannot be written to. Choose another --out, or ask for the permission to write there."
        )

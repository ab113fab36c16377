"""The papers' data sets: where each is from, and whether a folder has the same rows.

``python -m simulations.data.sets FOLDER`` compares them with the checksums of ``sets.toml``.
"""

import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from clients.table.file import read_frame
from flower_pansvm.errors import TableError

FOLDER_SUFFIXES = (".csv.gz", ".libsvm.gz")
OTHER = "OTHER CELLS"


@dataclass(frozen=True)
class PublicSet:
    """A data set of the papers."""

    size: str  # rows × columns, the labels among them
    source: str  # address of the public file
    made: str  # what was done with it; empty if it was only written as CSV
    sha256: str  # of its cells, by `digest`


@cache
def public_sets() -> dict[str, PublicSet]:
    """Return the papers' data sets by name."""
    described = tomllib.loads(files(__package__).joinpath("sets.toml").read_text("utf-8"))
    return {name: PublicSet(**entry) for name, entry in described.items()}


def digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of a table's cells, column by column; names of columns do not count.

    Numbers are 64-bit floats, least byte first, however the file writes them. A column with other texts is UTF-8, a
    line a cell.
    """
    checksum = sha256()
    for index in range(frame.shape[1]):
        column = frame.iloc[:, index]
        try:
            cells = pd.to_numeric(column).to_numpy(dtype="<f8", na_value=np.nan)
        except ValueError:
            checksum.update("\n".join(column.fillna("").astype(str)).encode())
            continue
        checksum.update(np.where(np.isnan(cells), np.nan, cells + 0.0).tobytes())
    return checksum.hexdigest()


def file_in(folder: Path, name: str) -> Path | None:
    """Return the file of a data set in a folder; None if there is none."""
    paths = (folder / f"{name}{suffix}" for suffix in FOLDER_SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def how_to_get(name: str) -> str:
    """Return in a sentence where a data set of the papers is from; of another one, where they are described."""
    known = public_sets().get(name)
    if known is None:
        return "docs/comparing.md describes the papers' data sets."
    made = f" ({known.made})" if known.made else ""
    return f"'{name}' is {known.source}{made}; python -m simulations.data.sets FOLDER checks it."


def verdict(folder: Path, name: str) -> str:
    """Return whether a folder has a data set of the papers, as a line."""
    path = file_in(folder, name)
    if path is None:
        return f"{name}: not there. {how_to_get(name)}"
    try:
        frame = read_frame(path)
    except TableError as error:
        return f"{name}: {OTHER}. {error} {how_to_get(name)}"
    if digest(frame) == public_sets()[name].sha256:
        return f"{name}: the same cells"
    size = " × ".join(map(str, frame.shape))
    return f"{name}: {OTHER}: {size}, where the papers' are {public_sets()[name].size}. {how_to_get(name)}"


def main(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)]) -> None:
    """Print a line for each data set; the exit code is 1 if one has other cells."""
    lines = [verdict(folder, name) for name in public_sets()]
    sys.stdout.write("\n".join(lines) + "\n")
    if any(OTHER in line for line in lines):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

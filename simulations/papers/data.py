"""Data sets of the papers by name: as they are in the folder of data sets, or prepared from what is there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.file import read_frame, suffix_of
from flower_pansvm.registry import Registry
from simulations.data.datasets import SHIPPED, locate


@dataclass(frozen=True)
class Prepared:
    """A data set that has to be made from files of the folder.

    Parameters
    ----------
    files : tuple of str
        Names of the data sets that it is made from.
    make : callable
        Makes the table, label column included, from theirs.
    """

    files: tuple[str, ...]
    make: Callable[..., pd.DataFrame]


PREPARED: Registry[Prepared] = Registry("prepared data set")
"""By the name that runs use."""


def check(data: str, data_dir: Path) -> None:
    """Check that the files of a data set are there.

    Raises
    ------
    SettingError
        If one is not; it says which, and where it is described.
    """
    for name in PREPARED[data].files if data in PREPARED else (data,):
        locate(name, data_dir)


def source(data: str, data_dir: Path, folder: Path) -> str:
    """Return the setting ``data`` of a data set: its name if scikit-learn ships it, else a file.

    Parameters
    ----------
    data : str
        Name of the data set.
    data_dir, folder : Path
        Folder of data sets, and where prepared ones are kept.
    """
    if data in SHIPPED:
        return data
    if data not in PREPARED:
        return str(locate(data, data_dir).absolute())  # type: ignore[union-attr]
    file = folder / "data" / f"{data}.csv.gz"
    if not file.exists():
        one = PREPARED[data]
        table = one.make(*(_read(locate(name, data_dir)) for name in one.files))  # type: ignore[arg-type]
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may prepare the same set.
        half = file.with_name(f"{data}-{np.random.default_rng().integers(2**32)}.csv.gz")
        table.to_csv(half, index=False)
        half.replace(file)
    return str(file.absolute())


def _read(path: Path) -> pd.DataFrame:
    """Return the table of a file, numbers as numbers."""
    return pd.read_csv(path) if suffix_of(path.name) == ".csv" else read_frame(path)

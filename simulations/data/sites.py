"""The tables of simulated sites, from nothing but the settings of the run.

A simulated ClientApp may run in any process and has no state, so it requests its table for each message. The same
settings always give the same tables; a cache avoids reading and partitioning them again.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clients.dealing import rarest_classes
from clients.ledger.lasting_split import LastingSplit
from clients.table.form import TableForm
from clients.table.reading import label_of
from clients.table.table import Table
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import MOST_CLASSES
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from simulations.data.datasets import load_dataset, locate
from simulations.data.partition import CHECKERBOARD, checkerboard, partition
from strategies.settings import SEPARATOR, Settings

SPLIT_STREAM, FOLD_STREAM = 1, 2
"""Random streams of test rows and of folds, apart from other draws with the same seed."""

MOST_KEPT = 256  # tables of sites in a process' cache

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

Stamp = tuple[Path, int, int] | None
"""Path, time of last change (nanoseconds) and size of a file; None for a data set without a file."""


def join_data(sources: Sequence[str], data_dir: str = "") -> str:
    """Return the setting ``data`` for one or several data sets, one site each; every file by its absolute path.

    Flower runs simulated sites in another folder, and maybe without the environment variable PANSVM_DATA.
    SettingError if there is no such data set, or its path has a character that is invalid in the run config.
    """
    names = []
    for source in sources:
        if re.search(r"[,;|]", source) and not Path(source).exists():
            raise SettingError(
                f"There is no file '{source}'. If these are several, one a site, name each by an option of its own: "
                "--data north.csv --data south.csv."
            )
        path = locate(source, _folder(data_dir))
        text = source if path is None else str(path.absolute())
        if SEPARATOR in text or "'" in text:
            raise SettingError(
                f"The path '{text}' contains a {SEPARATOR} or a single quote, which is invalid in the run config. "
                "Rename the file or folder."
            )
        names.append(text)
    return SEPARATOR.join(names)


def number_of_sites(settings: Settings) -> int:
    """Return a run's number of sites; errors as in `table_of`.

    It is ``settings.sites``, unless several files, or a split ``by:COLUMN`` or ``checkerboard:RxS``, determine it.
    """
    sources = settings.data.split(SEPARATOR)
    if len(sources) > 1:
        _check_no_split(settings.split)
        return len(sources)
    return len(_parts_of(settings))


def table_of(settings: Settings, site: int) -> Table:
    """Return the read-only table of one simulated site of a run, from 0.

    Several data sets are one site each, and their split must be ``iid``. SettingError if a data set or split is
    unknown, or ``settings.sites`` is not the data's number of sites; TableError if a table is invalid.
    """
    sources = settings.data.split(SEPARATOR)
    if len(sources) > 1:
        _check_no_split(settings.split)
        _check_site(site, settings.sites, len(sources))
        stamp = _stamp(sources[site], settings.data_dir)
        return _whole(sources[site], settings.label, settings.data_dir, form_of(settings), stamp)
    parts = _parts_of(settings)
    _check_site(site, settings.sites, len(parts))
    return parts[site]


def form_of(settings: Settings) -> TableForm:
    """Return the format of a run's tables; SettingError if its schema file is invalid."""
    schema = TableSchema.read(Path(settings.schema)) if settings.schema else None
    return TableForm.of({"drop": settings.drop}, schema)


def whole_rows_of(settings: Settings) -> list[Table]:
    """Return the tables of a run's sites, or of a checkerboard's row blocks with all columns."""
    tables = [table_of(settings, site) for site in range(settings.sites)]
    if not settings.split.startswith(CHECKERBOARD):
        return tables
    _, columns = checkerboard(settings.split)
    blocks = [tables[start : start + columns] for start in range(0, len(tables), columns)]
    names = tuple(name for cell in blocks[0] for name in cell.columns)
    return [replace(cells[0], columns=names, X=np.hstack([cell.X for cell in cells])) for cells in blocks]


def table_of_node(config: Mapping[str, Scalar], site: int, sites: int) -> Table:
    """Return the table of a node, from its run config."""
    return table_of(replace(Settings.common(config), sites=sites), site)


def stamp_of_node(config: Mapping[str, Scalar], site: int) -> Stamp:
    """Return the stamp of the file of a node's data set."""
    sources = str(config.get("data", Settings.data)).split(SEPARATOR)
    return _stamp(sources[min(site, len(sources) - 1)], str(config.get("data-dir", "")))


def label_place_of_node(config: Mapping[str, Scalar], site: int) -> str:
    """Return `label_place` of a node, from its run config."""
    return label_place(Settings.common(config), site)


def label_place(settings: Settings, site: int) -> str:
    """Return column and data set of a simulated site's labels, for errors."""
    sources = settings.data.split(SEPARATOR)
    source = sources[site] if len(sources) > 1 else sources[0]
    path = locate(source, _folder(settings.data_dir))
    label = label_of(form_of(settings).schema, settings.label)
    return f"column '{label}' of '{source if path is None else path.name}'"


@lru_cache(maxsize=MOST_KEPT)
def _whole(source: str, label: str, data_dir: str, form: TableForm, stamp: Stamp) -> Table:  # noqa: ARG001
    """Return a data set as one site's table; the stamp makes a changed file a new entry of the cache."""
    return _frozen(load_dataset(source, label, _folder(data_dir), form=form))


def _parts_of(settings: Settings) -> tuple[Table, ...]:
    """Return the tables of all sites of a partitioned data set."""
    partition_key = settings.data, settings.split, settings.sites, settings.seed
    stamp = _stamp(settings.data, settings.data_dir)
    return _parts(*partition_key, settings.label, settings.data_dir, form_of(settings), stamp)


@lru_cache(maxsize=2)
def _parts(
    data: str,
    split: str,
    sites: int,
    seed: int,
    label: str,
    data_dir: str,
    form: TableForm,
    stamp: Stamp,  # noqa: ARG001
) -> tuple[Table, ...]:
    site_column = split.removeprefix("by:") if split.startswith("by:") else None
    if form.schema is not None and site_column in [column.name for column in form.schema.columns]:
        raise SettingError(
            f"The split 'by:{site_column}' makes sites of a column that the schema file describes as a feature; at "
            "one site it is the same in all rows. Take its [columns] entry out of the file, and name it in leave-out."
        )
    table = load_dataset(data, label, _folder(data_dir), site_column, form)
    return tuple(_frozen(site_table) for site_table in partition(table, sites, split, seed))


def _stamp(source: str, data_dir: str) -> Stamp:
    path = locate(source, _folder(data_dir))
    if path is None or not path.is_file():
        return None
    status = path.stat()
    return path.absolute(), status.st_mtime_ns, status.st_size


def _folder(data_dir: str) -> Path | None:
    return Path(data_dir) if data_dir else None


def _frozen(table: Table) -> Table:
    for array in (table.X, table.labels, table.ids, table.patients):
        if array is not None:
            array.setflags(write=False)
    return table


def _check_no_split(split: str) -> None:
    if split != "iid":
        raise SettingError(
            f"Several data sets are one site each, so the split '{split}' does not apply. Leave the setting split out, "
            "or name one data set."
        )


def _check_site(site: int, sites: int, expected: int) -> None:
    if sites != expected:
        raise SettingError(
            f"The run has {sites} sites, but its data have {expected}. Set the number of sites (sites={expected}; with "
            f"'flwr run' num-supernodes={expected} in --federation-config), or change the data."
        )
    if not 0 <= site < sites:
        raise SettingError(f"There is no site {site}: the sites are numbered from 0 to {sites - 1}.")


def split_of_node(
    config: Mapping[str, Scalar],
    site: int,
    classes: NDArray[np.str_],
    patients: Ints,
    fraction: float,
    seed: int,
) -> LastingSplit:
    """Return :func:`drawn_split` of a node's site; checkerboard cells with the same rows share it."""
    split = str(config.get("split", Settings.split))
    block = site // checkerboard(split)[1] if split.startswith(CHECKERBOARD) else site
    return drawn_split(classes, patients, fraction, seed, block)


def labels_of_run(config: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return the labels of all sites' tables, as hospitals would agree on them; none if they are too many."""
    settings = Settings.common(config)
    sites = number_of_sites(settings)
    tables = (table_of(replace(settings, sites=sites), site) for site in range(min(sites, MOST_KEPT)))
    labels = {
        label for table in tables if table.labels is not None for label in np.unique(table.labels).tolist()
    }
    return tuple(sorted(labels)) if len(labels) <= MOST_CLASSES else ()


def drawn_split(
    classes: NDArray[np.str_], patients: Ints, fraction: float, seed: int, site: int
) -> LastingSplit:
    """Draw the patients kept for evaluation, a share of each class, and the order of all.

    For n patients of a class, fraction · n is rarely an integer. A site rounds up if a number between 0 and 1 is high
    enough; consecutive sites have evenly spread numbers (a Kronecker sequence of the golden ratio, begun at random). So
    the expected share of each class is exact, with little deviation over many small sites.

    Parameters
    ----------
    classes : ndarray of shape (rows,)
        Name of each row's class; a patient counts for the rarest class of its rows.
    patients : ndarray of shape (rows,)
        Number of each row's patient.
    fraction : float
        Share for evaluation, from 0 to below 1.
    seed, site : int
        The run's seed, and the number of the site.
    """
    strata, patient_of_row = rarest_classes(classes, patients)
    held_out = np.zeros(len(strata), dtype=np.bool_)
    # A stream of its own: a simulation partitions the rows with the same seed.
    generator = np.random.default_rng([seed, SPLIT_STREAM])
    for stratum, name in enumerate(np.unique(classes)):
        members = generator.permutation(np.flatnonzero(strata == stratum))
        begin = np.random.default_rng([seed, SPLIT_STREAM, crc32(str(name).encode())]).random()
        carried = (begin + site * GOLDEN) % 1.0
        # In floating point, 0.29 · 100 is a little below 29.
        held_out[members[: math.floor(round(fraction * len(members), 9) + carried)]] = True
    if held_out.all():
        held_out[-1:] = False  # a site needs a training row
    generator = np.random.default_rng([seed, FOLD_STREAM, site])
    start = int(generator.integers(2**16))
    of_patients = generator.permutation(len(strata))[patient_of_row]
    return LastingSplit(held_out[patient_of_row], generator.permutation(len(classes)), of_patients, start)

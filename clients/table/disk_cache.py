"""A private copy of a large table that is quick to read again.

Flower starts a new process for each message to a hospital, and reading a table of some size as text takes it
seconds, as perturbing its cells does. So a large file is read and checked once, and perturbed once; its numbers,
labels, row ids and patients are then kept as numpy's ``npz`` in a folder that only this account can open. A copy that
is out of date, damaged or not of this account's making is never used: it is made again.
"""

import hashlib
import json
import os
from collections.abc import Callable
from logging import WARNING
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.hospital import Hospital
from clients.table.form import AS_IT_IS, TableForm
from clients.table.reading import read_table
from clients.table.table import Table
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, complete_file
from flower_pansvm.log import log
from flower_pansvm.private_folder import is_private, made_private

VERSION = 10
"""Part of every key. Raise it when the copies' format changes, or what `read_table` or `perturbed_table` makes."""

OFF = "none"  # what the node config's ``cache`` says if no copies are to be kept


def cache_folder(hospital: Hospital) -> Path | None:
    """Return the folder for copies of this site's tables; None if its node config says ``cache='none'``.

    Without the key it is ``pansvm`` in the account's cache folder, ``$XDG_CACHE_HOME`` or ``~/.cache``. What is neither
    an absolute path nor the word is a SettingError: a misspelt ``none`` must not leave a copy in a folder of that name.
    """
    text = hospital.policy.cache
    if not text:
        return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "pansvm"
    if text.strip().lower() == OFF:
        return None
    folder = Path(os.path.expanduser(text))
    if not folder.is_absolute():
        raise SettingError(
            f"The 'cache' in the node config of site '{hospital.name}' is no absolute path. Write the path of a "
            f"folder for copies of large tables, or cache='{OFF}' if none are to be kept."
        )
    return folder


def read_through_cache(
    path: Path, label: str | None, folder: Path, form: TableForm = AS_IT_IS, row_id: str | None = None
) -> Table:
    """Read a site's table for training, from its copy in ``folder`` if there is one.

    The cells of a copy are of type float32 if that holds every one of them exactly; `clients.table.table.align` makes
    float64 of them. Raises as `clients.table.reading.read_table` does; trouble with the copy is only logged.
    """
    key = _key(path, label, form, row_id)
    if key is None:
        return read_table(path, label, row_id=row_id, form=form)
    return _through_cache(
        path,
        folder / key,
        lambda: read_table(path, label, row_id=row_id, form=form),
        # A file that was changed while it was read may not lie under the key of what it was before.
        lambda: key == _key(path, label, form, row_id),
    )


def perturbed_through_cache(path: Path, about: list[str], folder: Path, make: Callable[[], Table]) -> Table:
    """Return the perturbed copy of a file's table, made now if none is kept that is of the same."""
    entry = folder / f"{_digest('perturbed', str(path))}-{_digest(*about, VERSION)}"
    return _through_cache(path, entry, make)


def _through_cache(
    path: Path, entry: Path, make: Callable[[], Table], may_be_kept: Callable[[], bool] = lambda: True
) -> Table:
    folder = entry.parent
    problem = (
        made_private(folder) if folder.is_absolute() else "is nowhere, as this account has no home folder"
    )
    if problem:
        _warn("no copy of '%s' is kept: the cache folder '%s' %s", path, folder, problem)
        return make()
    table = _load(entry, path)
    if table is None:
        table = make()
        if may_be_kept():
            _store(table, entry, path)
    return table


def _key(path: Path, label: str | None, form: TableForm, row_id: str | None) -> str | None:
    """Return the name of a file's copy: digests of its path, and of all that the copy depends on.

    None if the file cannot be opened.
    """
    try:
        # Opened, and not only asked for its status: an account that may no longer read a table gets no copy.
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
    except OSError:
        return None
    location, schema = str(path.absolute()), form.schema.digest if form.schema else None
    content = status.st_mtime_ns, status.st_size, label, row_id, *form.options, schema, VERSION
    return f"{_digest(location)}-{_digest(location, *content)}"


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _load(entry: Path, path: Path) -> Table | None:
    """Return the table of a copy, or None if there is no copy or it cannot be used."""
    try:
        if not is_private(entry):
            raise PermissionError
        with entry.open("rb") as file, np.load(file, allow_pickle=False) as copy:
            # What is read is held against its checksum.
            columns, absent_is_zero, readings = json.loads(str(copy["about"]))
            ids, patients = (copy[name] if copy[name].size else None for name in ("ids", "patients"))
            return Table(tuple(columns), copy["X"], copy["labels"], absent_is_zero, ids, readings, patients)
    except FileNotFoundError:
        return None
    except Exception as error:
        # Whatever is wrong with the copy, the table itself is there.
        _warn("the copy of '%s' cannot be used (%s) and is made again", path, type(error).__name__)
        return None


def _store(table: Table, entry: Path, path: Path) -> None:
    """Keep a copy of a table, which only this account can read, and remove older ones of the same path.

    A process that reads, or writes the same, never meets a part.
    """
    about = json.dumps([table.columns, table.absent_is_zero, table.readings])
    try:
        with complete_file(entry, overwrite=True, mode=PRIVATE) as unfinished, unfinished.open("wb") as file:
            labels, X = np.asarray(table.labels), _narrowed(table.X)
            ids, patients = (np.empty(0) if texts is None else texts for texts in (table.ids, table.patients))
            np.savez(file, X=X, labels=labels, about=np.array(about), ids=ids, patients=patients)
        for old in entry.parent.glob(f"{entry.name.split('-')[0]}-*"):
            if old != entry:
                old.unlink(missing_ok=True)
    except OSError as error:
        _warn("no copy of '%s' could be kept (%s)", path, type(error).__name__)


def _narrowed(X: Floats) -> NDArray[Any]:
    """Return the cells as float32 if that changes none, else as they are; by columns, as `align` takes them."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32, order="F")
    columns = range(X.shape[1])
    exact = all(np.array_equal(narrow[:, column], X[:, column], equal_nan=True) for column in columns)
    return narrow if exact else np.asfortranarray(X)


def _warn(text: str, path: Path, *arguments: object) -> None:
    """Log a line about a table's file, which is named without its folder."""
    log(WARNING, text, path.name, *arguments)

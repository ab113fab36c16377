"""Data sets by name: shipped with scikit-learn, in a folder, from OpenML, or a file as a hospital would read it."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.datasets

from clients.table.cells import canonical_labels
from clients.table.file import OTHER_SUFFIXES, SOURCES, read_frame, suffix_of
from clients.table.form import AS_IT_IS, TableForm
from clients.table.reading import label_of, read_table, table_from_frame
from clients.table.table import LABEL, Table
from clients.table.units import check_units
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.printable import plain_name
from simulations.data.partition import column_place, rows_of

SHIPPED = {
    "breast_cancer": sklearn.datasets.load_breast_cancer,
    "digits": sklearn.datasets.load_digits,
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
}
OPENML = "openml:"
FOLDER_VARIABLE = "PANSVM_DATA"
FOLDER_SUFFIXES = (".csv.gz", ".libsvm.gz")


def load_dataset(
    name: str,
    label: str | None = None,
    data_dir: Path | None = None,
    site_column: str | None = None,
    form: TableForm = AS_IT_IS,
) -> Table:
    """Load a data set by its name, or from a file.

    Parameters
    ----------
    name : str
        One of, in this order:

        - `breast_cancer`, `digits`, `iris`, `wine`, which scikit-learn ships; their label column is ``label``;
        - ``openml:NAME``, fetched over the network unless scikit-learn has it in its cache; OpenML's own target
          becomes the column ``label``;
        - a path that ends in one of `clients.table.file.SOURCES`, or ends so before ``.gz``;
        - ``NAME`` for ``NAME.csv.gz`` or ``NAME.libsvm.gz`` in the folder of data sets.
    label : str or None
        Name of the label column; None for the schema's, or ``label``.
    data_dir : Path or None
        Folder of data sets; None for the one that the environment variable PANSVM_DATA names.
    site_column : str or None
        A column that says which site a row is from. It may hold text, which is replaced by the place of the text
        in sorted order, as a `Table` holds numbers only. It is the last column of the table.
    form : TableForm
        How a file is written, and the schema of its columns.

    Raises
    ------
    SettingError
        If there is no such data set or site column (the near matches are named), or OpenML cannot be reached.
    TableError
        If the table cannot be used, as in `clients.table.table.read_table`.
    """
    label = label_of(form.schema, label)
    path = locate(name, data_dir)
    if path is not None and site_column is None:
        return agreed_rows(read_table(path, label, form=form), form, path.name)
    frame = _frame_of(name, path, form)
    if site_column is not None:
        site_column = plain_name(site_column)
        column_place([column for column in frame.columns if column != label], site_column)
        texts = canonical_labels(frame[site_column])
        places = {
            text: place for place, text in enumerate(sorted({text for text in texts if text is not None}))
        }
        site = [float("nan") if text is None else places[text] for text in texts]
        frame = frame.drop(columns=site_column)
    place = path.name if path is not None else name
    table = table_from_frame(frame, label, place, form)
    if site_column is not None:
        table = replace(table, columns=(*table.columns, site_column), X=np.column_stack([table.X, site]))
    return agreed_rows(table, form, place)


def _frame_of(name: str, path: Path | None, form: TableForm) -> pd.DataFrame:
    """Return the cells of a data set as they are written."""
    if path is not None:
        return read_frame(path, form)
    return _shipped_frame(name) if name in SHIPPED else _openml_frame(name)


def agreed_rows(table: Table, form: TableForm, place: str) -> Table:
    """Return the rows whose labels are classes of the schema file, which are those that a hospital trains and tests on.

    TableError if there are none, or a column is in another unit. 'pansvm check' and a run warn of the others.
    """
    check_units(table, form.schema, place)
    classes = form.schema.classes if form.schema else ()
    if not classes or table.labels is None:
        return table
    known = np.isin(table.labels, classes)
    if not known.any():
        raise TableError(
            f"'{place}' has no label that is a class of the schema file. Is it the right label column? Write the "
            "labels as the file does, or correct the classes there, at all sites."
        )
    return rows_of(table, np.flatnonzero(known))


def locate(name: str, data_dir: Path | None = None) -> Path | None:
    """Return the file of a data set, None if it is shipped or from OpenML; SettingError if there is none."""
    if name in SHIPPED or name.startswith(OPENML):
        return None
    if suffix_of(name) in (*SOURCES, *OTHER_SUFFIXES):
        return Path(name)
    usual = os.environ.get(FOLDER_VARIABLE)
    folder = data_dir or (Path(usual) if usual else None)
    if folder is None:
        raise SettingError(
            f"There is no data set '{name}' among those that scikit-learn ships, and no folder of data sets was named. "
            f"{near_matches(name, SHIPPED)} For a data set in a folder, name the folder with the setting data-dir or "
            f"the environment variable {FOLDER_VARIABLE}; a file must end in {', '.join(SOURCES)}."
        )
    if not folder.is_dir():
        raise SettingError(
            f"The folder of data sets '{folder}' does not exist. Correct the setting data-dir or the environment "
            f"variable {FOLDER_VARIABLE}."
        )
    for suffix in FOLDER_SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.is_file():
            return path
    there = [
        file.name.removesuffix(suffix) for suffix in FOLDER_SUFFIXES for file in folder.glob(f"*{suffix}")
    ]
    raise SettingError(
        f"There is no data set '{name}': scikit-learn ships none of that name, and '{folder}' holds neither "
        f"{' nor '.join(name + suffix for suffix in FOLDER_SUFFIXES)}. {near_matches(name, [*SHIPPED, *there])} Which "
        "sets the papers use, and what must be in their files, is in docs/comparing.md."
    )


def _shipped_frame(name: str) -> pd.DataFrame:
    data = SHIPPED[name](as_frame=True)
    frame: pd.DataFrame = data.data.copy()
    frame[LABEL] = data.target_names[data.target]
    return frame


def _openml_frame(name: str) -> pd.DataFrame:
    try:
        data = sklearn.datasets.fetch_openml(name.removeprefix(OPENML), as_frame=True)
    except OSError as error:
        raise SettingError(
            f"'{name}' could not be fetched: no connection to OpenML ({type(error).__name__}). It is the only kind of "
            "data set that needs the network. Try again online, or use a data set that scikit-learn ships: "
            f"{', '.join(SHIPPED)}."
        ) from error
    except ValueError as error:
        raise SettingError(
            f"'{name}' could not be fetched: OpenML has no such active data set, or it is no table. Look its exact "
            "name up on openml.org."
        ) from error
    frame: pd.DataFrame = data.frame
    return frame.rename(columns=dict.fromkeys(data.target_names[:1], LABEL))

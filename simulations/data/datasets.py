"""Data sets by name: shipped with scikit-learn, in a folder, from OpenML, or a file."""

import os
import re
import warnings
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
from flower_pansvm.labels import plain_name
from simulations.data.partition import column_index, rows_of
from simulations.data.sets import FOLDER_SUFFIXES, file_in, how_to_get

SHIPPED = {
    "breast_cancer": sklearn.datasets.load_breast_cancer,
    "digits": sklearn.datasets.load_digits,
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
}
OPENML = "openml:"
FOLDER_VARIABLE = "PANSVM_DATA"


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
        - ``openml:NAME`` or ``openml:NAME:VERSION``, fetched over the network unless scikit-learn has it in its
          cache; OpenML's own target becomes the column ``label``, a column of texts one of 0 and 1 for each text;
        - a path that ends in one of `clients.table.file.SOURCES`, or ends so before ``.gz``;
        - ``NAME`` for ``NAME.csv.gz`` or ``NAME.libsvm.gz`` in the folder of data sets.
    label : str or None
        Name of the label column; None for the schema's, or ``label``.
    data_dir : Path or None
        Folder of data sets; None for the one that the environment variable PANSVM_DATA names.
    site_column : str or None
        The column of each row's site. Text in it is replaced by its index in sorted order, as a `Table` holds numbers
        only. It becomes the last column of the table.
    form : TableForm
        Format of a file, and the schema of its columns.

    Raises
    ------
    SettingError
        If there is no such data set or site column, or OpenML cannot be reached.
    TableError
        If the table is invalid, as in `clients.table.reading.read_table`.
    """
    label = label_of(form.schema, label)
    path = locate(name, data_dir)
    if path is not None and site_column is None:
        return agreed_rows(read_table(path, label, form=form), form, path.name)
    if path is not None:
        frame = read_frame(path, form)
    elif name in SHIPPED:
        shipped = SHIPPED[name](as_frame=True)
        frame = shipped.data.assign(**{LABEL: shipped.target_names[shipped.target]})
    else:
        frame = _openml_frame(name, (label, site_column))
    if site_column is not None:
        site_column = plain_name(site_column)
        column_index([column for column in frame.columns if column != label], site_column)
        texts = canonical_labels(frame[site_column])
        codes = {text: code for code, text in enumerate(sorted({text for text in texts if text is not None}))}
        site = [float("nan") if text is None else codes[text] for text in texts]
        frame = frame.drop(columns=site_column)
    source = path.name if path is not None else name
    table = table_from_frame(frame, label, source, form)
    if site_column is not None:
        table = replace(table, columns=(*table.columns, site_column), X=np.column_stack([table.X, site]))
    return agreed_rows(table, form, source)


def agreed_rows(table: Table, form: TableForm, source: str) -> Table:
    """Return the rows whose labels are classes of the schema file, on which a hospital trains and tests.

    TableError if there are none, or a column is in another unit. 'pansvm check' and a run warn of other rows.
    """
    check_units(table, form.schema, source)
    classes = form.schema.classes if form.schema else ()
    if not classes or table.labels is None:
        return table
    listed = np.isin(table.labels, classes)
    if not listed.any():
        raise TableError(
            f"No label of '{source}' is a class of the schema file. Check the label column, and correct the labels or, "
            "at all sites, the classes of the schema file."
        )
    return rows_of(table, np.flatnonzero(listed))


def locate(name: str, data_dir: Path | None) -> Path | None:
    """Return the file of a data set, None if it is shipped or from OpenML; SettingError if it does not exist."""
    if name in SHIPPED or name.startswith(OPENML):
        return None
    if suffix_of(name) in (*SOURCES, *OTHER_SUFFIXES):
        return Path(name)
    default = os.environ.get(FOLDER_VARIABLE)
    folder = data_dir or (Path(default) if default else None)
    if folder is None:
        raise SettingError(
            f"There is no data set '{name}' in scikit-learn, and no folder of data sets is set. "
            f"{near_matches(name, SHIPPED)} For a data set in a folder, name the folder with the setting data-dir or "
            f"the environment variable {FOLDER_VARIABLE}; a file must end in {', '.join(SOURCES)}. "
            f"{how_to_get(name)}"
        )
    if not folder.is_dir():
        raise SettingError(
            f"The folder of data sets '{folder}' does not exist. Correct the setting data-dir or the environment "
            f"variable {FOLDER_VARIABLE}."
        )
    path = file_in(folder, name)
    if path is not None:
        return path
    available = [
        file.name.removesuffix(suffix) for suffix in FOLDER_SUFFIXES for file in folder.glob(f"*{suffix}")
    ]
    raise SettingError(
        f"There is no data set '{name}' in scikit-learn, nor "
        f"{' nor '.join(name + suffix for suffix in FOLDER_SUFFIXES)} in '{folder}'. "
        f"{near_matches(name, [*SHIPPED, *available])} {how_to_get(name)}"
    )


def _openml_frame(name: str, kept: tuple[str | None, ...]) -> pd.DataFrame:
    """Return the cells of a data set of OpenML, the texts of some columns as they are."""
    match = re.fullmatch(r"(.+?)(?::(\d+))?", name.removeprefix(OPENML))
    title, version = match.groups() if match else ("", None)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Multiple active versions", UserWarning)
            data = sklearn.datasets.fetch_openml(title, version=int(version or 0) or "active", as_frame=True)
    except UserWarning as warning:
        raise SettingError(
            f"OpenML has several versions of '{name}': {' '.join(str(warning).split())} Name the version, so that "
            f"others get the same rows: {OPENML}{title}:1."
        ) from None
    except OSError as error:
        raise SettingError(
            f"'{name}' could not be fetched: no connection to OpenML ({type(error).__name__}). Try again online, or "
            f"use a data set that scikit-learn ships: {', '.join(SHIPPED)}."
        ) from error
    except ValueError as error:
        raise SettingError(
            f"'{name}' could not be fetched: OpenML has no such active data set, or the data set is no table. Look up "
            "its exact name on openml.org."
        ) from error
    frame: pd.DataFrame = data.frame
    target = data.target_names[:1]
    if target and target != [LABEL]:
        # A feature of that name gives way.
        frame = frame.rename(columns={LABEL: f"{LABEL}_", target[0]: LABEL})
    texts = [column for column in frame.columns if column not in kept and _holds_texts(frame[column])]
    coded = [
        pd.get_dummies(frame[column], prefix=column, dtype=float).mask(frame[column].isna(), np.nan)
        for column in texts
    ]
    return pd.concat([frame.drop(columns=texts), *coded], axis=1)


def _holds_texts(column: pd.Series) -> bool:
    """Return whether a column has names, some of which are not numbers."""
    named = isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column)
    return named and bool(pd.to_numeric(column.dropna().astype(str), errors="coerce").isna().any())

"""A table that a function returns: of an app that simulates, or one that a hospital has installed."""

import json
import os
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pandas as pd

from clients.table.table import FUNCTION
from flower_pansvm.errors import TableError


def as_frame(result: Any, name: str, label: str) -> pd.DataFrame:
    """Return a function's result as a frame; TableError if it is invalid or has no rows.

    It may return a frame with a label column, or ``(X, y)``, or ``(X, y, names)``: cells of shape (rows, columns),
    labels of shape (rows,), and the columns' names, which a frame has itself. ``name`` is the function's, for errors;
    ``label`` is what the column of ``y`` is called.
    """
    if isinstance(result, tuple) and len(result) in (2, 3):
        X, y, names = (*result, None)[:3]
        if names is None and all(isinstance(column, str) for column in getattr(X, "columns", [None])):
            names = X.columns
        try:
            rows = [one.index for one in (X, y) if isinstance(one, pd.DataFrame | pd.Series)]
            same = len(rows) < 2 or rows[0].equals(rows[1])
            if np.ndim(y) != 1 or (not same and set(rows[0]) == set(rows[1])):
                raise ValueError("labels of shape (rows, 1), or of the same rows in another order")
            # NumPy takes what is masked for what lies below.
            X, y = (
                np.ma.filled(one.astype(object), np.nan) if np.ma.isMaskedArray(one) else one
                for one in (X, y)
            )
            cells = np.asarray(X)
            columns = [f"x{i + 1}" for i in range(cells.shape[1])] if names is None else list(names)
            if label in columns:
                raise TableError(
                    f"The function {name} returns a column '{label}' in X, which is the name of the labels y. Rename "
                    "it, or leave it out."
                )
            result = pd.DataFrame(cells, columns=columns).assign(**{label: list(y)})
        except (IndexError, TypeError, ValueError):
            raise TableError(
                f"The results of the function {name} do not fit together. Return X of shape (rows, columns) and not "
                "sparse, y of shape (rows,) with its rows in the order of X, and a name for each column."
            ) from None
    if not isinstance(result, pd.DataFrame):
        raise TableError(
            f"The function {name} returns {type(result).__name__}. Return a pandas DataFrame, (X, y) or (X, y, names)."
        )
    if result.empty:
        raise TableError(f"The function {name} returns no rows. Return those of its site.")
    return result.reset_index(drop=True)


def call(function: Callable[..., Any], name: str, *arguments: Any, logged: bool = False) -> Any:
    """Return a function's result, else TableError; its own error's text may have a cell, and is shown if ``logged``."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # anybody's function
        text = f"The function {name} failed with {type(error).__name__}. Correct the function."
        raise TableError(text, detail=str(error) if logged else "") from None


def installed_function(data: str) -> Callable[[], Any]:
    """Return the function that a node config's ``data`` names, of a distribution that is installed.

    TableError if there is none, or if a folder of the package's name, where the process starts or in PYTHONPATH, would
    be imported in its place; nothing of such a folder is executed.
    """
    module, _, name = data.removeprefix(FUNCTION).partition(":")
    package, names = distributions_of(data)
    spec = find_spec(package) if names else None
    if spec is None:
        raise TableError(
            f"'{data}' names a function of the package '{package}', and no installed distribution has that. Install "
            "the package for this Python (pip install FOLDER), or correct the name: python:module:function."
        )
    folders = tuple(path for distribution in names for path in _folders(metadata.distribution(distribution)))
    for folder in spec.submodule_search_locations or [str(spec.origin)]:
        if not str(Path(folder).resolve()).startswith(folders):
            raise TableError(
                f"'{data}' is not taken from the installed package '{package}': {folder} comes first and has its name. "
                "Rename that; or start in another folder, and without PYTHONPATH."
            )
    try:
        loaded = import_module(module)
    except (Exception, SystemExit) as error:  # anybody's module
        raise TableError(
            f"The module {module} of '{data}' cannot be imported ({type(error).__name__}). Correct it where it is "
            "installed, or its name: python:module:function.",
            detail=str(error),
        ) from None
    try:
        function: Callable[[], Any] = attrgetter(name)(loaded)
        if not callable(function):
            raise TypeError("it cannot be called")
    except (AttributeError, TypeError) as error:
        raise TableError(
            f"'{data}' names no function of the module {module} ({type(error).__name__}). Write it as "
            "python:module:function.",
            detail=str(error),
        ) from None
    return function


def distributions_of(data: str) -> tuple[str, list[str]]:
    """Return the package of the function that ``data`` names, and the installed distributions that have it."""
    package = data.removeprefix(FUNCTION).partition(":")[0].partition(".")[0]
    return package, metadata.packages_distributions().get(package, [])


def _folders(distribution: metadata.Distribution) -> list[str]:
    """Return the folders of a distribution: where it is installed, and its source after ``pip install -e``."""
    made = json.loads(distribution.read_text("direct_url.json") or "{}")
    source = made["url"] if made.get("dir_info", {}).get("editable") else ""
    folders = [distribution.locate_file(""), *([url2pathname(urlsplit(source).path)] if source else [])]
    return [f"{Path(str(folder)).resolve()}{os.sep}" for folder in folders]

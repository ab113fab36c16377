"""A table that a function returns: of an app that simulates, or one that a hospital has installed."""

import importlib.metadata
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd

from clients.table.table import FUNCTION, LABEL
from flower_pansvm.errors import TableError


def read(data: str) -> pd.DataFrame:
    """Return the cells of the function that ``data`` names; TableError if there is none, or it fails."""
    return as_frame(call(installed_function(data), data), data, LABEL)


def as_frame(found: Any, name: str, label: str) -> pd.DataFrame:
    """Return what a function has returned as a frame.

    Parameters
    ----------
    found : DataFrame, or tuple
        A frame with a label column, or ``(X, y)`` or ``(X, y, names)``: cells of shape (rows, columns), labels of
        shape (rows,), and names of the columns.
    name : str
        The function's name, for errors.
    label : str
        What the column of ``y`` is called.

    Raises
    ------
    TableError
        If it is neither, or has no rows.
    """
    if isinstance(found, tuple) and len(found) in (2, 3):
        X, y, names = (*found, None)[:3]
        try:
            cells = np.asarray(X)
            columns = (
                list(names) if names is not None else [f"x{one}" for one in range(1, cells.shape[1] + 1)]
            )
            found = pd.DataFrame(cells, columns=columns).assign(**{label: list(y)})
        except (IndexError, TypeError, ValueError):
            raise TableError(
                f"What the function {name} returns does not go together. Return X of shape (rows, columns), a label "
                "for each row, and a name for each column."
            ) from None
    if not isinstance(found, pd.DataFrame):
        raise TableError(
            f"The function {name} returns {type(found).__name__}. Return a DataFrame, (X, y) or (X, y, names)."
        )
    if found.empty:
        raise TableError(f"The function {name} returns no rows. Return those of its site.")
    return found.reset_index(drop=True)


def call(function: Callable[..., Any], name: str, *arguments: Any, logged: bool = False) -> Any:
    """Return what a function returns; what it raises may have a cell in its text, and is ``logged`` if that may be."""
    try:
        return function(*arguments)
    except Exception as error:  # anybody's function
        text = f"The function {name} failed with {type(error).__name__}. Correct it where it is installed."
        raise TableError(text, detail=str(error) if logged else "") from None


def installed_function(data: str) -> Callable[[], Any]:
    """Return the function that a node config's ``data`` names.

    Only of a distribution that is installed: nothing that lies in the folder where a process starts, or that a
    coordinator has sent, can take its place.

    Raises
    ------
    TableError
        If there is no such function, or no distribution has its package.
    """
    place = data.removeprefix(FUNCTION)
    package = place.partition(":")[0].partition(".")[0]
    if package not in importlib.metadata.packages_distributions():
        raise TableError(
            f"'{data}' names a function of the package '{package}', and no installed distribution has that. Install "
            "the package for this Python (pip install FOLDER), or correct the name: python:module:function."
        )
    try:
        found = resolve_name(place)
    except (ImportError, AttributeError, ValueError) as error:
        raise TableError(
            f"'{data}' names no function that can be imported ({type(error).__name__}). Write it as "
            "python:module:function.",
            detail=str(error),
        ) from None
    if not callable(found):
        raise TableError(f"'{data}' names no function. Write it as python:module:function.")
    return found  # type: ignore[no-any-return]

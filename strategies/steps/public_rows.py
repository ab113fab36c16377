"""Public rows: from a file that anybody may read, or, in a simulation, rows that the simulated sites disclose."""

import csv
import math
from pathlib import Path

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.setting_values import near_matches
from flower_pansvm.tasks.output_perturbation import PUBLIC_ROWS, PublicRowsQuestion
from strategies.federation.federation import Federation

LEAST = 3
"""Fewer rows have no distances to speak of."""


def public_rows(federation: Federation, public: str, schema: Schema) -> Floats:
    """Return the public rows that the setting ``public`` names, shape (rows, columns); NaN is a missing cell.

    Parameters
    ----------
    federation : Federation
        The sites.
    public : str
        A number of rows, of simulated sites only, rounded up to as many of each; or a CSV file's absolute path.
    schema : Schema
        The columns.

    Raises
    ------
    SettingError
        If the file cannot be read or lacks a column, there are too few rows, or a site is a hospital.
    FederationError
        If what a site disclosed cannot be.
    """
    if public.isdigit():
        each = math.ceil(int(public) / len(federation.sites))
        answers = federation.collect(PUBLIC_ROWS, PublicRowsQuestion(each))
        for name, site in federation.sites.items():
            if answers[site.node_id].rows.shape != (each, len(schema.columns)):
                raise FederationError(
                    f"What site '{name}' disclosed are not the public rows that it was asked for."
                )
        rows = np.vstack([answers[site.node_id].rows for site in federation.sites.values()])
    else:
        rows = rows_of_file(Path(public), schema)
    if len(rows) < LEAST:
        raise SettingError(f"There are {len(rows)} public rows, but it takes {LEAST} or more. Set 'public'.")
    return rows


def rows_of_file(path: Path, schema: Schema) -> Floats:
    """Return the cells of the schema's columns in a CSV file with a header; other columns are ignored."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingError(
            f"The file of public rows, {path}, cannot be read ({type(error).__name__}). Write a CSV file with the "
            "columns' names in its first line, and name it with public=/an/absolute/path."
        ) from None
    header = lines[0] if lines else []
    missing = [column for column in schema.columns if column not in header]
    if missing:
        raise SettingError(
            f"{path.name}, the file of public rows, has no column '{missing[0]}'. "
            f"{near_matches(missing[0], header) if header else 'It is empty.'}"
        )
    places = [header.index(column) for column in schema.columns]
    try:
        cells = [[float(line[place] or "nan") for place in places] for line in lines[1:]]
    except (ValueError, IndexError):
        raise SettingError(
            f"{path.name}, the file of public rows, has a cell that is no number, or a line that is too short. A "
            "missing cell is an empty one."
        ) from None
    return np.array(cells, dtype=np.float64).reshape(-1, len(places))

"""Months: a table grows by one record from run to run, and the difference of two months' moments is that record."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.attack.active.hospitals import Hospitals, drawn_table
from simulations.attack.active.nearness import asked_at, attempt
from simulations.attack.active.registry import Attempt
from simulations.attack.copies import SiteRecords
from simulations.attack.moments import records_in_moments
from strategies.federation.transcript import TranscriptSum

TABLES = {"first": 40, "second": 40, "third": 40}
MONTHS = 36


def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Read the added records."""
    tables = {name: drawn_table(rows, name) for name, rows in TABLES.items()}
    return attempt(level, *records_of_months(folder, level, tables, drawn_table(MONTHS, "added")))


def records_of_months(
    folder: Path, level: str, tables: Mapping[str, pd.DataFrame], added: pd.DataFrame, noise: float = 0.25
) -> tuple[list[SiteRecords], Floats]:
    """Return all records, the added ones as those that are attacked, and the coordinator's guesses of them.

    Parameters
    ----------
    folder : Path
        Folder to make for hospitals and coordinator.
    level : str
        Of all runs, which train on all records.
    tables : mapping of str to DataFrame
        The table of each hospital in the first month.
    added : DataFrame
        Records that the first hospital adds, one a month.
    noise : float
        Of level `perturbed`.
    """
    hospitals = Hospitals(folder, tables, {**asked_at(level), "noise": noise})
    first, record = next(iter(tables)), []
    for month in range(len(added) + 1):
        table = pd.concat([tables[first], added[:month]])
        table.to_csv(str(hospitals.nodes[first]["data"]), index=False)
        coordinator = hospitals.coordinator(month + 1)
        coordinator.join()
        answer = coordinator.ask(MOMENTS, Nothing())
        record.append(TranscriptSum(MOMENTS.name, {}, {}, tuple(tables), vars(answer)))
    # Earlier records only contribute the columns' covariance.
    records = [replace(site, trained=np.zeros_like(site.trained)) for site in hospitals.records()]
    records[0].trained[len(tables[first]) :] = True
    return records, records_in_moments(record)

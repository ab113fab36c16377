"""The protection of a table's records at each level, from one run to a coordinator that chooses everything.

At `exact` it counts the records that an attack computes. At `perturbed` an attack computes copies: it measures the
distance of these, and of the best guess from the whole copy, to the true records. At `dp` there is nothing to solve.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from clients.table.table import LABEL
from flower_pansvm.errors import PanSVMError
from flower_pansvm.terms import Scalar
from simulations.attack.active.chosen_moments import VICTIM, solved
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.months import MONTHS, records_of_months
from simulations.attack.active.nearness import all_trained, asked_at
from simulations.attack.active.registry import own_account
from simulations.attack.attack import attack, solve
from simulations.attack.counting import Attack, counted
from simulations.data.pooling import pooled
from simulations.engines.in_process import in_process_grid
from strategies.app import run
from strategies.federation.transcript import read_transcript
from strategies.settings import settings_from

TABLES = (
    *("heart", "liver-disorders", "diabetes", "australian"),
    *("ionosphere", "breast-cancer", "breast_cancer", "sonar"),
)
SEARCHED = ("heart", "liver-disorders", "diabetes")
"""Tables of which runs that choose settings or features are attacked, too."""

LEVELS: Mapping[str, Mapping[str, Scalar]] = {
    "exact": {"privacy": "exact"},
    "perturbed, noise 0.25": {"privacy": "perturbed", "noise": 0.25},
    "perturbed, noise 0.5": {"privacy": "perturbed", "noise": 0.5},
    "dp, epsilon 1": {"strategy": "dp-svm"},
}
RUNS: Mapping[str, Mapping[str, Scalar]] = {
    "run": {},
    "tune": {"C": "auto", "gamma": "auto"},
    "select": {"strategy": "voted-wrapper"},
}
MINUTES = 0.5
"""Duration of the attack on a run; a longer one reconstructs more."""

RUNS_BY_SEED = 12

HOSPITALS = ("first", "second", "third")


def lines(data: str, data_dir: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each level and kind of request; with the reason where it is refused."""
    for level, settings in LEVELS.items():
        for how, more in RUNS.items():
            if how == "run" or (data in SEARCHED and "strategy" not in settings):
                yield _line(data, level, how, partial(_of_run, data, data_dir, {**settings, **more}))
        if "strategy" not in settings:
            asked = str(settings["privacy"]), float(settings.get("noise", 0.25))
            yield _line(data, level, "seeds", partial(_of_seeds, data, data_dir, *asked))
            yield _line(data, level, "months", partial(_of_months, data, data_dir, *asked))
            yield _line(data, level, "active", partial(_of_active, data, data_dir, *asked))


def _line(data: str, level: str, how: str, play: Callable[[], Attack]) -> dict[str, Any]:
    start = {"data": data, "level": level, "how": how}
    try:
        outcome = play()
    except PanSVMError as error:
        return {**start, "refused": str(error)}
    together = outcome.attempts["all together"]
    return {
        **start,
        "records": outcome.rows,
        "found_exactly": together.exact,
        "found": together.within_10,
        "determined": outcome.determined,
        "error": outcome.error,
        "found_distance": outcome.found_distance,
        "their_copies_distance": outcome.found_copy_distance,
        "copy_distance": None if outcome.copy is None else outcome.copy.copy_distance,
        "codes_right": None if outcome.copy is None else outcome.copy.codes_right,
        "membership": outcome.membership,
    }


def _of_run(data: str, data_dir: Path, more: Mapping[str, Scalar]) -> Attack:
    """Attack one run with simulated sites."""
    with tempfile.TemporaryDirectory() as folder:
        common: dict[str, Scalar] = {"data": data, "data-dir": str(data_dir), "audit": True, "out": folder}
        settings = settings_from({**common, **more})
        run(in_process_grid(settings), settings, Path(folder))
        return attack(settings, Path(folder), MINUTES, lambda _: None)


def _of_seeds(data: str, data_dir: Path, level: str, noise: float) -> Attack:
    """Attack the sums of twelve runs together, each with a seed of its own, of hospitals that keep key and split."""
    tables, record = _parts(_table(data, data_dir)), []
    with tempfile.TemporaryDirectory() as name, own_account(folder := Path(name)):
        asked = {**asked_at(level), "noise": noise}
        hospitals = Hospitals(folder / "study", tables, asked, test_fraction=0.2)
        for seed in range(1, RUNS_BY_SEED + 1):
            settings = replace(hospitals.settings, seed=seed, audit=True)
            run(hospitals.grid(seed, settings), settings, folder / f"run-{seed}")
            record += read_transcript(folder / f"run-{seed}")
        # BLAS threads on a busy machine wait for each other.
        with threadpool_limits(limits=1):
            guesses = solve(record, 60.0 * MINUTES, lambda _: None)
        return counted(level, hospitals.records(), guesses, record)


def _of_months(data: str, data_dir: Path, level: str, noise: float) -> Attack:
    """Attack a study of `MONTHS` months, in each of which a hospital adds a record."""
    table = _table(data, data_dir)
    tables = _parts(table[MONTHS:])
    with tempfile.TemporaryDirectory() as folder, own_account(Path(folder)):
        sites, guesses = records_of_months(Path(folder) / "study", level, tables, table[:MONTHS], noise)
        return counted(level, sites, {"months": guesses}, [])


def _of_active(data: str, data_dir: Path, level: str, noise: float) -> Attack:
    """Attack a hospital that has all records, by moments, with two that have made theirs up."""
    table, generator = _table(data, data_dir), np.random.default_rng(0)
    tables = {name: table.copy() for name in (*HOSPITALS[:2], VICTIM)}
    for name in HOSPITALS[:2]:
        cells = tables[name].columns != LABEL
        tables[name].loc[:, cells] = generator.normal(size=(len(table), cells.sum()))
    with tempfile.TemporaryDirectory() as folder, own_account(Path(folder)):
        asked = {**asked_at(level), "noise": noise}
        hospitals = Hospitals(Path(folder) / "study", tables, asked)
        guesses, _ = solved(hospitals, len(table))
        return counted(level, all_trained(hospitals.records()[-1:]), {"moments": guesses}, [])


def _table(data: str, data_dir: Path) -> pd.DataFrame:
    """Return all records in a random order, with the classes as 0 and 1."""
    pool = pooled(settings_from({"data": data, "data-dir": str(data_dir), "test-fraction": 0.0}))
    table = pd.DataFrame(pool.train.X, columns=list(pool.schema.columns)).assign(
        **{LABEL: pool.train.classes}
    )
    return table.sample(frac=1.0, random_state=0)


def _parts(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the hospitals' parts of a table."""
    return {name: table[index :: len(HOSPITALS)] for index, name in enumerate(HOSPITALS)}

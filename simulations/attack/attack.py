"""The attack of ``pansvm run --audit=attack``: all kinds of attack on the sums of a run.

The attacker has only the coordinator's data, of every feature map, fold and subset of the features, of one or several
runs. The simulation's true records are used to count reconstructed ones. At level `perturbed` sums are over copies, and
guesses are compared with copies and true records.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.result_file import read_result
from flower_pansvm.systems.scaling import MOMENTS
from simulations.attack.copies import SiteRecords, records_of
from simulations.attack.counting import MOST_FITTED, Attack, counted
from simulations.attack.differences import solve_differences
from simulations.attack.equations import Equations
from simulations.attack.fit import fit, start_from_landmarks
from simulations.attack.knowledge import KnownMap, knowledge_of, sums_by_map
from simulations.attack.moments import records_in_moments
from simulations.attack.spaces import search_spaces
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.results import shared_config
from strategies.settings import Settings, settings_from

SAME_SITES = ("data", "label", "schema", "drop", "positive", "sites", "split", "seed", "noise")
"""Settings that runs must share for a site to have the same copy of its table in all of them."""

FITTED = 0.5
"""Share of the time for fitting rows to Hessians."""

PROGRESS_SECONDS = 30.0


def attack(
    settings: Settings, folder: Path, minutes: float, show: Callable[[str], None], also: Sequence[Path] = ()
) -> Attack:
    """Attack a run of simulated sites by the records in its folder and in those of other runs.

    The minutes are of CPU time: waiting for a busy machine does not count.
    SettingError if a folder has no record, or one of other sites; or the sites hold different columns.
    """
    record = read_transcript(folder)
    sites = records_of_sites(settings, record)
    if not sites:
        raise SettingError("The attack needs sites that hold all columns. Leave out the checkerboard.")
    for other in also:
        record = [*_record_of(settings, other), *record]
    # BLAS threads on a loaded machine wait for each other.
    with threadpool_limits(limits=1):
        guesses = solve(record, 60.0 * minutes, show)
        return counted(settings.level, sites, guesses, record)


def records_of_sites(settings: Settings, record: Sequence[TranscriptSum]) -> list[SiteRecords]:
    """Return the records of simulated sites; none if they hold different columns."""
    sites = SimulatedSites(settings).before(record[-1])
    whole = all(site.own_columns().all() for site in sites)
    return [records_of(site) for site in sites] if whole else []


def _record_of(settings: Settings, folder: Path) -> list[TranscriptSum]:
    """Return the record of another run of the same sites."""
    record, other = read_transcript(folder), settings_from(read_result(folder)["config"])
    # The other run's result names files without their folders.
    settings = settings_from(shared_config(settings))
    if not record:
        raise SettingError(
            f"{folder} holds no record of a run's sums. Run it with --audit=record, which keeps the record."
        )
    differing = [name for name in SAME_SITES if getattr(other, name) != getattr(settings, name)]
    if differing or other.level != settings.level:
        raise SettingError(
            f"The run in {folder} has other records or copies: {', '.join(differing) or 'privacy'} differs. Name runs "
            "that differ in other settings only."
        )
    return record


def solve(record: Sequence[TranscriptSum], seconds: float, show: Callable[[str], None]) -> dict[str, Floats]:
    """Return each attack's guesses after so many CPU seconds, in the table's units; unknown columns are NaN."""
    begun = time.thread_time()
    guesses = {"moments": records_in_moments(record)}
    spread = _spread(record)
    maps, knowledge, shown = sums_by_map(record), knowledge_of(record), begun
    if knowledge is not None and knowledge.rows * len(knowledge.total) > MOST_FITTED:
        knowledge = None
    if knowledge is not None:
        seconds *= 1.0 - FITTED
    for index, (known_map, sums) in enumerate(maps):
        elapsed = time.thread_time() - begun
        share = max(0.0, seconds - elapsed) / (len(maps) - index)
        rows = np.vstack([np.empty((0, len(spread))), *guesses.values()])
        for name, more in _in_sums(known_map, sums, spread, rows, share).items():
            guesses[name] = np.vstack([guesses.get(name, rows[:0]), more])
        if time.thread_time() - shown > PROGRESS_SECONDS:
            shown = time.thread_time()
            show(f"attack, {shown - begun:.0f} s: {len(rows)} guesses, some of parts of records")
    if knowledge is not None:
        share = seconds / (1.0 - FITTED) - (time.thread_time() - begun)
        show(f"attack: fits rows to {len(knowledge.hessians)} Hessians for {share:.0f} s")
        equations = Equations(knowledge)
        guess = fit(equations, start_from_landmarks(knowledge, equations), share)
        guesses["fit to Hessians"] = knowledge.known.rows(guess.X)
    return guesses


def _in_sums(
    known_map: KnownMap, sums: Floats, spread: Floats, rows: Floats, seconds: float
) -> dict[str, Floats]:
    """Return new rows from sums over one feature map, by kind of attack."""
    before, around = known_map.of_complete(rows), _about_landmarks(known_map, spread)
    in_spaces = search_spaces(known_map.feature_map, sums, around, before, seconds / 2)
    of_pairs = solve_differences(known_map.feature_map, sums[:, :-1], around, seconds / 2)
    return {
        "spaces of sums": known_map.rows(in_spaces[len(before) :]),
        "differences of sums": known_map.rows(of_pairs),
    }


def _spread(record: Sequence[TranscriptSum]) -> Floats:
    """Return the deviation of each column from the moments; empty without moments."""
    for entry in record:
        if entry.task == MOMENTS.name:
            count, total, square = (entry.sums[name].sum(axis=0) for name in ("count", "total", "square"))
            variance: Floats = np.maximum(square / count - np.square(total / count), 0.0)
            return np.sqrt(variance)
    return np.empty(0)


def _about_landmarks(known_map: KnownMap, spread: Floats) -> float:
    """Return the standard deviation of scaled rows about landmarks."""
    scaled = np.square(spread / known_map.scaling.scale)[known_map.features].mean()
    return float(np.sqrt(max(scaled - known_map.feature_map.landmarks.var(axis=0).mean(), 0.01)))

"""The attack of ``pansvm run --audit=attack``: everything that is tried on a run, and what came of it.

The attacker has only what the coordinator has, of every feature map, fold and subset of the features, of one run or of
several. The truth, which a simulation has, is used to count what was found. At level `perturbed` sums are over copies,
and what was found is held against the true records, too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.systems.admm import CONSENSUS
from flower_pansvm.systems.common import MOMENTS
from flower_pansvm.terms import Terms
from simulations.attack.copies import SiteRecords, WholeCopy, distance, records_of, whole_copy
from simulations.attack.differences import solve_differences
from simulations.attack.differences_of_models import DifferencesOfModels, sums_of_rows, trainings
from simulations.attack.equations import Equations, determined
from simulations.attack.findings import Found, found, guess_of_each, membership
from simulations.attack.fit import fit, start_from_landmarks
from simulations.attack.knowledge import KnownMap, cuts_by_map, knowledge_of, map_of, numbers_received
from simulations.attack.moments import records_in_moments
from simulations.attack.spaces_of_cuts import search_spaces
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.results import read_result
from strategies.settings import Settings, settings_from

SAME_SITES = ("data", "label", "schema", "drop", "positive", "sites", "split", "seed", "noise")
"""Settings that runs have to share for a site to have one copy of its table in all of them."""

FEWEST_COLUMNS = 3
"""Rows of fewer columns are found by chance."""

MOST_FITTED = 8_000
"""Most unknown cells that are fitted to Hessians: a matrix has the square of it."""

FITTED = 0.5
"""Share of the time in which rows are fitted to Hessians."""

PROGRESS_SECONDS = 30.0
MOST_SHOWN = 4
"""Kinds of numbers that are shown: those of which most were received."""


@dataclass(frozen=True)
class Attack:
    """What an attack has found.

    Parameters
    ----------
    level : str
        Of the run.
    rows, test_rows : int
        Training records, and records that had no part in the training.
    numbers : dict of str to int
        How many numbers each kind of sum has brought.
    attempts, by_chance : dict of str to Found
        Training records, at level `perturbed` copies of them, that each way of attacking has found, and all together;
        and how many of the test records, which can only be by chance.
    determined : int or None
        How many of them the Hessians of one model determine to 10 percent, made linear at the truth: what a longer
        attack could compute. None without Hessians, or where that would take too much memory.
    cells : int
        Cells of training records that are known, those of subsets of the columns too; of `unknown`.
    unknown : int
        Cells of all training records.
    error : float
        Root mean square distance of the attacker's best guesses from the true training records, in deviations of a
        column: the mean of the column where it has found nothing.
    membership : float or None
        Area under the curve of telling who took part, by the nearest of what was found; None if that cannot be told.
    copy : WholeCopy or None
        At level `perturbed`, the most that can be made of all copies.
    found_distance, found_copy_distance : float or None
        Root mean square distance of the records found from the true ones, beside that of their copies.
    """

    level: str
    rows: int
    test_rows: int
    numbers: dict[str, int]
    attempts: dict[str, Found]
    by_chance: dict[str, Found]
    determined: int | None
    cells: int
    unknown: int
    error: float
    membership: float | None
    copy: WholeCopy | None = None
    found_distance: float | None = None
    found_copy_distance: float | None = None

    def __str__(self) -> str:
        """Return the findings, a line each."""
        of_what = "copies of training records" if self.copy else "training records"
        lines = [f"attack on {self.rows} {of_what}, {self.unknown} unknown cells:"]
        for name, one in self.attempts.items():
            chance = f"; of {self.test_rows} test records: {self.by_chance[name]}" if self.test_rows else ""
            lines.append(f"  {name}: {one}{chance}")
        if self.determined is not None:
            lines.append(
                f"  made linear at the truth: the Hessians of one model determine {self.determined} to 10 %"
            )
        if not self.copy:
            lines.append(f"  {self.cells} cells are known; best guesses are {self.error:.2f} deviations off")
        if self.found_distance is not None and self.found_copy_distance is not None:
            nearer = "never nearer" if self.found_distance >= self.found_copy_distance - 0.01 else "NEARER"
            lines.append(
                f"  the copies found are {self.found_copy_distance:.2f} deviations from the true records; what was "
                f"found is {self.found_distance:.2f} away: {nearer}"
            )
        if self.copy:
            lines.append(f"  {self.copy}")
        lines += [
            f"  {name}: {count} numbers, {count / self.unknown:.2f} for each unknown cell"
            for name, count in list(self.numbers.items())[:MOST_SHOWN]
        ]
        return "\n".join(lines)


def attack(
    settings: Settings, folder: Path, minutes: float, show: Callable[[str], None], also: Sequence[Path] = ()
) -> Attack:
    """Attack a run with simulated sites.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with ``audit``.
    folder : Path
        The run's folder, with the record of what was asked and what came back.
    minutes : float
        Most time to take.
    show : callable
        Receives lines of progress.
    also : sequence of Path
        Folders of other runs of the same sites, with their records.

    Raises
    ------
    SettingError
        If a folder has no record, or one of other sites; or the sites hold different columns.
    """
    record = read_transcript(folder)
    sites = [records_of(site) for site in SimulatedSites(settings).before(record[-1])]
    if len({one.true.shape[1] for one in sites}) > 1:
        raise SettingError(
            "The attacker reads runs whose sites hold all columns. Leave out the checkerboard."
        )
    for other in also:
        record = [*_record_of(settings, other), *record]
    # BLAS threads on a busy machine wait for each other.
    with threadpool_limits(limits=1):
        guesses = solve(record, settings.terms, 60.0 * minutes, show)
        return counted(settings.level, sites, guesses, record)


def records_of_sites(settings: Settings, record: Sequence[TranscriptSum]) -> list[SiteRecords]:
    """Return the records of simulated sites; none if they hold different columns."""
    sites = SimulatedSites(settings).before(record[-1])
    whole = all(site.own_columns().all() for site in sites)
    return [records_of(site) for site in sites] if whole else []


def _record_of(settings: Settings, folder: Path) -> list[TranscriptSum]:
    """Return the record of another run of the same sites."""
    record, other = read_transcript(folder), settings_from(read_result(folder)["config"])
    if not record:
        raise SettingError(
            f"{folder} holds no record of a run's sums. Run it with --audit=record, which keeps the record."
        )
    differing = [name for name in SAME_SITES if getattr(other, name) != getattr(settings, name)]
    if differing or other.level != settings.level:
        raise SettingError(
            f"The run in {folder} is not of the same sites at the same level: {', '.join(differing) or 'privacy'} "
            "differs, and its records or their copies with it. Name runs that differ in other settings."
        )
    return record


def solve(
    record: Sequence[TranscriptSum], terms: Terms, seconds: float, show: Callable[[str], None]
) -> dict[str, Floats]:
    """Return the records that each way of attacking finds, in the table's units; unknown columns are NaN.

    Parameters
    ----------
    record : sequence of TranscriptSum
        What the coordinator asked and learned.
    terms : Terms
        The terms of the run.
    seconds : float
        Most time to take.
    show : callable
        Receives lines of progress.
    """
    begun = time.monotonic()
    guesses = {"moments": records_in_moments(record)}
    spread = _spread(record)
    maps, models = cuts_by_map(record), trainings(record)
    knowledge, shown = knowledge_of(record), begun
    if knowledge is not None and knowledge.rows * len(knowledge.total) > MOST_FITTED:
        knowledge = None
    if knowledge is not None:
        seconds *= 1.0 - FITTED
    for number in range(len(maps) + len(models)):
        elapsed = time.monotonic() - begun
        share = max(0.0, seconds - elapsed) / (len(maps) + len(models) - number)
        rows = np.vstack([np.empty((0, len(spread))), *guesses.values()])
        if number < len(maps):
            new = _in_cuts(*maps[number], spread, rows, share)
        else:
            steps = models[number - len(maps)]
            new = {"differences of models": _in_models(steps, terms, spread, rows, share)}
        for name, more in new.items():
            guesses[name] = np.vstack([guesses.get(name, rows[:0]), more])
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            show(f"attack, {shown - begun:.0f} s: {len(rows)} guesses, some of parts of records")
    if knowledge is not None:
        share = seconds / (1.0 - FITTED) - (time.monotonic() - begun)
        show(f"attack: fits rows to {len(knowledge.curvatures)} Hessians for {share:.0f} s")
        equations = Equations(knowledge)
        guess = fit(equations, start_from_landmarks(knowledge, equations, seed=0), share)
        guesses["fit to Hessians"] = knowledge.known.rows(guess.X)
    return guesses


def _in_cuts(
    known: KnownMap, sums: Floats, spread: Floats, rows: Floats, seconds: float
) -> dict[str, Floats]:
    """Return new rows from cuts over one feature map, by the two ways of finding them."""
    before, around = known.of_complete(rows), _about_landmarks(known, spread)
    in_spaces = search_spaces(known.feature_map, sums, around, before, seconds / 2)
    of_pairs = solve_differences(known.feature_map, sums[:, :-1], around, seconds / 2)
    return {
        "spaces of cuts": known.rows(in_spaces[len(before) :]),
        "differences of cuts": known.rows(of_pairs),
    }


def _in_models(
    steps: Sequence[TranscriptSum], terms: Terms, spread: Floats, rows: Floats, seconds: float
) -> Floats:
    """Return new rows from the models of one consensus training."""
    problems = steps[0].question(CONSENSUS).problems()
    sums, units = sums_of_rows(steps, terms)
    new = []
    for problem, own, unit in zip(problems, sums, units.T, strict=True):
        known = map_of(steps[-1], problem.feature_map)
        before = known.of_complete(rows)
        around = _about_landmarks(known, spread)
        differences = DifferencesOfModels(known.feature_map, own, unit, around, before)
        new.append(known.rows(differences.solve(seconds / len(problems))[len(before) :]))
        rows = np.vstack([rows, new[-1]])
    return np.vstack(new)


def _spread(record: Sequence[TranscriptSum]) -> Floats:
    """Return the deviation of each column, as moments tell it; 1 for each of a run that asks for none."""
    for one in record:
        if one.task == MOMENTS.name:
            count, total, square = (one.sums[part].sum(axis=0) for part in ("count", "total", "square"))
            variance: Floats = np.maximum(square / count - np.square(total / count), 0.0)
            return np.sqrt(variance)
    return np.empty(0)


def _about_landmarks(known: KnownMap, spread: Floats) -> float:
    """Return the standard deviation of scaled rows about landmarks."""
    scaled = np.square(spread / known.scaling.scale)[known.features].mean()
    return float(np.sqrt(max(scaled - known.feature_map.landmarks.var(axis=0).mean(), 0.01)))


def counted(
    level: str, sites: Sequence[SiteRecords], guesses: dict[str, Floats], record: Sequence[TranscriptSum]
) -> Attack:
    """Return how near guesses have come to the records of some sites.

    Parameters
    ----------
    level : str
        Of the run.
    sites : sequence of SiteRecords
        The truth.
    guesses : dict of str to ndarray of shape (guesses, columns)
        By the way in which they were found.
    record : sequence of TranscriptSum
        What the coordinator asked and learned.
    """
    true, seen = (np.vstack([getattr(one, part) for one in sites]) for part in ("true", "seen"))
    guesses = {name: X.reshape(-1, true.shape[1]) for name, X in guesses.items()}
    trained = np.concatenate([one.trained for one in sites])
    spread = np.nan_to_num(np.nanstd(true[trained], axis=0))
    mean = np.nanmean(true[trained], axis=0)
    # A missing cell is as good as the mean, with which sites fill it.
    members, others = (np.nan_to_num(seen[rows] - mean) for rows in (trained, ~trained))
    every = np.vstack([np.empty((0, true.shape[1])), *guesses.values()]) - mean
    whole = every[~np.isnan(every[:, spread > 0]).any(axis=1)]
    ways = {name: X - mean for name, X in guesses.items()} | {"all together": every}
    ways = {name: X[~np.isnan(X[:, spread > 0]).any(axis=1)] for name, X in ways.items()}
    guess = guess_of_each(members, whole, spread)
    best = np.where(guess[:, None] >= 0, whole[guess] if len(whole) else 0.0, 0.0)
    off = (np.nan_to_num(true[trained] - mean) - best)[:, spread > 0] / spread[spread > 0]
    result = Attack(
        level=level,
        rows=int(trained.sum()),
        test_rows=int((~trained).sum()),
        numbers=numbers_received(record),
        attempts={name: found(members, X, spread) for name, X in ways.items()},
        by_chance={name: found(others, X, spread) for name, X in ways.items()},
        determined=determined_by_hessians(record, sites),
        cells=_cells(members, every, spread),
        unknown=members.size,
        error=float(np.sqrt(np.mean(np.square(off)))),
        membership=membership(members, others, whole, spread),
    )
    if level != "perturbed":
        return result
    copy = whole_copy(sites)
    result = replace(result, copy=copy, error=copy.filtered_distance, membership=copy.membership)
    hit = np.flatnonzero(trained)[guess >= 0]
    if not len(hit):
        return result
    nothing, ends = np.full(true.shape, np.nan), np.cumsum([len(one.true) for one in sites])[:-1]
    of_found, of_copies = nothing.copy(), nothing.copy()
    of_found[hit], of_copies[hit] = whole[guess[guess >= 0]] + mean, seen[hit]
    apart = [distance(sites, np.split(X, ends)) for X in (of_found, of_copies)]
    return replace(result, found_distance=apart[0], found_copy_distance=apart[1])


def determined_by_hessians(record: Sequence[TranscriptSum], sites: Sequence[SiteRecords]) -> int | None:
    """Return how many training records the Hessians of one model determine to 10 %; None where that is not known."""
    knowledge, seen = knowledge_of(record), np.vstack([one.seen[one.trained] for one in sites])
    if knowledge is None or knowledge.rows != len(seen) or seen.size > MOST_FITTED:
        return None
    return determined(knowledge, knowledge.known.seen(seen))[1]


def _cells(truth: Floats, guesses: Floats, spread: Floats) -> int:
    """Return how many cells of true rows guesses have found, those of parts of rows too."""
    known, varied = np.zeros(truth.shape, dtype=np.bool_), spread > 0
    told = ~np.isnan(guesses)
    for features in np.unique(told, axis=0):
        if (features & varied).sum() >= min(FEWEST_COLUMNS, varied.sum()):
            of_these = guesses[(told == features).all(axis=1)][:, features]
            hit = guess_of_each(truth[:, features], of_these, spread[features]) >= 0
            known[np.ix_(hit, features)] = True
    return int(known.sum())

"""The guesses of an attack compared with the true records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flower_pansvm.arrays import Floats
from simulations.attack.copies import SiteRecords, WholeCopy, distance, whole_copy
from simulations.attack.equations import determined
from simulations.attack.findings import Reconstructed, guess_of_each, membership, reconstructed
from simulations.attack.knowledge import knowledge_of
from strategies.federation.transcript import TranscriptSum

FEWEST_COLUMNS = 3
"""Fewest columns of a row that is not reconstructed by chance."""

MOST_FITTED = 8_000
"""Most unknown cells that are fitted to Hessians: a matrix has its square."""


@dataclass(frozen=True)
class Attack:
    """The result of an attack."""

    rows: int  # training records
    test_rows: int  # records without a part in the training
    # attempts, by_chance: training records, at level `perturbed` their copies, and test records, the chance
    # baseline, that each kind of attack and all together have reconstructed.
    attempts: dict[str, Reconstructed]
    by_chance: dict[str, Reconstructed]
    # Training records identifiable to 10 percent from the Hessians of one model, linearised at the truth: within
    # reach of a longer attack. None without Hessians, or if that would take too much memory.
    determined: int | None
    cells: int  # known cells of training records, in part of the columns too
    unknown: int  # cells of all training records
    # Root mean square distance of the attacker's best guesses from the true training records, in deviations
    # of a column; its guess is the column's mean if it has found nothing.
    error: float
    membership: float | None  # AUC of membership inference by the nearest guess; None if unknown
    copy: WholeCopy | None = None  # at level `perturbed`, the best use of all copies
    # found_distance, found_copy_distance: root mean square distance of the records found from the true ones,
    # and that of their copies.
    found_distance: float | None = None
    found_copy_distance: float | None = None

    def __str__(self) -> str:
        """Return the findings, a line each."""
        of_what = "copies of training records" if self.copy else "training records"
        lines = [f"attack on {self.rows} {of_what}, {self.unknown} unknown cells:"]
        for name, result in self.attempts.items():
            chance = f"; of {self.test_rows} test records: {self.by_chance[name]}" if self.test_rows else ""
            lines.append(f"  {name}: {result}{chance}")
        if self.determined is not None:
            lines.append(
                f"  linearised at the truth: the Hessians of one model determine {self.determined} to 10 %"
            )
        if not self.copy:
            lines.append(f"  {self.cells} cells are known; best guesses are {self.error:.2f} deviations off")
        if self.found_distance is not None and self.found_copy_distance is not None:
            nearer = "never nearer" if self.found_distance >= self.found_copy_distance - 0.01 else "NEARER"
            lines.append(
                f"  the copies found are {self.found_copy_distance:.2f} deviations from the true records, the guesses "
                f"{self.found_distance:.2f}: {nearer}"
            )
        if self.copy:
            lines.append(f"  {self.copy}")
        return "\n".join(lines)


def counted(
    level: str, sites: Sequence[SiteRecords], guesses: dict[str, Floats], record: Sequence[TranscriptSum]
) -> Attack:
    """Compare guesses, shape (guesses, columns) by kind of attack, with the sites' records."""
    true, seen = (np.vstack([getattr(site, name) for site in sites]) for name in ("true", "seen"))
    guesses = {name: X.reshape(-1, true.shape[1]) for name, X in guesses.items()}
    trained = np.concatenate([site.trained for site in sites])
    spread = np.nan_to_num(np.nanstd(true[trained], axis=0))
    mean = np.nanmean(true[trained], axis=0)
    # Sites fill a missing cell with the mean.
    members, non_members = (np.nan_to_num(seen[rows] - mean) for rows in (trained, ~trained))
    every = np.vstack([np.empty((0, true.shape[1])), *guesses.values()]) - mean
    whole = every[~np.isnan(every[:, spread > 0]).any(axis=1)]
    ways = {name: X - mean for name, X in guesses.items()} | {"all together": every}
    ways = {name: X[~np.isnan(X[:, spread > 0]).any(axis=1)] for name, X in ways.items()}
    guess = guess_of_each(members, whole, spread)
    best = np.where(guess[:, None] >= 0, whole[guess] if len(whole) else 0.0, 0.0)
    off = (np.nan_to_num(true[trained] - mean) - best)[:, spread > 0] / spread[spread > 0]
    result = Attack(
        rows=int(trained.sum()),
        test_rows=int((~trained).sum()),
        attempts={name: reconstructed(members, X, spread) for name, X in ways.items()},
        by_chance={name: reconstructed(non_members, X, spread) for name, X in ways.items()},
        determined=determined_by_hessians(record, sites),
        cells=_cells(members, every, spread),
        unknown=members.size,
        error=float(np.sqrt(np.mean(np.square(off)))),
        membership=membership(members, non_members, whole, spread),
    )
    if level != "perturbed":
        return result
    copy = whole_copy(sites)
    result = replace(result, copy=copy, error=copy.filtered_distance, membership=copy.membership)
    hit = np.flatnonzero(trained)[guess >= 0]
    if not len(hit):
        return result
    nothing, ends = np.full(true.shape, np.nan), np.cumsum([len(site.true) for site in sites])[:-1]
    of_found, of_copies = nothing.copy(), nothing.copy()
    of_found[hit], of_copies[hit] = whole[guess[guess >= 0]] + mean, seen[hit]
    apart = [distance(sites, np.split(X, ends)) for X in (of_found, of_copies)]
    return replace(result, found_distance=apart[0], found_copy_distance=apart[1])


def determined_by_hessians(record: Sequence[TranscriptSum], sites: Sequence[SiteRecords]) -> int | None:
    """Return the number of training records that the Hessians of one model determine to 10 %; None if unknown."""
    knowledge, seen = knowledge_of(record), np.vstack([site.seen[site.trained] for site in sites])
    if knowledge is None or knowledge.rows != len(seen) or seen.size > MOST_FITTED:
        return None
    return determined(knowledge, knowledge.known.seen(seen))[1]


def _cells(truth: Floats, guesses: Floats, spread: Floats) -> int:
    """Return the number of reconstructed cells of true rows, those of partial rows too."""
    known, varied = np.zeros(truth.shape, dtype=np.bool_), spread > 0
    given = ~np.isnan(guesses)
    for features in np.unique(given, axis=0):
        if (features & varied).sum() >= min(FEWEST_COLUMNS, varied.sum()):
            of_these = guesses[(given == features).all(axis=1)][:, features]
            hit = guess_of_each(truth[:, features], of_these, spread[features]) >= 0
            known[np.ix_(hit, features)] = True
    return int(known.sum())

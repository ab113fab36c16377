"""Level `perturbed`: true records beside their copies, and the strongest attack on all copies.

Nothing that leaves a site depends on a record but through its copy. So an attacker who is given the whole copy, and
knows mean, deviation and covariance of the columns besides, has more than any run, or any number of runs, can yield.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clients.ledger.lasting_split import key_of
from clients.perturb.copy import public_classes
from clients.perturb.draws import PerturbedTerms, canonical, units_of
from clients.perturb.kept import GROUP_OF, SHARES
from clients.perturb.settling import settled_of
from clients.site import Site
from clients.table.opening import label_column
from clients.table.source import schema_of
from clients.table.table import align
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.terms import replaced_share
from simulations.attack.findings import area


@dataclass(frozen=True)
class SiteRecords:
    """The records of a site and the copies that its systems see, row for row, in the table's units."""

    true: Floats  # (rows, columns): the true records
    seen: Floats  # (rows, columns): their copies, at another level the records
    # (rows, columns): the true records, but a measurement beyond the ends of copies is the end.
    within: Floats
    at_end: Bools  # (rows, columns): copies that were pulled in to an end
    trained: Bools  # (rows,): which rows have a part in the training
    measured: Bools  # (rows, columns): which cells are measurements; the others are codes
    mean: Floats  # (columns,): of each column's measurements, as the site has settled it; of codes that of its cells
    deviation: Floats  # (columns,): so too
    noise: float  # of the copies, in deviations
    ratio: float  # largest likelihood ratio of two values of a code, given its copy


def records_of(site: Site) -> SiteRecords:
    """Return a site's records; it has received the schema."""
    columns = [name for name, held in zip(site.schema().columns, site.own_columns(), strict=True) if held]
    table, seen = replace(site, level="exact").table(), align(site.table(), columns).X
    true, noise, schema = align(table, columns).X, site.terms.noise, schema_of(site)
    r, ratio = replaced_share(noise), 1.0
    how = PerturbedTerms(noise, site.policy.min_cluster, public_classes(site))
    # At another level there is no copy, and nothing is settled of it: what it would be with some key.
    key = key_of(site) if site.level == "perturbed" else bytes(32)
    kept = settled_of(table, label_column(site), schema, how, key)
    (measured, at_end), within = np.zeros((2, *true.shape), dtype=np.bool_), true.copy()
    mean, deviation = np.nanmean(true, axis=0), np.nanstd(true, axis=0)
    for unit, column in zip(units_of(table, schema), kept.features, strict=True):
        shares = np.mean(np.array(column.shares)[GROUP_OF], axis=0)[column.listed] / SHARES
        if len(shares) > 1:
            ratio = max(ratio, float(((1 - r + r * shares) / (r * shares)).max()))
        name = table.columns[unit.places[0]]
        if column.measured and name in columns:
            index = columns.index(name)
            mean[index], deviation[index] = column.mean, column.deviation
            cells = true[:, index]
            rows = measured[:, index] = ~np.isnan(cells) & ~np.isin(canonical(cells), column.values)
            within[rows, index] = cells[rows].clip(column.low, column.high)
            at_end[:, index] = np.isin(seen[:, index], [column.low, column.high])
    trained = _row_mask(seen, site.train().X)
    return SiteRecords(true, seen, within, at_end, trained, measured, mean, deviation, noise, ratio)


@dataclass(frozen=True)
class WholeCopy:
    """The figures of an attack on all copies."""

    noise: float  # in deviations of a column
    # copy_distance, filtered_distance: root mean square distance of measurements from the true ones: of the
    # copies, and of the best linear guess.
    copy_distance: float
    filtered_distance: float
    # Share of codes that are right in the copy; no guess is right more often. None without codes.
    codes_right: float | None
    # How much likelier the copy of a code is with one true value than with another, at most.
    likelihood_ratio: float
    # AUC of membership inference by the nearest copy. None without test records.
    membership: float | None

    def __str__(self) -> str:
        """Return the text for people."""
        codes = "" if self.codes_right is None else f"; {self.codes_right:.0%} of its codes are right"
        member = "" if self.membership is None else f"; membership is inferred with AUC {self.membership:.2f}"
        return (
            f"the whole copy, which is the most that can leave: it is {self.copy_distance:.2f} deviations from the "
            f"true measurements, the best linear guess {self.filtered_distance:.2f}{codes} (likelihood ratio of two "
            f"values at most {self.likelihood_ratio:.0f}){member}"
        )


def whole_copy(sites: Sequence[SiteRecords]) -> WholeCopy:
    """Return the figures of an attacker who has all sites' copies and the columns' covariance."""
    true, copy = (np.vstack([getattr(site, name) for site in sites]) for name in ("true", "seen"))
    trained = np.concatenate([site.trained for site in sites])
    measured = np.vstack([site.measured for site in sites])
    right = (canonical(true) == canonical(copy)) | (np.isnan(true) & np.isnan(copy))
    return WholeCopy(
        noise=sites[0].noise,
        copy_distance=distance(sites, [site.seen for site in sites]),
        filtered_distance=distance(sites, filtered(sites)),
        codes_right=float(right[~measured].mean()) if not measured.all() else None,
        likelihood_ratio=max(site.ratio for site in sites),
        membership=area(*(_nearest_copy(true[rows], copy[trained], sites) for rows in (trained, ~trained))),
    )


def _nearest_copy(true: Floats, copies: Floats, sites: Sequence[SiteRecords]) -> Floats:
    """Return the log likelihood of each true record's likeliest copy, but for a constant, shape (rows,)."""
    noise, r = sites[0].noise, replaced_share(sites[0].noise)
    measured = np.any([site.measured.any(axis=0) for site in sites], axis=0)
    deviation = np.mean([_units(site) for site in sites], axis=0)
    unlikely = np.zeros((len(true), len(copies)))
    for index, (of_true, of_copies) in enumerate(zip(true.T, copies.T, strict=True)):
        share = 1.0 / len(np.unique(of_copies))
        differ = (of_true[:, None] != of_copies) & ~(np.isnan(of_true)[:, None] & np.isnan(of_copies))
        cost = differ * np.log((1 - r + r * share) / (r * share))
        if measured[index]:
            apart = (of_true[:, None] - of_copies) / deviation[index]
            cost = np.where(np.isnan(apart), cost, np.square(apart) / (2 * noise**2))
        unlikely += cost
    return -unlikely.min(axis=1) if unlikely.size else np.empty(0)


def distance(sites: Sequence[SiteRecords], guesses: Sequence[Floats]) -> float:
    """Return the root mean square distance of guesses from the true measurements, in deviations; 0 without any.

    Cells with a copy at an end do not count: their true values are likely to be beyond, by an unknown amount.
    """
    parts = [
        ((guess - site.true) / _units(site))[site.measured & ~site.at_end & ~np.isnan(guess)]
        for site, guess in zip(sites, guesses, strict=True)
    ]
    off = np.concatenate(parts)
    return float(np.sqrt(np.mean(np.square(off)))) if len(off) else 0.0


def filtered(sites: Sequence[SiteRecords]) -> list[Floats]:
    """Return the best linear guess of each site's records from their copies (Wiener 1949).

    A measurement's copy has noise of variance σ². That of a code is drawn anew with probability r: (1 - r) of the code
    is left, and as much variance as before.
    """
    Z = np.vstack([np.nan_to_num((site.within - site.mean) / _units(site)) for site in sites])
    C = Z.T @ Z / len(Z)
    guesses = []
    for site in sites:
        measured, r = site.measured.any(axis=0), replaced_share(site.noise)
        kept = np.where(measured, 1.0, 1.0 - r)
        noise = np.where(measured, site.noise**2, np.diag(C) * (1.0 - kept**2)) + 1e-9
        W = np.linalg.solve(kept[:, None] * C * kept + np.diag(noise), kept[:, None] * C)
        z = np.nan_to_num((site.seen - site.mean) / _units(site))
        guesses.append((z @ W) * _units(site) + site.mean)
    return guesses


def _units(site: SiteRecords) -> Floats:
    """Return the deviations, 1 for a constant column."""
    return np.where(site.deviation > 0, site.deviation, 1.0)


def _row_mask(rows: Floats, some: Floats) -> Bools:
    """Return the mask of ``some`` of the rows, which are in any order: systems see copies in a keyed one."""
    left = Counter(map(_as_bytes, some))
    mask = np.zeros(len(rows), dtype=np.bool_)
    for index, row in enumerate(map(_as_bytes, rows)):
        mask[index] = left[row] > 0
        left[row] -= 1
    return mask


def _as_bytes(row: Floats) -> bytes:
    """Return bytes that are the same for equal rows: missing cells are equal, and zeros of either sign."""
    return (np.where(np.isnan(row), np.nan, row) + 0.0).tobytes()

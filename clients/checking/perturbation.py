"""What level `perturbed` is worth on a table: how near an attacker comes to its cells and records, noise or not."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from clients.checking.cells import FEW
from clients.checking.finding import Finding, note, warning
from clients.checking.labels import telling_columns
from clients.patients import count_patients, patient_numbers
from clients.perturb import PerturbedTerms, perturbed_table
from clients.perturb.draws import unit_cells, units_of
from clients.perturb.kept import FEWEST_RECORDS, RANGE_SHARE, settled_column
from clients.table.table import LABEL, Table, columns_text
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.table_schema import CATEGORY, TableSchema
from flower_pansvm.terms import MIN_CLUSTER, replaced_share

SIGMAS = (0.25, 0.5)
"""The noises at which findings judge the level: the default of runs, and that of hospitals."""

TWO_COPIES = 0.5**0.5
"""Share of the noise that is left in the mean of two independent copies. A column of which a guess is as near follows
others, which are as good as a second copy of it."""

NOTHING = 0.5
"""Share of the noise at which level perturbed is called worthless. It is what the mean of four independent copies has:
three quarters of the noise's variance are gone. In the benchmark `filters`, 16 tables with fewer columns than rows keep
more, and four tables of genes less than half of that."""

SURELY = 0.9
"""AUC of telling who took part above which level perturbed is called weak."""

SECOND_LABELS = 1 - replaced_share(SIGMAS[0]) / 2
"""Balanced accuracy from which on a column counts as a second copy of the labels: what the first copy has of two
classes that are as frequent, with the noise of most runs."""

MUCH_MORE = 2.0
"""How many times the noise of a column may be what it would be without a range."""

MANY_ROWS = 1.5
"""Rows of a patient on average from which on it is said that they have as many copies."""

RARE = 0.1
"""Part of an even share of the records below which a class is rare: one in twenty where there are two."""

MOST_CELLS = 2_000_000
"""Cells of the records that are looked at; of a larger table they are drawn at random."""

MOST_COLUMNS = 1000
"""Columns that are looked at, drawn at random from more: all of them tell no less than some."""

SMALL = 100
"""Records below which half of them say little: their copies are of a smaller table, with ends farther in."""

MOST_TRIED = 1000
"""Records that had part, and as many that had none, whose nearest copy is looked for."""

TIMES, TIMES_WIDE, WIDE = 10, 4, 10_000
"""How often copies of a small table are made, and of one of more cells than this."""


def level_findings(table: Table, schema: TableSchema | None, noise: float = SIGMAS[-1]) -> Iterator[Finding]:
    """Yield the worth of level perturbed on a table of true records, and its unexpected effects.

    Nothing is said of the worth if no columns differ. The schema says which columns of 0 and 1 are one category. The
    level is called weak where it is with this noise, the least that the hospital allows.
    """
    looked_at, columns = _sample(table, schema)
    if len(table.X) < FEWEST_RECORDS:
        yield warning(
            f"Level perturbed is weak on this table: of fewer than {FEWEST_RECORDS} records a hospital begins no copy.",
        )
    elif columns.any():
        yield _worth_finding(looked_at, schema, columns, len(table.columns), noise)
    described = units_of(table, schema)[:MOST_COLUMNS]
    cells_by = ((unit, unit_cells(table.X, unit)) for unit in described if unit.ends)
    wide = [unit.name for unit, x in cells_by if _deviation(x, unit.ends) > MUCH_MORE * _deviation(x)]
    if wide:
        yield warning(
            f"The schema file's range of {columns_text(wide)} is far wider than what the rows hold. Level perturbed "
            f"takes {RANGE_SHARE:.0%} of it for the deviation by which noise is measured, for good, and little is left "
            "of such a column. Narrow the range before the first run, at all sites.",
        )
    if table.ids is None:
        yield note(
            "The table is read without row ids. At level perturbed, a record that is corrected gets a second copy, and "
            "an attacker takes the mean of both. If a column holds an id of each row, a hospital names it as row-id in "
            "its node config.",
        )
    _, counts = np.unique(table.labels if table.labels is not None else [], return_counts=True)
    replaced, counts = np.count_nonzero(counts < MIN_CLUSTER), counts[counts >= MIN_CLUSTER]
    if replaced and not (schema and schema.classes):
        yield warning(
            f"{replaced} labels are of fewer than {MIN_CLUSTER} rows. At level perturbed these rows get another label, "
            "unless the schema file or the node config lists the classes.",
        )
    if table.labels is not None:
        cells = ((unit.name, unit_cells(table.X, unit)) for unit in described)
        telling = telling_columns(cells, table.labels, SECOND_LABELS)
        if telling:
            yield warning(
                f"At level perturbed {columns_text(telling)} is as good as a second copy of the labels, and where both "
                "copies agree the label is nearly certain. Leave out a column that was written down after the outcome.",
            )
    # Of those that have a class's label in the copy r (1 - p) are of others, p being the class's share: nearly r.
    rare = np.count_nonzero(counts < RARE * counts.sum() / max(len(counts), 1))
    if rare:
        wrong = " and ".join(f"{replaced_share(noise):.0%}" for noise in SIGMAS)
        yield warning(
            f"{rare} of the classes {'is' if rare == 1 else 'are'} rare. At level perturbed, of the records that have "
            f"such a label in the copy about {wrong} are of another class, where noise is {_both(SIGMAS)}; as "
            "many of the class have another label.",
        )


def _sample(table: Table, schema: TableSchema | None) -> tuple[Table, Bools]:
    """Return some columns of some rows, both drawn at random, of a small table all; and which of them count.

    Where patients are too few no column counts.
    """
    generator = np.random.default_rng(0)
    units = units_of(table, schema)
    chosen = [
        index for unit in generator.permutation(len(units))[:MOST_COLUMNS] for index in units[unit].places
    ]
    places = np.sort(chosen)
    whose = patient_numbers(table)
    order = np.argsort(generator.permutation(count_patients(whose))[whose], kind="stable")
    rows = order[: max(FEW, MOST_CELLS // len(places))]  # whole patients, but for one
    names = tuple(table.columns[index] for index in places)
    sample = replace(table, columns=names, X=table.X[np.ix_(rows, places)], labels=None, ids=None)
    if table.patients is not None:
        sample = replace(sample, patients=table.patients[rows])
    # Of a category the other features tell the first, and all have one noise.
    known = schema.columns if schema else ()
    first = {column.features[0] for column in known if column.kind == CATEGORY}
    enough = count_patients(patient_numbers(sample)) >= FEW
    return sample, varying_columns(sample.X) & ~np.isin(names, list(first)) & enough


def _worth_finding(
    table: Table, schema: TableSchema | None, columns: Bools, all_columns: int, noise: float
) -> Finding:
    """Return how well the level, with at least this noise, hides a table, of which `_sample` has taken some columns."""
    shown = 0 if noise < SIGMAS[-1] else -1
    Z, whose = standardised(table.X[:, columns]), patient_numbers(table)
    errors = np.array([filter_errors(Z, sigma, whose) for sigma in SIGMAS])
    overall = np.sqrt(np.mean(errors**2, axis=1))
    aucs = [membership_auc(table, schema, sigma) for sigma in SIGMAS]
    true = " and ".join(f"{1 - replaced_share(sigma):.0%}" for sigma in SIGMAS)
    figures = (
        f"At noise {_both(SIGMAS)} an attacker who knows the correlations of the columns estimates a cell with a "
        f"root mean square error of {_both(overall)} standard deviations. An attacker who knows a record tells by the "
        f"nearest copy whether it took part: AUC {_both(aucs)}, where 0.5 is guessing. A code in the copy, a rare one, "
        f"too, is the true one with at least {true}."
    )
    if (rows := len(Z) / count_patients(whose)) >= MANY_ROWS:
        figures += (
            f" A patient has {rows:.3g} rows on average: what they share, a label or a code, too, has as many copies, "
            "of which the mean or most tell it. Fewer rows of each, as one, protect more."
        )
    if len(table.columns) < all_columns:
        figures += f" That is by {len(table.columns)} of its {all_columns} columns; all of them tell more."
    share = overall[shown] / SIGMAS[shown]
    if share < NOTHING:
        return warning(
            "Level perturbed is worth little on this table, or nothing: its columns are strongly correlated, or "
            "many for so few records, as genes are, or the same in a patient's many rows. "
            f"{figures} Use level dp, with fewer columns than rows.",
        )
    near = errors[shown] <= TWO_COPIES * SIGMAS[shown]
    names = [table.columns[index] for index in np.flatnonzero(columns)[near]]
    more = f" Less protected, as others or other rows tell them: {columns_text(names)}." if names else ""
    if share <= TWO_COPIES or aucs[shown] > SURELY:
        return warning(f"Level perturbed is weak on this table. {figures}{more}")
    return note(f"Level perturbed. {figures}{more}")


def guessing_error(table: Table, schema: TableSchema | None, noise: float) -> float:
    """Return how far off the best linear guess of a cell is, in deviations; the noise without columns to guess by."""
    looked_at, columns = _sample(table, schema)
    if not columns.any():
        return noise
    Z = standardised(looked_at.X[:, columns])
    return float(np.sqrt(np.mean(filter_errors(Z, noise, patient_numbers(looked_at)) ** 2)))


def _both(values: tuple[float, ...] | list[float] | Floats) -> str:
    return " and ".join(f"{value:.2f}" for value in values)


def varying_columns(X: Floats) -> Bools:
    """Return the mask of columns with two different numbers, shape (columns,)."""
    return np.array([len(np.unique(cells[~np.isnan(cells)])) > 1 for cells in X.T], dtype=np.bool_)


def standardised(X: Floats) -> Floats:
    """Return columns less their means, in the deviations by which noise is measured, a missing cell as 0."""
    Z: Floats = np.nan_to_num((X - np.nanmean(X, axis=0)) / [_deviation(cells) for cells in X.T])
    return Z


def _deviation(cells: Floats, ends: tuple[float, float] | None = None) -> float:
    middle = np.full(2, 2**63, np.uint64)  # of which no noise is made
    column = settled_column(cells, 0, ends, MIN_CLUSTER, repeat(0), lambda _: middle)
    return column.deviation if column.measured else float(np.nanstd(cells))


def filter_errors(Z: Floats, noise: float, whose: Ints) -> Floats:
    """Return the root mean square error of the best linear guess of each column from noisy ones, shape (columns,).

    With the covariance C of standardised columns, and noise of variance σ² in each, it is the root of the diagonal of
    C - C (C + σ² I)^-1 C (Wiener 1949). C is that of these very records: a bound, which an attacker comes near to where
    rows are many more than columns. Where they are not, it takes a large table of the same columns from elsewhere.
    The means of each patient's rows, times the root of their number, and what rows differ from them have a C each.

    Parameters
    ----------
    Z : ndarray of shape (rows, columns)
        The standardised columns.
    noise : float
        σ, in deviations.
    whose : ndarray of shape (rows,)
        Number of each row's patient, from 0.

    Examples
    --------
    Columns that have nothing to do with each other give σ / sqrt(1 + σ²); a column that is there twice, less.

    >>> Z = np.array([[1.0, 1, 1], [1, 1, -1], [-1, -1, 1], [-1, -1, -1]])
    >>> filter_errors(Z, 0.5, np.arange(4)).round(3).tolist()
    [0.333, 0.333, 0.447]

    So does one that is the same, or the opposite, in two rows of each patient.

    >>> filter_errors(Z, 0.5, np.array([0, 0, 1, 1])).round(3).tolist()
    [0.243, 0.243, 0.333]
    """
    rows = np.bincount(whose)
    sums = np.zeros((len(rows), Z.shape[1]))
    np.add.at(sums, whose, Z)
    left = np.zeros(Z.shape[1])
    for part, many in (
        (sums / np.sqrt(rows)[:, None], len(rows)),
        ((Z - (sums / rows[:, None])[whose]), len(Z) - len(rows)),
    ):
        if many:
            # The triangle has the same singular values and axes; genes have fewer rows than columns anyway.
            triangle = np.linalg.qr(part, mode="r") if len(part) > part.shape[1] else part
            _, singular, axes = np.linalg.svd(triangle, full_matrices=False)
            variances = singular**2 / many
            left += many * ((variances * noise**2 / (variances + noise**2)) @ axes**2)
    errors: Floats = np.sqrt(left / len(Z))
    return errors


def membership_auc(table: Table, schema: TableSchema | None, noise: float) -> float:
    """Return how well an attacker who knows records tells those with a copy from others, by the nearest copy.

    Half of a table's patients get copies, with a key of no hospital's; of a small one all but a tenth, ten times
    over, or a wide one four times.
    The attacker goes by the distance to the nearest copy, or by how much nearer it is than the second: by what tells
    more. 0.5 is guessing, 1 is always right.
    """
    columns, whose = varying_columns(table.X), patient_numbers(table)
    patients = count_patients(whose)
    mean, deviation = np.nanmean(table.X[:, columns], axis=0), np.nanstd(table.X[:, columns], axis=0)

    def scaled(X: Floats) -> Floats:
        Z: Floats = np.nan_to_num((X[:, columns] - mean) / deviation)
        return Z

    def scores(others: Bools, key: bytes) -> tuple[Bools, Floats]:
        of_members = None if table.patients is None else table.patients[~others]
        members = replace(table, X=table.X[~others], patients=of_members)
        copy = perturbed_table(members, LABEL, schema, PerturbedTerms(noise), key).X
        nearest = NearestNeighbors(n_neighbors=2).fit(scaled(copy))
        tried = [members.X[:MOST_TRIED], table.X[others][:MOST_TRIED]]
        first, second = np.concatenate([nearest.kneighbors(scaled(X))[0] for X in tried]).T
        nearer = np.divide(first, second, out=np.ones_like(first), where=second > 0)
        return np.arange(len(first)) < len(tried[0]), np.stack([first, nearer])

    if patients >= SMALL:
        parts = [scores(whose >= patients // 2, bytes(32))]
    else:
        times = TIMES if table.X.size <= WIDE else TIMES_WIDE
        parts = [scores(whose % TIMES == rest, bytes([rest] * 32)) for rest in range(times)]
    took_part, distances = np.concatenate([part[0] for part in parts]), np.hstack([part[1] for part in parts])
    return float(max(roc_auc_score(took_part, -score) for score in distances))

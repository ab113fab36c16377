"""What a hospital keeps for the copy of its table at level `perturbed`: what was settled of it at first use, and marks.

It is in the table's ledger (:mod:`clients.ledger.ledger`), so that the table has the same copy from each of its
hospital's folders, and a lost key is an error and not a second copy of each record.

What is settled shows in every copy and averages out, so it must not tell a record either. It comes from the schema file
(range, categories, classes) where that says it; else it is a count with geometric noise (ε = 1), a deviation with noise
as large as its sampling error, or it is computed from copies, which tell nothing that the copies do not.
"""

import hmac
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from clients.ledger.ledger import LINK_FILE, Ledger, change_ledger, read_link
from clients.perturb.marks import Marks, Words, from_hex
from clients.perturb.rules import LACKED
from clients.state_folder import write_checked
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import BudgetError, TableError
from flower_pansvm.labels import MOST_CLASSES
from flower_pansvm.privacy.discrete_noise import Bits, discrete_laplace
from flower_pansvm.secure_sum import tags

FEW_VALUES = 10  # of a column of codes, so many records at most have none of its most frequent values
FEWEST_RECORDS = 30  # of which a hospital's copy can be begun: fewer would settle deviations for good
COUNT_NOISE = 1  # scale of a settled count's geometric noise: a record makes it at most e times as likely
MOST_NOISY = 2**12  # values of a column whose counts get noise: with more, it holds measurements anyway
PRIOR_NOISE = 20  # of the counts from which codes of the first copies are drawn
FARTHEST = 4.0  # deviations: a measurement farther from the mean counts as this far
GROUP_OF = np.array([0, 1, 1, 2, 2, 2, 2, 2])  # the group of a record by three bits of its word
SHARES = 2**20  # what the shares of a column add up to
# Their places in a column's measurements are kept, to make up others.
NORMAL_QUANTILES = np.linspace(-2.5, 2.5, 11)
RANGE_SHARE = 0.02  # of a public range, which a deviation is at the least


@dataclass(frozen=True)
class KeptColumn:
    """What is settled of a column: its codes, mean, deviation and ends, and what drawn ones are drawn from.

    ``shares`` has a row for each group of records, see `clients.perturb.shares`: how often each code is drawn, then a
    missing cell, then a measurement; 0 for what the column does not have. ``quantiles``, so too, are of measurements.
    """

    values: Sequence[Any]
    missing: bool = False
    measured: bool = False
    mean: float = 0.0
    deviation: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    floor: float = 0.0  # least share of what the column has, if a noisy count said so
    public: bool = False  # whether all its codes are public
    shares: Sequence[Sequence[int]] = ()
    quantiles: Sequence[Sequence[float]] = ()

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which codes the column has, then whether missing cells, then whether measurements."""
        return np.array([*[True] * len(self.values), self.missing, self.measured])


@dataclass(frozen=True)
class Kept:
    """The copy's key, a digest of the columns, what is settled of each, and marks of some records."""

    key: str = field(repr=False)
    columns: str = ""
    features: Sequence[KeptColumn] = ()
    units: dict[str, str] = field(default_factory=dict)  # that the schema file named first, by column
    labels: dict[str, KeptColumn] = field(default_factory=dict)  # by the first name of the label column
    names: dict[str, str] = field(default_factory=dict)  # this first name by the plain name of a label column
    marks: Marks = field(default_factory=Marks)

    def secret(self, label: str | None = None) -> bytes:
        """Return the key of the draws for the features or for a label column, which depends on their settled values."""
        columns = self.features if label is None else [self.labels[label]]
        settled = [[list(c.values), c.missing, c.measured, c.mean, c.deviation] for c in columns]
        return self.derive(tags.PERTURBED, json.dumps([label, *settled]))

    def derive(self, tag: bytes, about: str) -> bytes:
        """Return another key of this key, for one use."""
        return hmac.digest(bytes.fromhex(self.key), tags.join_fields(tag, about.encode()), "sha256")

    def check_columns(self, columns: str, units: dict[str, str]) -> None:
        """Check that the table has the columns and units that its copy was begun with; else TableError."""
        if self.columns != columns:
            raise TableError(
                "The table does not have the columns that its copy for level perturbed was begun with, or its schema "
                "file reads rows or cells otherwise, and records would get a second copy. Put the columns back, leave "
                "new ones out (leave-out in the schema file, or drop), and put back in the schema file kinds, "
                "categories, what is missing or below a limit, and [reading]. A new category or code for missing cells "
                "has to be an empty cell. The node config may say how the file is written now, but for 'missing' and "
                "'thousands'. Only a person can end the copy (pansvm budget --help says what that costs)."
            )
        for name, unit in units.items():
            if self.units.get(name, unit).casefold() != unit.casefold():
                raise TableError(
                    f"The schema file says another unit for column '{name}' than when its table was first used at "
                    f'level perturbed, and converted cells would get a second copy. Write unit = "{self.units[name]}" '
                    "and export the column in it; the coordinator's schema file has to say the same. Only a person "
                    "can end the copy (pansvm budget --help)."
                )


def update_kept(folder: Path, update: Callable[[Kept, Ledger], Kept]) -> Kept:
    """Return the kept values of a hospital's table after a function has checked them, and added those not settled yet.

    BudgetError if the table's ledger is missing, damaged or of an older kind, or the table was not looked at when the
    run was joined.
    """

    # Two processes may be the first at the same time, but only one at a time changes a ledger.
    def change(ledger: Ledger) -> Ledger:
        content = asdict(update(kept_of(ledger), ledger))
        del content["key"]
        return replace(ledger, copy=content)

    ledger = change_ledger(folder, change)
    if (link := read_link(folder)) != (seen := replace(link, copies=ledger.copies)):
        write_checked(folder / LINK_FILE, asdict(seen))
    return kept_of(ledger)


def kept_of(ledger: Ledger) -> Kept:
    """Return a ledger's kept values of its table's copy, before the first the key alone; BudgetError if damaged."""
    about = tags.join_fields(tags.PERTURBED, str(len(ledger.copies_ended)).encode())
    key = hmac.digest(bytes.fromhex(ledger.key), about, "sha256").hex()
    if not ledger.copy:
        return Kept(key)
    try:
        content = {**ledger.copy, "marks": Marks(**ledger.copy["marks"])}
        content["features"] = [KeptColumn(**column) for column in content["features"]]
        content["labels"] = {name: KeptColumn(**column) for name, column in content["labels"].items()}
        kept = Kept(key, **content)
        _check_kept(kept)
        return kept
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError):
        raise BudgetError(
            "What the ledger keeps of this table's copy for level perturbed is damaged, or of another version of "
            "flower-pansvm, whose copy this one cannot make. Install that version again, or put a backup of "
            "pansvm/tables back. Else only a person can end the copy: pansvm budget --end-copy STATE_FOLDER; the next "
            "one is a second copy of each record (pansvm budget --help says what it costs)."
        ) from None


def _check_kept(kept: Kept) -> None:
    """Check that all is of the kinds and shapes that a copy is made of; ValueError, TypeError or the like if not."""
    first, last, labels = kept.marks.first, kept.marks.last, kept.marks.labels
    marks = [(first, len(kept.features)), (last, len(kept.features)), *((m, 1) for m in labels.values())]
    right = (
        bool(first and last)
        and kept.marks.rows >= 0 <= min(kept.marks.moved, kept.marks.swapped, *kept.marks.again)
        and len(kept.marks.again) == len(LACKED)
        and {**first, **last}.keys() == kept.marks.like.keys()
        and all(len(counts) == len(LACKED) and min(counts) >= 0 for counts in kept.marks.like.values())
        and kept.labels.keys() == {*kept.names.values()} <= labels.keys() <= kept.names.keys()
    )
    for texts_of, cells in marks:
        from_hex([*texts_of])
        right &= all(len(bytes.fromhex(text)) == 2 * cells for text in texts_of.values())
    for column in [*kept.features, *kept.labels.values()]:
        shares, quantiles = np.array(column.shares), np.array(column.quantiles)
        many = int(GROUP_OF.max()) + 1
        right &= shares.dtype.kind == "i" and shares.shape == (many, len(column.listed))
        right &= bool((shares >= 0).all() and (shares.sum(axis=-1) == SHARES).all())
        right &= not column.measured or quantiles.shape == (many, len(NORMAL_QUANTILES))
        right &= column.deviation > 0 and column.low <= column.high
        right &= math.isfinite(column.mean + column.deviation) and {column.missing, column.measured} <= {0, 1}
    right &= all(np.isfinite(np.array(column.values, np.float64)).all() for column in kept.features)
    texts = [kept.columns, *kept.units.values()]
    texts += [value for column in kept.labels.values() for value in column.values]
    if not right or not all(isinstance(text, str) for text in texts):
        raise ValueError("It is damaged.")


def noise_of_counts(bits: Bits) -> Iterator[int]:
    """Yield the noise of settled counts, one after the other."""
    while True:
        yield from discrete_laplace(COUNT_NOISE, 2**12, bits)


def normal_of(words: Words) -> Floats:
    """Return a standard normal number for each random word, from its 52 high bits."""
    numbers: Floats = ndtri(((words >> np.uint64(12)) + 0.5) * 2.0**-52)
    return numbers


def settled_column(
    cells: Floats, codes: int, ends: tuple[float, float] | None, least: int, noise: Iterator[int], bits: Bits
) -> KeptColumn:
    """Return a column's settled values from its true cells, each number with noise.

    Parameters
    ----------
    cells : ndarray of shape (rows,)
        NaN is missing.
    codes : int
        How many codes it has by the schema file, 0, 1, …: all of them are public. 0 if the file does not say.
    ends : tuple of float or None
        Its public range.
    least : int
        Records that a code has to have, and so many have to share either end of the measurements.
    noise : iterator of int
        Geometric noise of counts.
    bits : callable
        Random words for the normal noise of deviation and mean.

    Notes
    -----
    Which codes the column has, and whether missing cells and measurements, all follows from one histogram with noise:
    how often each value occurs, and no value. One record more makes any of it e times as likely at most. A value of one
    record alone is listed with a chance of 1.3 % with a ``least`` of 5. So a code is drawn at least with the share of 3
    times ``least`` records: the ratio of likelihoods is that of a code of ``least`` records, listing included. A public
    code is listed in any case, and needs a third of that share.
    """
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    missing, floor = int(np.isnan(cells).sum() + next(noise)), 3 * least / len(cells)
    if codes:
        return KeptColumn([*map(float, range(codes))], missing >= least, floor=floor, public=True)
    often, noisy = np.argsort(counts, kind="stable")[-MOST_NOISY:], counts.astype(np.int64)
    noisy[often] += np.fromiter(islice(noise, len(often)), np.int64)
    noisy = noisy.clip(0)
    listed, there = noisy >= least, int(noisy.sum())
    rare = int(noisy[~listed].sum())
    others = np.sort(noisy)[:-FEW_VALUES].sum()
    column = KeptColumn([], floor=floor)
    # Where most cells have no frequent value, as in few records, they are measurements, too.
    if others > min(FEW_VALUES, there / 3) or there < 2 * rare:
        # Where most cells are the same number, as 0 of a sparse column, this is a code beside the measurements.
        common = noisy > there / 2
        if there - noisy[common].sum() >= 2 * least:
            x = np.repeat(values[~common], counts[~common])
            column = _measured(replace(column, values=values[common].tolist()), x, ends, normal_of(bits(2)))
    if not column.measured:
        column, missing = replace(column, values=values[listed].tolist()), missing + rare
    return replace(column, missing=missing >= least or not (column.values or column.measured))


def _measured(column: KeptColumn, x: Floats, ends: tuple[float, float] | None, normal: Floats) -> KeptColumn:
    """Return a column with mean and deviation of its measurements; without them if they do not differ."""
    low, high = ends or (-math.inf, math.inf)
    # Before ends are pulled in: a range that is too narrow would leave hardly any noise.
    (mean, deviation), many = moments_of(x), len(x)
    if deviation == 0:
        return KeptColumn([], floor=column.floor)
    # As much noise as the sampling error. What it tells of a measurement 4 deviations away is paid by more noise there.
    deviation *= (1 + FARTHEST / many) * math.exp(normal[0] / math.sqrt(2 * many))
    if ends is not None:
        deviation = max(deviation, RANGE_SHARE * (high - low))
    mean += deviation * normal[1] / math.sqrt(many)
    return replace(column, measured=True, mean=mean, deviation=deviation, low=low, high=high)


def moments_of(x: Floats) -> tuple[float, float]:
    """Return mean and deviation of numbers, those farther than `FARTHEST` deviations pulled in, again and again.

    A wrong cell such as 9999 would make noise of all others'.
    """
    before = math.inf
    while True:
        mean, deviation = float(x.mean()), float(x.std())
        if not 0 < deviation < before * 0.99:
            return mean, deviation
        before, far = deviation, FARTHEST * deviation
        x = x.clip(mean - far, mean + far)


def settled_labels(labels: NDArray[np.str_], classes: Sequence[str], least: int, bits: Bits) -> KeptColumn:
    """Return a label column's settled values: the public classes, and the labels of enough records.

    A label of enough records that is no class stays what it is, and its records have no part in a run.

    TableError if there are none.
    """
    names, counts = np.unique(labels, return_counts=True)
    enough = counts + discrete_laplace(COUNT_NOISE, len(names), bits) >= least
    listed = sorted({*classes, *names[enough].tolist()})
    if not 0 < len(listed) <= MOST_CLASSES:
        raise TableError(
            f"No label has {least} records, the site's min-cluster: too few for a copy that tells nothing of one "
            'record. List the classes in the schema file that all sites have, such as classes = ["0", "1"]: then '
            "they are public, however few records of a site have them."
        )
    return KeptColumn(listed, floor=3 * least / len(labels), public=bool(classes))

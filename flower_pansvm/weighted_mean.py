"""Sites' replies as one weighted mean: a reply of Flower's as the words of a secure sum, and the sum as a reply again.

A reply holds arrays, such as a model's weights, and metrics, one of which is the weight of all: the number of examples
that the site has trained on. In the sum goes each number times that weight, and the weight. Arrays have a bound, and
take one word a number, or half a word where the bounds are low enough; metrics and weight take five each and need none.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import number, parse, setting, text
from flower_pansvm.errors import SumError
from flower_pansvm.outside import parse_document
from flower_pansvm.records import Octets
from flower_pansvm.secure_sum.contract import Words
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.secure_sum.limbs import WIDE_LIMIT

GROUP = "pansvm-mean-"
"""How the groups of a message begin that belong to the secure sum and not to the app."""

SUM, KEYS, ALL_KEYS = f"{GROUP}sum", f"{GROUP}keys", f"{GROUP}all-keys"
PROTOCOL, MEAN, SITE = f"{GROUP}protocol", f"{GROUP}terms", f"{GROUP}site"
"""The groups: which sum, or a site's part in it; keys of a site, and of all; protocol and terms; what a site says."""

JOIN, STEP = "pansvm_mean_join", "pansvm_mean_step"
"""The actions of Flower's queries by which a site makes its keys, and takes a relay step."""

LONGEST_PARTS = 2**24  # characters of the names and shapes of a reply
METRIC = "metric"  # in place of an array's type
BLOCK = 2**16  # numbers that are encoded and decoded at a time, so that no copy of a large vector is made
NARROW_WEIGHTS = 2.0**12
"""Up to this product of the largest weight and the sites, two numbers share a word. A mean is off by less than
bound * sites * most_examples / 2**30 divided by the mean weight, so of weights of 1 by bound / 2**18."""

Part = tuple[str, str, str, tuple[int, ...]]
"""A number or array of a reply: its record, its key, its type, its shape."""


@dataclass(frozen=True)
class MeanTerms:
    """What coordinator and sites agree on beforehand; a site takes part only with its own. SettingError if one is bad.

    Parameters
    ----------
    bound : float
        Largest absolute value of a number in an array: a weight of the model.
    most_examples : float
        Largest weight of a site.
    weighted_by : str
        The metric by which the mean is weighted.
    """

    bound: float = setting(0.0, number(above=0, most=2.0**30), "Largest absolute value in an array.")
    most_examples: float = setting(2.0**24, number(above=0, most=2.0**30), "Largest weight of a site.")
    weighted_by: str = setting("num-examples", text(), "The metric that is the weight.")

    def __post_init__(self) -> None:
        parse(self)

    def narrow(self, sites: int) -> bool:
        """Tell whether two numbers share a word in a sum over so many sites."""
        return self.most_examples * sites <= NARROW_WEIGHTS


@dataclass(frozen=True)
class SiteTerms:
    """What a site says of itself when it joins, besides its keys."""

    name: str
    min_sites: int


@dataclass(frozen=True)
class MeanSum:
    """Which sum of the run a request is about: the number of its round, from 1."""

    number: int


@dataclass(frozen=True)
class SiteParts:
    """What a site answers: names, types and shapes of its reply's numbers, and the numbers under its masks."""

    parts: str
    payload: Octets


@dataclass(frozen=True)
class SiteReply:
    """The numbers of a site's reply."""

    parts: tuple[Part, ...]  # arrays first
    arrays: tuple[NDArray[np.generic], ...]
    metrics: Floats  # shape (numbers of all metrics but the weight,)
    weight: float


def read_reply(content: RecordDict, terms: MeanTerms) -> SiteReply:
    """Return what a reply holds; SumError if something is no number, above its bound, or has no weight."""
    weight = None
    arrays: list[tuple[Part, NDArray[np.generic]]] = []
    metrics: list[tuple[Part, Floats]] = []
    for name, record in content.items():
        if isinstance(record, ConfigRecord):
            raise SumError(
                f"The reply holds the ConfigRecord '{name}', of which there is no mean. Leave it out, or make metrics."
            )
        for key, value in record.items():
            if isinstance(value, Array):
                array = value.numpy()
                arrays.append(((name, key, str(array.dtype), array.shape), array))
                _check_array(key, array, terms)
            elif key == terms.weighted_by and isinstance(value, int | float):
                if weight not in (None, float(value)):
                    raise SumError(
                        f"The reply has '{key}' in two records, with different values, and a mean has one weight. "
                        "Give one of them another name."
                    )
                weight = float(value)
            else:
                numbers = np.asarray(value, dtype=np.float64)
                metrics.append(((name, key, METRIC, numbers.shape), numbers.ravel()))
    if weight is None:
        raise SumError(
            f"The reply has no metric '{terms.weighted_by}' that is a single number, by which the mean is weighted. "
            "Add it, or name another: weighted_by_key of the strategy, weighted_by of secure_client_app."
        )
    if not 0 <= weight <= terms.most_examples:
        raise SumError(
            f"'{terms.weighted_by}' is no number from 0 to {terms.most_examples:g}. Correct it; if a site can "
            "have more, set most_examples at both sides to the largest number."
        )
    values = np.concatenate([np.empty(0), *(numbers for _, numbers in metrics)])
    if not np.isfinite(values).all():
        raise SumError(
            "A metric of the reply is not finite. A mean with it would not be, either: a site without rows replies "
            "with 0, and a metric that may be infinite is left out by all sites."
        )
    if weight * float(np.abs(values).max(initial=0.0)) > WIDE_LIMIT:
        raise SumError(
            f"A metric of the reply, times '{terms.weighted_by}', is above {WIDE_LIMIT:.0e} in absolute value, which "
            "no sum can contain. Did the training diverge? If it may be so large, report its logarithm."
        )
    parts = (*(part for part, _ in arrays), *(part for part, _ in metrics))
    return SiteReply(parts, tuple(array for _, array in arrays), values, weight)


def check_bound(content: RecordDict, terms: MeanTerms) -> None:
    """Check all arrays before anything is trained from them: what begins above the bound most likely ends above it."""
    for record in content.array_records.values():
        for key, value in record.items():
            _check_array(key, value.numpy(), terms)


def _check_array(name: str, array: NDArray[np.generic], terms: MeanTerms) -> None:
    """Raise a SumError if an array holds no numbers, or one that is not finite or above the bound."""
    if array.dtype.kind not in "biuf":
        raise SumError(
            f"The array '{name}' holds no real numbers, so that there is no mean of it. Leave it out."
        )
    largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    if not math.isfinite(largest):
        raise SumError(
            f"The array '{name}' holds a number that is not finite. Did the training diverge? Lower its rate."
        )
    if largest > terms.bound:
        raise SumError(
            f"The array '{name}' holds a number above the bound {terms.bound:g}. Set a larger bound, in "
            "SecureAggregation and in secure_client_app; or clip the weights."
        )


def encode_reply(reply: SiteReply, terms: MeanTerms, sites: int) -> Words:
    """Return a reply's words for a sum over so many sites, shape (words,)."""
    bound, narrow = terms.bound * terms.most_examples, terms.narrow(sites)
    size = sum(array.size for array in reply.arrays)
    # Of two halves of a word the first is the lower one. What makes them positive keeps them from running into another.
    slots = np.full(2 * -(-size // 2), _shift(sites), "<u4") if narrow else np.empty(size, "<u8")
    start = 0
    for array in reply.arrays:
        flat = array.reshape(-1)
        for offset in range(0, flat.size, BLOCK):
            block = reply.weight * flat[offset : offset + BLOCK].astype(np.float64)
            words = encode(block, bound * 2.0 ** (32 * narrow), sites)
            slots[start : start + block.size] = words + _shift(sites) if narrow else words
            start += block.size
    rest = encode(np.append(reply.weight * reply.metrics, reply.weight), None, sites)
    return np.concatenate([slots.view("<u8").astype(np.uint64, copy=False), rest])


def decode_mean(
    words: Words, parts: tuple[Part, ...], terms: MeanTerms, roster: int, there: int
) -> RecordDict:
    """Return the mean as a reply.

    Parameters
    ----------
    words : ndarray of uint64, shape (words,)
        The sum of what `encode_reply` gave.
    parts : tuple of Part
        Of each site's reply, the same for all.
    terms : MeanTerms
        The terms.
    roster, there : int
        The sites that the sum was made for, and those that are in it.

    Returns
    -------
    RecordDict
        Arrays of the sites' types, of whole numbers as float64; metrics as floats, the weight of all sites among them.

    Raises
    ------
    SumError
        If there are more or fewer words than the parts take, the sum is noise, or all weights are 0.
    """
    narrow = terms.narrow(roster)
    numbers = sum(math.prod(shape) for _, _, kind, shape in parts if kind != METRIC)
    metrics = sum(math.prod(shape) for _, _, kind, shape in parts if kind == METRIC)
    split = -(-numbers // 2) if narrow else numbers
    if words.size != split + words_needed(metrics + 1, None):
        raise SumError(
            "The sum has another length than the replies' arrays and metrics. Do all sites run one version?"
        )
    rest = decode(words[split:], (metrics + 1,), None, roster)
    weight = float(rest[-1])
    if not 0 <= weight <= terms.most_examples * there:
        raise SumError(
            "The masks do not cancel: sites were asked different things, or a message was changed on its way."
        )
    if weight == 0:
        raise SumError(f"'{terms.weighted_by}' is 0 at all sites, so that there is no mean.")
    slots = words[:split].astype("<u8", copy=False)
    arrays, shift = (
        (slots.view("<u4"), np.uint64(there) * _shift(roster)) if narrow else (slots, np.uint64(0))
    )
    bound = terms.bound * terms.most_examples * 2.0 ** (32 * narrow)
    start, means = 0, iter((rest[:-1] / weight).tolist())
    records: dict[str, ArrayRecord | MetricRecord] = {}
    for name, key, kind, shape in parts:
        if kind == METRIC:
            values = [next(means) for _ in range(math.prod(shape))]
            record = records.setdefault(name, MetricRecord())
            record[key] = values if shape else values[0]  # type: ignore[assignment]
            continue
        floating = np.issubdtype(np.dtype(kind), np.floating)
        mean = np.empty(math.prod(shape), dtype=kind if floating else np.float64)
        for offset in range(0, mean.size, BLOCK):
            block = arrays[start : start + min(BLOCK, mean.size - offset)].astype(np.uint64) - shift
            mean[offset : offset + block.size] = decode(block, block.shape, bound, roster) / weight
            start += block.size
        records.setdefault(name, ArrayRecord())[key] = Array(mean.reshape(shape))  # type: ignore[assignment]
    metric_records = [record for record in records.values() if isinstance(record, MetricRecord)]
    if not metric_records:
        metric_records = [MetricRecord()]
        records["metrics"] = metric_records[0]
    metric_records[0][terms.weighted_by] = int(weight) if weight.is_integer() else weight
    return RecordDict(records)  # type: ignore[arg-type]


def _shift(sites: int) -> np.uint64:
    """Return what is added to a half word, which is at most 2**30 / sites in absolute value, to make it positive."""
    return np.uint64(2**31 // sites)


def name_of(node: int) -> str:
    """Return the name of a node that gives itself none, such that names sort as numbers do."""
    return f"node-{node:020d}"


def digest_of(kind: str, content: RecordDict) -> str:
    """Return the digest of a message of the app: sites that are asked different things share no masks."""
    hasher = hashlib.sha256()
    for piece in (kind.encode(), *_pieces(content)):
        hasher.update(len(piece).to_bytes(8, "big"))
        hasher.update(piece)
    return hasher.hexdigest()


def _pieces(content: RecordDict) -> Iterator[bytes]:
    for name, record in sorted(content.items()):
        for key, value in sorted(record.items()):
            yield from (name.encode(), type(record).__name__.encode(), key.encode())
            if isinstance(value, Array):
                yield from (f"{value.dtype} {value.shape} {value.stype}".encode(), value.data)
            else:
                yield from (type(value).__name__.encode(), repr(value).encode())


def write_parts(parts: tuple[Part, ...]) -> str:
    """Return the parts as text: names, types and shapes of what a site answers leave it, and no number."""
    return json.dumps(parts)


def read_parts(written: str) -> tuple[Part, ...]:
    """Return the parts that `write_parts` wrote; ValueError if it did not."""
    try:
        parts = tuple(
            (str(name), str(key), str(kind), tuple(shape))
            for name, key, kind, shape in parse_document(written, "json", LONGEST_PARTS)
        )
        if any(kind != METRIC and np.dtype(kind).kind not in "biuf" for _, _, kind, _ in parts):
            raise ValueError("no real numbers")
        if not all(isinstance(side, int) and side >= 0 for *_, shape in parts for side in shape):
            raise ValueError("no shape")
    except (TypeError, ValueError) as error:
        raise ValueError("no parts of a reply") from error
    return parts

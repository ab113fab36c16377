"""The features that pass the filters (Lu 2016, section 6.2.3, step 2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.constraints import Constraint
from flower_pansvm.errors import TrainingError
from strategies.selection.filters import FilterScores
from strategies.selection.outcome import Screening
from strategies.selection.voting import EQUAL, least_important

FILTERS = ("fisher", "welch", "scatter")
ENOUGH = 10
"""Number of features that suggested thresholds would keep."""


def parsed(name: str, text: str) -> tuple[str, float]:
    """Return the kind of a threshold, ``p``, ``%`` or ``count``, and its number.

    Parameters
    ----------
    name : str
        The filter; only ``"welch"`` may have a p-value.
    text : str
        Number of features to keep, like ``"200"``; percentage of the features, like ``"50%"``; or for the
        Welch test the p-value below which a feature is kept, like ``"p=0.01"``.

    Raises
    ------
    ValueError
        If the text is invalid.
    """
    if name == "welch" and text.startswith("p="):
        kind, threshold, limit = "p", float(text[2:]), 1.0
    elif text.endswith("%"):
        kind, threshold, limit = "%", float(text[:-1]), 100.0
    else:
        kind, threshold, limit = "count", float(int(text)), math.inf
    if not 0 < threshold <= limit:
        raise ValueError
    return kind, threshold


def passing(name: str, text: str, scores: FilterScores) -> Bools:
    """Return the mask of the features that pass a filter, shape (features,); a score of 0 or NaN never passes.

    A percentage is rounded up. Of features with equal scores the earlier columns pass first. Parameters as in `parsed`.

    Examples
    --------
    >>> passing("fisher", "50%", FilterScores(*np.array([[3.0, 1.0, 2.0]] * 4)))
    array([ True, False,  True])
    """
    (kind, threshold), values = parsed(name, text), np.asarray(getattr(scores, name), dtype=np.float64)
    if kind == "p":
        return (values > 0) & (scores.p < threshold)
    if kind == "%":
        # 33.3 * 1000 / 100 is more than 333 by rounding only, and must not become 334.
        threshold = math.ceil(threshold * len(values) / 100 - 1e-9)
    best = np.zeros(len(values), dtype=np.bool_)
    best[best_first(values)[: int(threshold)]] = True
    return (values > 0) & best


@dataclass(frozen=True)
class Thresholds:
    """Threshold of each filter, as in the setting: see `parsed`."""

    fisher: str = "75%"
    welch: str = "p=0.01"
    scatter: str = "75%"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the thresholds in a text such as ``fisher=50%,welch=p=0.001``, the others at their defaults.

        Raises
        ------
        ValueError
            If it names an unknown filter, one twice, or an invalid threshold.
        """
        texts: dict[str, str] = {}
        for item in text.split(","):
            name, _, threshold = map(str.strip, item.partition("="))
            if name not in FILTERS or name in texts:
                raise ValueError
            parsed(name, threshold)
            texts[name] = threshold
        return cls(**texts)

    @property
    def text(self) -> str:
        """The thresholds as the setting's text."""
        return ",".join(f"{name}={threshold}" for name, threshold in vars(self).items())


def thresholds() -> Constraint:
    """Return the constraint of the setting."""
    return Constraint(
        "a number of features or a percentage of them for each filter, comma-separated: fisher=75%,scatter=200; for "
        "welch also a p-value, welch=p=0.01",
        lambda value: value if isinstance(value, Thresholds) else Thresholds.parse(str(value)),
        lambda value: value.text,
    )


def screen(scores: FilterScores, thresholds: Thresholds) -> Screening:
    """Return the voted feature set: the features that pass all filters.

    Parameters
    ----------
    scores : FilterScores
        Scores of all features.
    thresholds : Thresholds
        Threshold of each filter.

    Raises
    ------
    TrainingError
        If no feature passes all filters. The text gives the number that each keeps, and thresholds that keep more.
    """
    texts = vars(thresholds)
    values = {name: getattr(scores, name) for name in FILTERS}
    masks = {name: passing(name, text, scores) for name, text in texts.items()}
    passed = {name: int(mask.sum()) for name, mask in masks.items()}
    kept = np.flatnonzero(np.all(list(masks.values()), axis=0))
    if len(kept) == 0:
        raise _nothing_left(values, passed, texts)
    return Screening(passed, texts, tuple(map(int, kept)))


def _nothing_left(
    values: Mapping[str, Floats], passed: Mapping[str, int], texts: Mapping[str, str]
) -> TrainingError:
    features = len(values["fisher"])
    counts = ", ".join(f"{name} ({texts[name]}) keeps {passed[name]}" for name in FILTERS)
    strictest = min(FILTERS, key=lambda name: passed[name])
    text = f"No feature passes all filters: of {features} features, {counts}; {strictest} removes most. "
    # A feature passes all filters if each keeps as many as the feature's worst rank among them.
    worst = np.max([np.argsort(best_first(value)) + 1 for value in values.values()], axis=0)
    able = np.sort(worst[np.all([value > 0 for value in values.values()], axis=0)])
    if len(able) == 0:
        return TrainingError(
            text
            + "Each feature scores 0 in some filter, so no threshold helps: the columns are constant, or a "
            "class has hardly any rows. Check the label column, or use the strategy voted-wrapper, which has no "
            "filters."
        )
    count = int(able[min(ENOUGH, len(able)) - 1])
    keys = ",".join(f"{name}={count}" for name in FILTERS)
    remaining = int((able <= count).sum())
    return TrainingError(text + f"Loosen it, or keep more by each: filters={keys} would leave {remaining}.")


def best_first(scores: Floats) -> Ints:
    """Return all features, the best first; of equal scores the earlier column, and NaN as if it were 0."""
    known = np.where(np.isnan(scores), 0.0, scores)
    return least_important(known, np.ones(len(scores), dtype=bool), len(scores))[::-1]


def filter_order(scores: FilterScores) -> Floats:
    """Return the mean rank of each feature over the three filters, shape (features,): larger is more important.

    Ranks count from 1 for the worst; equal scores share the mean of their ranks.
    """
    rank: Floats = np.mean([_ranks(getattr(scores, name)) for name in FILTERS], axis=0)
    return rank


def _ranks(scores: Floats) -> Floats:
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores * (1 - EQUAL), side="left")
    up_to = np.searchsorted(ordered, scores * (1 + EQUAL), side="right")
    return (below + 1 + up_to) / 2.0

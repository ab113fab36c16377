"""The check that a strategy needs only the mean of the replies, which is all that a secure sum gives.

Flower's strategies that need single replies are listed by name. A strategy of the app's own is tested once, with the
first mean: it must aggregate as many artificial replies with that mean as there are sites as it aggregates the mean.
What it does with replies that these do not resemble, such as leave out those of fewer examples than any of them has, is
not found out.
"""

import sys
from collections.abc import Iterator
from copy import copy, deepcopy
from itertools import takewhile
from math import lcm
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy
from flwr.serverapp.strategy.strategy_utils import aggregate_metricrecords

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError

SINGLE_REPLIES = {
    "FedMedian": "takes the median of the replies",
    "FedTrimmedAvg": "leaves out the largest and smallest replies",
    "Krum": "chooses a reply by its distance to the others",
    "MultiKrum": "chooses replies by their distances to each other",
    "Bulyan": "chooses replies by their distances to each other",
    "QFedAvg": "weights each reply by its own loss",
    "FedXgbBagging": "collects the trees of each site",
    "FedXgbCyclic": "hands on the trees of one site",
    "DifferentialPrivacyServerSideFixedClipping": "clips each reply",
    "DifferentialPrivacyServerSideAdaptiveClipping": "clips each reply",
    "DifferentialPrivacyClientSideAdaptiveClipping": "counts the sites whose replies were clipped",
    "DifferentialPrivacyClientSideFixedClipping": "counts the replies",
}
"""Flower's strategies and wrappers that use single replies, and how."""

AROUND = "DifferentialPrivacyClientSideFixedClipping"
"""The wrapper that works around a `SecureAggregation`."""

WEIGHTS, SHIFTS = (1, 8, 11), (10.0, -4.0, 2.0)
"""Of the kinds of artificial replies, which share the weight: their weighted mean is the mean; their median, each kind,
and the mean of any two differ from it. One has few examples, as strategies may leave such replies out."""


def check_strategy(strategy: Strategy) -> None:
    """Raise a SettingError if a strategy is one of Flower's that use single replies, or runs its rounds itself."""
    if not isinstance(strategy, Strategy):
        raise SettingError(
            "The strategy of SecureAggregation is not one of Flower's. Give it an instance, such as FedAvg()."
        )
    for one in _with_wrapped(strategy):
        _refuse_by_name(one)
    if getattr(strategy.start, "__func__", None) is not Strategy.start:
        raise SettingError(
            f"{type(strategy).__name__} has a method 'start' of its own, which is never called: SecureAggregation runs "
            "the rounds. Move what it does into the methods configure_train and aggregate_train, or around the call "
            "of SecureAggregation.start."
        )


def is_wrapped(strategy: Strategy) -> bool:
    """Return whether Flower runs the rounds of a strategy around this one; SettingError if that uses single replies.

    A wrapper tells the strategy in it nothing of itself; Flower's loop has the outermost one.
    """
    frame = sys._getframe()
    while frame.f_code is not Strategy.start.__code__:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    outermost = frame.f_locals["self"]
    for around in takewhile(lambda one: one is not strategy, _with_wrapped(outermost)):
        _refuse_by_name(around, but=AROUND)
    return outermost is not strategy


def weight_key(strategy: Strategy, default: str) -> str:
    """Return the metric by which a strategy, or the one that it wraps, weights the replies."""
    keys = (getattr(one, "weighted_by_key", None) for one in _with_wrapped(strategy))
    return next((str(key) for key in keys if key is not None), default)


def _with_wrapped(strategy: Any) -> Iterator[Strategy]:
    """Yield a strategy, and those that it wraps as Flower's wrappers do."""
    while isinstance(strategy, Strategy):
        yield strategy
        strategy = getattr(strategy, "strategy", None)


def _refuse_by_name(strategy: Strategy, but: str = "") -> None:
    """Raise a SettingError if a strategy is one of Flower's that use single replies, other than one."""
    for kind in type(strategy).__mro__:
        name = kind.__name__
        if kind.__module__.startswith("flwr.") and name in SINGLE_REPLIES and name != but:
            instead = f" Wrap the secure sum: {AROUND}(SecureAggregation(…), …)." if name == AROUND else ""
            raise SettingError(
                f"{name} {SINGLE_REPLIES[name]}, and a secure sum gives only their mean.{instead} Choose FedAvg, "
                "FedProx, FedAvgM, FedAdam, FedAdagrad, FedYogi, or another that takes a weighted mean."
            )


def is_flowers_own(strategy: Strategy, step: str) -> bool:
    """Return whether only Flower's code aggregates in ``step``, 'train' or 'evaluate'."""
    kind = type(strategy)
    replaced = any(callable(getattr(kind, name, None)) for name in vars(strategy))
    metrics = getattr(strategy, f"{step}_metrics_aggr_fn", aggregate_metricrecords)
    return kind.__module__.startswith("flwr.") and not replaced and metrics is aggregate_metricrecords


def check_by_trial(
    strategy: Strategy, step: str, server_round: int, mean: Message, weighted_by: str, sites: int
) -> None:
    """Raise a SettingError if a copy of a strategy aggregates so many replies and their mean differently."""
    counts = [len(range(kind, max(sites, len(WEIGHTS)), len(WEIGHTS))) for kind in range(len(WEIGHTS))]
    mean = _reply(mean, _exact(mean.content, sum(WEIGHTS) * lcm(*counts), weighted_by))
    replies = []
    for weight, shift, count in zip(WEIGHTS, SHIFTS, counts, strict=True):
        content = _shifted(mean.content, (weight, sum(WEIGHTS) * count), shift, weighted_by)
        replies += [_reply(mean, content) for _ in range(count)]
    results = []
    for messages in (replies, [_reply(mean, mean.content)]):
        copy = _copied(strategy)
        try:
            results.append(_numbers(getattr(copy, f"aggregate_{step}")(server_round, messages)))
        except Exception as error:
            raise SettingError(
                f"{type(strategy).__name__}.aggregate_{step} fails with {type(error).__name__} on artificial replies "
                f"that test whether it takes a weighted mean: {error}"
            ) from error
    several, single = results
    if len(several) != len(single) or not all(map(_alike, several, single)):
        raise SettingError(
            f"{type(strategy).__name__}.aggregate_{step} returns different results for {len(replies)} replies and "
            "for their weighted mean, or random results. A secure sum gives only the mean: use a strategy, and "
            "functions for metrics, that take a weighted mean."
        )


def _copied(strategy: Strategy) -> Strategy:
    """Return a copy of a strategy; SettingError if it cannot be copied."""
    try:
        return deepcopy(strategy)
    except Exception as error:  # any author's strategy
        raise SettingError(
            f"{type(strategy).__name__} cannot be copied ({type(error).__name__}: {error}), but the test whether it "
            "takes a weighted mean needs a copy. Keep locks, files and connections out of its attributes, or give it "
            "a method __deepcopy__."
        ) from error


def _reply(like: Message, content: RecordDict) -> Message:
    """Return a reply with records of its own, which a strategy may change; of a large model the arrays are shared."""
    reply = copy(like)
    reply.content = RecordDict({name: type(record)({**record}) for name, record in content.items()})  # type: ignore
    return reply


def _exact(content: RecordDict, multiple: int, weighted_by: str) -> RecordDict:
    """Return a reply with its arrays as float64, and a whole weight as the next multiple of a number.

    Adam and Yogi divide by small numbers, so that rounding to float32 would show; a strategy may read whole weights.
    """
    exact = RecordDict()
    for name, record in content.items():
        if isinstance(record, ArrayRecord):
            exact[name] = ArrayRecord(
                {key: Array(value.numpy().astype(np.float64)) for key, value in record.items()}
            )
        elif isinstance(record, MetricRecord):
            exact[name] = metrics = MetricRecord({**record})
            weight = metrics.get(weighted_by)
            if isinstance(weight, int):
                metrics[weighted_by] = -(-weight // multiple) * multiple
    return exact


def _shifted(content: RecordDict, share: tuple[int, int], shift: float, weighted_by: str) -> RecordDict:
    """Return a reply with its share of the weight, whose other numbers differ from the mean's by a shift."""
    part, of = share
    shifted: dict[str, Any] = {}
    for name, record in content.items():
        if isinstance(record, ArrayRecord):
            shifted[name] = ArrayRecord(
                {key: Array(_moved(value.numpy(), shift)) for key, value in record.items()}
            )
        elif isinstance(record, MetricRecord):
            shifted[name] = MetricRecord(
                {
                    key: _moved(np.asarray(value, dtype=np.float64), shift).tolist()
                    for key, value in record.items()
                }
            )
            if weighted_by in record:
                weight: Any = record[weighted_by]
                shifted[name][weighted_by] = (
                    weight * part // of if isinstance(weight, int) else weight * part / of
                )
    return RecordDict(shifted)


def _moved(values: Any, shift: float) -> Any:
    return values + 0.1 * shift * (1 + _largest(values)) * np.ones_like(values)


def _largest(values: "np.ndarray[Any, Any]") -> float:
    return float(np.abs(values).max(initial=0.0))


def _alike(several: Floats, single: Floats) -> bool:
    """Return whether two results are the same but for rounding, which is small beside what `_moved` adds."""
    tolerance = 1e-3 * (1 + _largest(single))
    return several.shape == single.shape and np.allclose(several, single, rtol=1e-3, atol=tolerance)


def _numbers(result: Any) -> list[Floats]:
    """Return the arrays of a strategy's result, metrics among them, each in one dimension."""
    records = [
        record for record in (result if isinstance(result, tuple) else (result,)) if record is not None
    ]
    return [
        np.asarray(value.numpy() if isinstance(value, Array) else value, dtype=np.float64).ravel()
        for record in records
        for _, value in sorted(record.items())
    ]

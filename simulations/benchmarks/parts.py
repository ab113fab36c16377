"""What the expensive parts of a secure sum cost: masking, and encrypting for Paillier; and what a run costs."""

import itertools
import logging
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.secure_sum.protocols import paillier
from flower_pansvm.secure_sum.rehearsal import gather_members
from simulations.benchmarks.sum_costs import CHOICES, PLAIN, Variant, random_vector
from simulations.benchmarks.turns import seconds_of, take_turns
from simulations.engines.flower_log import quieter
from simulations.engines.running import train_in_process
from strategies.pan_svm import PanSVM
from strategies.settings import Settings

MASKED = (PLAIN, Variant("ring", "one-shot"), Variant("k-secure", "one-shot"))
PHE_VALUES = 5
"""Values that one repeat of the loop over phe's ``encrypt`` takes; each costs dozens of milliseconds."""


class TimedRun(NamedTuple):
    """A whole training run with one protocol."""

    choice: Variant
    seconds: float
    round_trips: int
    bytes_up: int
    bytes_down: int
    model_sha256: str


class Packing(NamedTuple):
    """Seconds of Paillier encryption at one site."""

    values: int
    packed_per_value: float
    loop_per_value: float
    preparation: float


def medians(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each task; the tasks take turns."""
    times = take_turns({name: seconds_of(task) for name, task in tasks.items()}, repeats)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def masking(values: int, sites: int, repeats: int) -> dict[str, float]:
    """Return the seconds that one site takes to encode a vector in fixed point, and to contribute it.

    Parameters
    ----------
    values : int
        Length of the vector.
    sites : int
        Number of sites, and so for k-secure of masks.
    repeats : int
        Runs of each, of which the median is taken.

    Returns
    -------
    dict of str to float
        ``encode``, and the label of each protocol that masks or sends as it is.
    """
    numbers = np.random.default_rng().uniform(-1.0, 1.0, values)
    vector = random_vector(values, sites)
    roster = tuple(f"site-{number}" for number in range(sites))
    tasks: dict[str, Callable[[], object]] = {"encode": lambda: encode(numbers, bound=1.0, sites=sites)}
    for choice in MASKED:
        tasks[choice.label] = _contribution(choice, roster, vector)
    return medians(tasks, repeats)


def packing(values: int, repeats: int) -> Packing:
    """Compare a site's packed Paillier encryption with a loop over phe's ``encrypt``, under the same key."""
    paillier_sum = Variant("paillier", "one-shot")
    roster = ("site-0", "site-1", "site-2")
    protocol = paillier_sum.protocol()
    members = gather_members(protocol, roster)
    vector = random_vector(values, len(roster))
    n = int.from_bytes(members[roster[0]].published[roster[0]], "big")
    # phe is under the GPL, so one module alone imports it.
    key = paillier.PaillierPublicKey(n)  # type: ignore[attr-defined]
    numbers = np.random.default_rng().uniform(-1.0, 1.0, PHE_VALUES).tolist()
    this = SumRound("benchmark", "benchmark", 1, 0, roster)
    preparation = medians({"prepare": lambda: paillier.Blinding(n)}, repeats)["prepare"]
    paillier.blinding_of(n)
    seconds = medians(
        {
            "packed": lambda: protocol.contribute(vector, this, members[roster[1]]),
            "loop": lambda: [key.encrypt(number) for number in numbers],
        },
        repeats,
    )
    return Packing(values, seconds["packed"] / values, seconds["loop"] / PHE_VALUES, preparation)


def whole_runs(settings: Settings, repeats: int, key_bits: int = 3072) -> list[TimedRun]:
    """Train with each protocol in this process; seconds are medians."""
    with quieter(logging.WARNING):
        runs = take_turns(
            {choice: partial(_train, settings, choice, key_bits) for choice in CHOICES}, repeats
        )
    return [
        kept[0]._replace(seconds=statistics.median(run.seconds for run in kept)) for kept in runs.values()
    ]


def _contribution(choice: Variant, roster: tuple[str, ...], vector: Words) -> Callable[[], object]:
    protocol = choice.protocol()
    member = gather_members(protocol, roster)[roster[0]]
    numbers = itertools.count(1)
    return lambda: protocol.contribute(vector, SumRound("run", "task", next(numbers), 0, roster), member)


def _train(settings: Settings, choice: Variant, key_bits: int) -> TimedRun:
    started = time.process_time()
    strategy = train_in_process(replace(settings, protocol=choice.protocol(key_bits)))
    assert isinstance(strategy, PanSVM)
    seconds = time.process_time() - started
    costs = strategy.federation.costs
    return TimedRun(
        choice, seconds, costs.round_trips, costs.bytes_up, costs.bytes_down, strategy.model.sha256()
    )

"""What the secure sums cost: ``python -m simulations.benchmarks secure_sums``.

All sites are in this process, so seconds are CPU seconds of all of them; what waiting for messages costs is in the
number of round trips.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members

SITES = (3, 5, 10, 20)
LENGTHS = (100, 1_000, 10_000, 100_000, 1_000_000)
REPEATS = 5
ONCE_SECONDS, LONGEST_SECONDS = 3.0, 30.0
"""A sum that takes longer than the first is done once; one expected to take longer than the second is left out."""

T = TypeVar("T")

AGGREGATIONS = ("plain", "ring", "ring-hops", "k-secure", "double-mask", "k-secure-hops", "paillier")
"""k is the number of sites."""


def take_turns(tasks: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
    """Do all tasks several times, in a new order each turn, so that other work on the machine meets all alike.

    The first turn warms up; its results count for what is done once.
    """
    results: dict[str, list[T]] = {}
    again = []
    for name, task in tasks.items():
        started = time.process_time()
        results[name] = [task()]
        if time.process_time() - started <= ONCE_SECONDS:
            results[name] = []
            again.append(name)
    for _ in range(repeats):
        random.shuffle(again)
        for name in again:
            results[name].append(tasks[name]())
    return results


class Bench:
    """A protocol with its sites, for one sum after the other."""

    def __init__(self, aggregation: str, roster: tuple[str, ...]) -> None:
        self.aggregation, self.roster = aggregation, roster
        self.protocol = PROTOCOLS[aggregation]()
        self.members = gather_members(self.protocol, roster)
        self.sums = 0

    def run(self, vectors: Mapping[str, Words], expected: Words) -> dict[str, Any]:
        """Run one sum as a new round, check it, and return what it cost; bytes are without Flower's envelopes."""
        self.sums += 1
        this = SumRound("benchmark", "benchmark", self.sums, 0, self.roster)
        rehearsal = Rehearsal(self.protocol, self.members)
        started = time.process_time()
        total = rehearsal.run(vectors, this)
        seconds = time.process_time() - started
        if not np.array_equal(total, expected):
            raise SumError(f"'{self.aggregation}' gave a wrong sum, so its figures are worth nothing.")
        sizes = [len(payload) for payload in rehearsal.first.values()]
        sizes += [len(payload) + len(answer) for _, _, payload, answer in rehearsal.relayed]
        return {
            "cpu_seconds": seconds,
            "bytes": sum(sizes),
            "round_trips": 1 + len({step for step, *_ in rehearsal.relayed}),
        }


def sums(
    sites: Sequence[int] = SITES,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = REPEATS,
    aggregations: Sequence[str] = AGGREGATIONS,
) -> Iterator[dict[str, Any]]:
    """Yield the costs of one sum by protocol, sites and values (ascending); seconds are medians."""
    for count in sites:
        roster = tuple(f"site-{index}" for index in range(count))
        benches = {name: Bench(name, roster) for name in aggregations}
        per_value = dict.fromkeys(aggregations, 0.0)
        for values in lengths:
            vectors = {name: _random_vector(values, count) for name in roster}
            expected: Words = np.add.reduce(list(vectors.values()))
            tasks = {
                aggregation: partial(bench.run, vectors, expected)
                for aggregation, bench in benches.items()
                if values * per_value[aggregation] <= LONGEST_SECONDS
            }
            for aggregation, costs in take_turns(tasks, repeats).items():
                seconds = statistics.median(cost["cpu_seconds"] for cost in costs)
                per_value[aggregation] = seconds / values
                yield {
                    "aggregation": aggregation,
                    "sites": count,
                    "values": values,
                    **costs[0],
                    "cpu_seconds": seconds,
                }


def _random_vector(values: int, sites: int) -> Words:
    """Return a site's random vector: values between -1 and 1 in fixed point, shape (values,)."""
    return encode(np.random.default_rng().uniform(-1.0, 1.0, values), bound=1.0, sites=sites)


TABLES = {"sums": sums}

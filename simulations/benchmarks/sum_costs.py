"""What one secure sum costs, for each protocol, number of sites and length of vector, all in this process."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.terms import Scalar, Terms
from simulations.benchmarks.turns import take_turns

LONGEST_SECONDS = 30.0
"""A sum that would take longer is not run; its seconds are estimated from the next shorter vector."""


class Variant(NamedTuple):
    """A protocol and the way it is executed, as the settings name them."""

    aggregation: str
    execution: str

    @property
    def label(self) -> str:
        """Name in tables and plots."""
        both = self.aggregation in ("ring", "k-secure")
        return f"{self.aggregation}, {self.execution}" if both else self.aggregation

    def protocol(self, key_bits: int = 3072) -> SecureSum:
        """Return the protocol; k is the number of sites, a Paillier key has so many bits."""
        config: dict[str, Scalar] = {"execution": self.execution, "key-bits": key_bits}
        return protocol_of(Terms(self.aggregation, config=config))


PLAIN = Variant("plain", "one-shot")
CHOICES = (
    PLAIN,
    Variant("ring", "one-shot"),
    Variant("ring", "hops"),
    Variant("k-secure", "one-shot"),
    Variant("k-secure", "hops"),
    Variant("paillier", "one-shot"),
)


@dataclass(frozen=True)
class Cost:
    """Cost of one sum.

    Parameters
    ----------
    choice : Variant
        The protocol.
    sites, values : int
        Number of sites, and of values in each site's vector.
    seconds : float
        Processor seconds of the whole sum: all sites and the coordinator, one after the other.
    site_seconds : float
        Of these one site's, in the mean: its contribution and its answers to relay steps.
    bytes_all : int
        What the protocol sends from the sites to the coordinator and back, without Flower's envelopes.
    round_trips : int
        Times that the coordinator asks sites and waits for them.
    measured : bool
        False if the sum was not run: then ``seconds`` is an estimate and the other figures are 0.
    """

    choice: Variant
    sites: int
    values: int
    seconds: float
    site_seconds: float = 0.0
    bytes_all: int = 0
    round_trips: int = 0
    measured: bool = True


class SiteClock(SecureSum):
    """A protocol with a stopwatch for the work of its sites."""

    def __init__(self, protocol: SecureSum) -> None:
        self.protocol, self.seconds = protocol, 0.0

    def contribute(self, vector: Words, this: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Do the protocol's own and count its time."""
        started = time.process_time()
        sent = self.protocol.contribute(vector, this, member)
        self.seconds += time.process_time() - started
        return sent

    def respond(
        self, step: int, payload: bytes, kept: bytes, this: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Do the protocol's own and count its time."""
        started = time.process_time()
        answer = self.protocol.respond(step, payload, kept, this, member)
        self.seconds += time.process_time() - started
        return answer

    def total(self, payloads: Mapping[str, bytes], this: SumRound, relay: Relay) -> Words:
        """Do the protocol's own; this is the coordinator's time."""
        return self.protocol.total(payloads, this, relay)


@dataclass
class Bench:
    """A protocol with its sites, ready for one sum after the other."""

    choice: Variant
    roster: tuple[str, ...]
    rehearsal: Rehearsal = field(init=False)
    sums: int = 0

    def __post_init__(self) -> None:
        protocol = self.choice.protocol()
        self.rehearsal = Rehearsal(protocol, gather_members(protocol, self.roster))

    def run(self, vectors: Mapping[str, Words], expected: Words) -> Cost:
        """Run one sum, each time under a new round trip, and check the total."""
        self.sums += 1
        this = SumRound("benchmark", "benchmark", self.sums, 0, self.roster)
        clock = SiteClock(self.rehearsal.protocol)
        timed = Rehearsal(clock, self.rehearsal.members)
        started = time.process_time()
        total = timed.run(vectors, this)
        seconds = time.process_time() - started
        if not np.array_equal(total, expected):
            raise SumError(f"'{self.choice.label}' gave a wrong sum, so its figures are worth nothing.")
        sizes = [len(payload) for payload in timed.first.values()]
        sizes += [len(payload) + len(answer) for _, _, payload, answer in timed.relayed]
        steps = {step for step, *_ in timed.relayed}
        sites = len(self.roster)
        return Cost(
            choice=self.choice,
            sites=sites,
            values=expected.size,
            seconds=seconds,
            site_seconds=clock.seconds / sites,
            bytes_all=sum(sizes),
            round_trips=1 + len(steps),
        )


def measure(
    sites: Sequence[int], lengths: Sequence[int], repeats: int, show: Callable[[str], None]
) -> list[Cost]:
    """Return the cost of each combination, times as medians.

    Parameters
    ----------
    sites : sequence of int
        Numbers of sites.
    lengths : sequence of int
        Numbers of values, ascending.
    repeats : int
        Runs of each sum, see :func:`~simulations.benchmarks.turns.take_turns`.
    show : callable
        Receives a line of progress for each number of sites and length.
    """
    costs: list[Cost] = []
    for count in sites:
        roster = tuple(f"site-{number}" for number in range(count))
        benches = [Bench(choice, roster) for choice in CHOICES]
        expected_seconds = dict.fromkeys(CHOICES, 0.0)
        previous = lengths[0]
        for values in lengths:
            show(f"{count} sites, {values} values")
            for choice in CHOICES:
                expected_seconds[choice] *= values / previous
            row = _one_length(benches, values, expected_seconds, repeats)
            expected_seconds = {cost.choice: cost.seconds for cost in row}
            previous = values
            costs += row
    return costs


def random_vector(values: int, sites: int) -> Words:
    """Return what one site would sum: values between -1 and 1 in fixed point, shape (values,)."""
    numbers = np.random.default_rng().uniform(-1.0, 1.0, values)
    return encode(numbers, bound=1.0, sites=sites)


def _one_length(
    benches: Sequence[Bench], values: int, expected_seconds: Mapping[Variant, float], repeats: int
) -> list[Cost]:
    roster = benches[0].roster
    vectors = {name: random_vector(values, len(roster)) for name in roster}
    expected: Words = np.add.reduce(list(vectors.values()))
    feasible = [bench for bench in benches if expected_seconds[bench.choice] <= LONGEST_SECONDS]
    runs = take_turns({bench.choice: partial(bench.run, vectors, expected) for bench in feasible}, repeats)
    return [
        _median(runs[choice])
        if choice in runs
        else Cost(choice, len(roster), values, expected_seconds[choice], measured=False)
        for choice in expected_seconds
    ]


def _median(runs: Sequence[Cost]) -> Cost:
    """Return the cost with the median of each of the two times."""
    return replace(
        runs[0],
        seconds=statistics.median(run.seconds for run in runs),
        site_seconds=statistics.median(run.site_seconds for run in runs),
    )

"""The contract that every secure-sum protocol fulfils.

A sum takes one round trip in which every site runs :meth:`SecureSum.contribute` on its vector, and then
as many relay steps as the protocol asks for: the coordinator calls ``relay`` with one payload per
addressed site, each of those sites runs :meth:`SecureSum.respond`. A protocol without relay steps
(``plain``, ``ring`` and ``k-secure``) costs exactly the round trip that the task takes anyway.

The state that a site keeps between two steps is secret and stays at the site. A site has no state for a step that
it has done, and refuses to repeat it. All refusals are SumErrors.

If a site drops out, the sum is repeated without it; a protocol that *survives* opens the sum over the others instead.
A coordinator could do both, and subtract. So a site that has helped to open a sum takes part in no repetition of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from flower_pansvm.constraints import parse
from flower_pansvm.errors import NOT_FOLLOWED, SumError

Words = NDArray[np.uint64]
"""A flat vector of integers modulo 2**64, shape (words,)."""

Relay = Callable[[int, Mapping[str, bytes]], dict[str, bytes]]
"""``relay(step, {site: payload})`` sends each payload to its site and returns the answers of all of them.

It raises when an answer is missing, and the coordinator then repeats the whole sum under a new attempt; but for a
protocol that survives drop-outs it returns the answers that have come.
"""

FEWEST_ENOUGH = 32
"""Least number of partners of a site for k = 0, if there are as many sites."""


@dataclass(frozen=True)
class SumRound:
    """What makes one secure sum different from every other one."""

    run: str
    task: str  # with a digest of the request: sites that received different requests share no masks
    round_trip: int  # within the run, from 1; 0 marks notes that are valid for the whole run
    attempt: int  # 0 at first; one more each time the sum is repeated without a site that dropped out
    roster: tuple[str, ...]  # names of the sites that take part, in ring order, without repetition
    # Digest of the keys that all sites published as they joined the run (summing.keys_digest). Orders that look random
    # are drawn from it: it is fixed before the first sum, and no coordinator can choose it.
    keys: str = ""

    def __post_init__(self) -> None:
        if len(set(self.roster)) != len(self.roster):
            raise SumError(
                "The roster of a secure sum names a site twice: masks would not cancel. Give each site its own name."
            )
        if self.round_trip < 0 or self.attempt < 0:
            raise SumError(f"A broken request: round trip or attempt of a sum is negative. {NOT_FOLLOWED}")

    def neighbours(self, name: str) -> tuple[str, str]:
        """Return the sites before and after ``name`` in ring order; the roster has to name it, and another one."""
        if name not in self.roster:
            raise SumError(
                f"Site {name!r} was asked for a secure sum whose roster does not name it. "
                "The coordinator's list of sites is out of date; start the run again."
            )
        if len(self.roster) < 2:
            raise SumError(
                f"Site {name!r} is alone in the roster. A secure sum needs two sites, or it is the site's own vector."
            )
        index = self.roster.index(name)
        return self.roster[index - 1], self.roster[(index + 1) % len(self.roster)]


@dataclass(frozen=True)
class Member:
    """A site in a sum: its name, its key of this run, and the public keys of the others."""

    name: str
    key: X25519PrivateKey
    peers: Mapping[str, bytes]  # raw 32-byte X25519 public keys of the other sites, by name
    # The halves that SecureSum.prepare returned, empty for most protocols: this site's secret, and all public ones.
    secret: bytes = field(default=b"", repr=False)
    published: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class SecureSum(ABC):
    """A protocol by which the coordinator learns the sum of the sites' vectors; its fields are its options."""

    name: ClassVar[str]  # by which a user selects it
    protected: ClassVar[bool]  # whether a single site's vector is hidden from the coordinator
    by_consent: ClassVar[bool] = False  # whether a node config has to name it, even though it protects
    # Whether it gives the sum over the sites that have answered, where some have not; `fewest` says how many have to.
    survives: ClassVar[bool] = False

    def __post_init__(self) -> None:
        parse(self)

    def prepare(self) -> tuple[bytes, bytes]:
        """Return a site's further key of the run, made when it joins; empty by default.

        The first half is secret and stays at the site, the second is public and goes to all sites.
        """
        return b"", b""

    def isolating(self, sum_round: SumRound) -> int:  # noqa: ARG002
        """Return how many sites that collude with the coordinator can learn the sum over fewer than all others.

        Two, the neighbours of a site in a ring, unless a protocol says otherwise.
        """
        return 2

    def fewest(self, sum_round: SumRound) -> int:
        """Return how many sites of the roster have to answer: all, unless the protocol survives drop-outs."""
        return len(sum_round.roster)

    def opened_over(self, payload: bytes, sum_round: SumRound) -> tuple[str, ...]:  # noqa: ARG002
        """Return the sites whose sum a relay step with this payload helps to open; SumError if it names none."""
        return sum_round.roster

    @abstractmethod
    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the first message of site ``member``, and its state for later relay steps (maybe empty)."""

    def respond(
        self,
        step: int,
        payload: bytes,  # noqa: ARG002
        state: bytes,  # noqa: ARG002
        sum_round: SumRound,  # noqa: ARG002
        member: Member,
    ) -> tuple[bytes, bytes]:
        """Return a site's answer to relay step ``step``, for which it kept ``state``, and its state from now on."""
        raise SumError(
            f"Site {member.name!r} was asked for relay step {step}, but {self.name!r} has no relay steps. "
            "The coordinator and the site do not run the same protocol; check their settings."
        )

    @abstractmethod
    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        """Return the sum over the sites whose payloads are given, modulo 2**64, at the coordinator.

        They are all sites of the roster, or `fewest` of them.
        """

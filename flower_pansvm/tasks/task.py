"""What a task is: a question to every site, the answer, and how each part of the answer leaves the site.

A part is *summed*: it leaves only through a secure sum. Or it is *noised*: summed, and with secret noise of the site in
it, unless the hospital has agreed to exact sums. Or it is *disclosed*: the coordinator sees it site by site. Each field
of an answer's dataclass says which by the function that makes it, and the gate (`clients/gate`) holds the site to it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, TypeVar, get_type_hints

from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.records import Values
from flower_pansvm.tasks.consents import CONSENTS
from flower_pansvm.tasks.limits import UNKNOWN
from flower_pansvm.terms import Terms

Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")

Bound = float | Callable[[Any, Terms, int], float]
"""Largest absolute value of a part at one site: a number, or made of the question, the terms and how many sites."""

DECLARATION = "leaves"


@dataclass(frozen=True)
class Declaration:
    """How a part of an answer leaves the site."""

    how: Literal["summed", "noised", "disclosed"]
    bound: Bound = UNKNOWN  # of what is summed
    consent: str | None = None  # key of the node config by which the hospital must have agreed to it


def summed(bound: Bound = UNKNOWN) -> Any:
    """Return the field of a part of which only the sum over the sites is learned."""
    return field(metadata={DECLARATION: Declaration("summed", bound)})


def noised(bound: Bound = UNKNOWN) -> Any:
    """Return the field of a part that is summed, and holds secret noise of the site unless exact sums are agreed to."""
    return field(metadata={DECLARATION: Declaration("noised", bound)})


def disclosed(consent: str | None = None) -> Any:
    """Return the field of a part that the coordinator receives from each site as it is, perhaps only with a consent."""
    if consent is not None and consent not in CONSENTS:
        raise KeyError(f"flower_pansvm/tasks has no consent '{consent}'.")
    return field(metadata={DECLARATION: Declaration("disclosed", consent=consent)})


def declarations(answer: type) -> dict[str, Declaration]:
    """Return how each part of an answer's dataclass leaves, by name."""
    return {part.name: part.metadata[DECLARATION] for part in fields(answer)}


def scaled(bound: Callable[[int], float]) -> Bound:
    """Return a bound, made of how many sites there are, that holds in scaled units only."""
    return lambda _, terms, sites: UNKNOWN if terms.scaling == "none" else bound(sites)


@dataclass(frozen=True)
class Nothing:
    """A question that asks for nothing in particular."""


@dataclass(frozen=True)
class Task(Generic[Q, A]):
    """A request to every site: dataclasses of what is asked and of what comes back.

    Each part of the answer has a declaration, those that are summed hold floats, and all of them are disclosed or none.
    """

    name: str
    category: Literal["query", "train", "evaluate"]  # Flower's
    question: type[Q]
    answer: type[A]
    since: str  # first version of this project whose sites have the task

    def __post_init__(self) -> None:
        types = get_type_hints(self.answer)
        for part in fields(self.answer):  # type: ignore[arg-type]
            if DECLARATION not in part.metadata:
                raise TypeError(
                    f"The answer of task '{self.name}' does not say how '{part.name}' leaves a site. Declare it with "
                    "summed, noised or disclosed of flower_pansvm/tasks/task.py."
                )
        for name in self.summed:
            if types[name] != Floats:
                raise TypeError(
                    f"In task '{self.name}' the part '{name}' is summed: its type must be Floats."
                )
        if self.disclosed and self.summed:
            raise TypeError(f"Task '{self.name}' both sums and discloses. Make two tasks of it.")

    @property
    def message_type(self) -> str:
        """The Flower message type."""
        return f"{self.category}.{self.name}"

    @property
    def declared(self) -> dict[str, Declaration]:
        """How each part of the answer leaves, by name."""
        return declarations(self.answer)

    @property
    def summed(self) -> tuple[str, ...]:
        """The parts that leave only through a secure sum, with noise or without."""
        return tuple(name for name, part in self.declared.items() if part.how != "disclosed")

    @property
    def noised(self) -> frozenset[str]:
        """Those of them that hold secret noise."""
        return frozenset(name for name, part in self.declared.items() if part.how == "noised")

    @property
    def disclosed(self) -> tuple[str, ...]:
        """The parts that the coordinator receives from each site as they are."""
        return tuple(name for name, part in self.declared.items() if part.how == "disclosed")

    @property
    def consents(self) -> frozenset[str]:
        """What a hospital must have agreed to before it answers."""
        return frozenset(part.consent for part in self.declared.values() if part.consent)


@dataclass(frozen=True)
class Broadcast(Generic[M]):
    """Values that every site keeps for the tasks that follow."""

    name: str  # a later broadcast of the same name replaces an earlier one
    message: type[M]  # dataclass of the values

    def numbered(self, number: int) -> "Broadcast[M]":
        """Return the broadcast of one of several things of the same kind."""
        return replace(self, name=f"{self.name}.{number}")


def bounds_of(task: Task[Any, Any], question: object, terms: Terms, sites: int) -> dict[str, float]:
    """Return the largest absolute value that a site may hold in each of a task's sums; infinite if unknown."""
    bounds = ((name, task.declared[name].bound) for name in task.summed)
    return {name: bound(question, terms, sites) if callable(bound) else bound for name, bound in bounds}


def sum_name(
    task: Task[Any, Any], inputs: Values, bounds: Mapping[str, float], told: Mapping[str, str], settings: str
) -> str:
    """Return the name under which a secure sum is made: its task, and a digest of all that the sites were given.

    The masks are made from it. So a coordinator that gives one site something else than the others, such as a
    request to which the others can only answer zero, or another protocol, gets noise and not that site's vector.
    The masks are made from the roster and from all sites' public keys, too
    (:func:`flower_pansvm.secure_sum.wire.sum_context`).

    ``inputs`` are the values of the question, ``told`` the digest of each broadcast so far, by name, and ``settings``
    that of all settings of the run, with protocol, execution and k among them.
    """
    parts = {"inputs": inputs, "bounds": bounds, "told": told}
    digests = {name: records.digest(values) for name, values in parts.items()}
    return f"{task.name} {records.digest({**digests, 'settings': settings})}"

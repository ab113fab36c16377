"""Tasks: a question to every site, the answer, and how each part of the answer leaves the site.

A part is *summed*: only its exact sum over the sites is learned, of the true records or of their perturbed copies, as
the run's level says. Or it is *dp*: summed with noise for differential privacy, of the true records, and charged to the
hospital's budget. Or it is *disclosed*: the coordinator sees it site by site. Each field of an answer's dataclass says
which by the function that makes it. The gate (`clients/gate`) holds the site to it.

The largest value that a site may hold in a sum does not travel. Bounds follow from constants, from the settings and
from the request itself, all of which are in the sum's name (:func:`sum_name`). A site refuses no value above the bound,
which would tell of one site's values; it goes round (:mod:`flower_pansvm.secure_sum.fixed_point`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, TypeVar, get_type_hints

from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.consents import CONSENTS
from flower_pansvm.records import Values
from flower_pansvm.terms import Terms

UNKNOWN = math.inf
"""Bound of results of unknown size; they take five words a number (:mod:`flower_pansvm.secure_sum.limbs`)."""

COUNT = 2.0**40  # bound for numbers of rows: no federation holds more

SQUARES = 2.0**50  # bound for sums of products of two counts: see `flower_pansvm.counts.patient_squares`

MOST_ROWS = 2**24
"""Most rows that a site trains on; a site with more refuses to take part, whatever it is asked."""

PRIVATE_BOUND = 2.0**25
"""Bound of sums with noise for differential privacy: no row contributes more than 1, and no noise comes near it. Words
of up to 512 sites then hold the noise's own unit."""


Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")

Bound = float | Callable[[Any, Terms, int], float]
"""Largest absolute value of a part at one site: a number, or made of the question, the terms and how many sites."""

Shape = tuple[int | str, ...] | Callable[[Any], tuple[int | str, ...]]
"""Sides of a sum, or made of the question: a length, -1 for any, or arithmetic of what the sites agree on: classes,
class_columns (of decision values), columns and folds, such as ``"columns + 1"``."""

DECLARATION = "leaves"


@dataclass(frozen=True)
class Declaration:
    """The declaration of a part of an answer."""

    how: Literal["summed", "dp", "disclosed"]
    bound: Bound = UNKNOWN  # of a sum
    sensitivity: Callable[[Any], float] = lambda _: math.inf  # of a dp part: see `dp`
    # Of a dp part whose noise is Laplace's instead: its scale, of the question and the site's training rows.
    scale: Callable[[Any, int], float] | None = None
    consent: str | None = None  # key of the node config by which the hospital must have agreed to it
    shape: Shape | None = None  # of a sum, as are the next three, which the coordinator checks: see `summed`
    count: bool = False
    not_negative: bool = False
    most: Callable[[Any], Floats] | None = None

    def __post_init__(self) -> None:
        if self.consent is not None and self.consent not in CONSENTS:
            raise KeyError(f"flower_pansvm/consents.py has no consent '{self.consent}'.")


def summed(
    bound: Bound = UNKNOWN,
    consent: str | None = None,
    *,
    shape: Shape | None = None,
    count: bool = False,
    not_negative: bool = False,
    most: Callable[[Any], Floats] | None = None,
) -> Any:
    """Return the field of a part of which only the sum over the sites is learned, perhaps only with a consent.

    The coordinator ends a run with a sum of another shape; with one of a ``count`` that is negative or not whole; one
    that is negative where it is ``not_negative``; and one larger than ``most`` makes of the question.
    """
    checked = {"shape": shape, "count": count, "not_negative": not_negative, "most": most}
    declared = Declaration("summed", bound, consent=consent, **checked)  # type: ignore[arg-type]
    return field(metadata={DECLARATION: declared})


def dp(sensitivity: Callable[[Any], float], *, shape: Shape, not_negative: bool = False) -> Any:
    """Return the field of a part that is summed with noise for differential privacy, and charged.

    Parameters
    ----------
    sensitivity : callable
        Of an answer, what one row's contribution to the part is divided by, so that all the parts together have at most
        the 2-norm 1. The noise is proportional to it.
    shape, not_negative
        As of `summed`; a sum may be negative by as much as its noise.
    """
    declared = Declaration("dp", PRIVATE_BOUND, sensitivity, shape=shape, not_negative=not_negative)
    return field(metadata={DECLARATION: declared})


def disclosed(consent: str | None = None) -> Any:
    """Return the field of a part that the coordinator receives from each site as it is, perhaps only with a consent."""
    return field(metadata={DECLARATION: Declaration("disclosed", consent=consent)})


@dataclass(frozen=True)
class Nothing:
    """A question without parameters."""


@dataclass(frozen=True)
class Task(Generic[Q, A]):
    """A request to every site: dataclasses of the question and of the answer.

    Each part of the answer has a declaration, those that are summed hold floats. All parts are disclosed, or none is;
    all dp, or none. The question of a dp task has a field ``rho``, the cost of the answer; it is charged
    to the budget of the test rows if the category is 'evaluate', else of the training rows.
    """

    name: str
    category: Literal["query", "train", "evaluate"]  # Flower's
    question: type[Q]
    answer: type[A]
    simulated: bool = False  # whether no hospital answers it, whatever it agrees to
    deals: bool = False  # whether sites send each other secrets with it, which a resumed run needs anew

    def __post_init__(self) -> None:
        types = get_type_hints(self.answer)
        for item in fields(self.answer):  # type: ignore[arg-type]
            if DECLARATION not in item.metadata:
                raise TypeError(
                    f"The answer of task '{self.name}' does not say how '{item.name}' leaves a site. Declare it with "
                    "summed, dp or disclosed of flower_pansvm/tasks.py."
                )
        for name in self.summed:
            if types[name] != Floats:
                raise TypeError(
                    f"In task '{self.name}' the part '{name}' is summed: its type must be Floats."
                )
        if self.disclosed and self.summed:
            raise TypeError(f"Task '{self.name}' both sums and discloses. Make two tasks of it.")
        if self.dp and {item.how for item in self.declared.values()} != {"dp"}:
            raise TypeError(f"Task '{self.name}' has parts that are dp and others that are not.")

    @property
    def message_type(self) -> str:
        """The Flower message type."""
        return f"{self.category}.{self.name}"

    @property
    def declared(self) -> dict[str, Declaration]:
        """How each field of the answer leaves, by name."""
        return {field.name: field.metadata[DECLARATION] for field in fields(self.answer)}  # type: ignore[arg-type]

    @property
    def summed(self) -> tuple[str, ...]:
        """The fields that leave only through a secure sum, exact or with noise."""
        return tuple(name for name, field in self.declared.items() if field.how != "disclosed")

    @property
    def dp(self) -> bool:
        """Whether all that leaves is differentially private and charged."""
        return any(field.how == "dp" for field in self.declared.values())

    @property
    def disclosed(self) -> tuple[str, ...]:
        """The fields that the coordinator receives from each site as they are."""
        return tuple(name for name, field in self.declared.items() if field.how == "disclosed")

    @property
    def consents(self) -> frozenset[str]:
        """The consents that a hospital must have given before it answers."""
        return frozenset(field.consent for field in self.declared.values() if field.consent)


@dataclass(frozen=True)
class Broadcast(Generic[M]):
    """Values that every site keeps for the tasks that follow."""

    name: str  # a later broadcast of the same name replaces an earlier one
    message: type[M]  # dataclass of the values
    cells: bool = False  # whether it has cells of tables, where NaN is missing

    def numbered(self, index: int) -> "Broadcast[M]":
        """Return the numbered broadcast of one of several values of the same kind."""
        return replace(self, name=f"{self.name}.{index}")


def bounds_of(task: Task[Any, Any], question: object, terms: Terms, sites: int) -> dict[str, float]:
    """Return the largest absolute value that a site may hold in each of a task's sums; infinite if unknown."""
    bounds = ((name, task.declared[name].bound) for name in task.summed)
    return {name: bound(question, terms, sites) if callable(bound) else bound for name, bound in bounds}


def sum_name(
    task: Task[Any, Any], inputs: Values, bounds: Mapping[str, float], sent: Mapping[str, str], settings: str
) -> str:
    """Return the name under which a secure sum is made: its task, and a digest of the whole request.

    The masks are made from it. So a coordinator that sends one site another request than the others, such as a
    request that the others can only answer with zero, or another protocol, gets noise and not that site's vector.
    The masks are made from the roster and from all sites' public keys, too
    (:func:`flower_pansvm.secure_sum.keys.sum_context`).

    ``inputs`` are the values of the question, ``sent`` the digest of each broadcast so far, by name, and ``settings``
    that of all settings of the run, with protocol and k among them.
    """
    parts = {"inputs": inputs, "bounds": bounds, "told": sent}
    digests = {name: records.digest(values) for name, values in parts.items()}
    return f"{task.name} {records.digest({**digests, 'settings': settings})}"

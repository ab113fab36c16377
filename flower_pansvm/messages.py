"""What coordinator and sites say to each other, written once.

A *task* is asked of every site in one message. Each of its results either is **summed**, and then leaves the
site only through a secure sum, or is **disclosed**, and then the coordinator sees it site by site.
A *broadcast* is a named set of values that every site keeps for the tasks that follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from flower_pansvm import records
from flower_pansvm.records import Values

COUNT = 2.0**40
"""Bound for numbers of rows: no federation holds more."""


@dataclass(frozen=True)
class Task:
    """A request to every site.

    Parameters
    ----------
    name : str
        Also the action of the Flower message type, ``category.name``.
    category : {'query', 'train', 'evaluate'}
        Flower's category.
    summed : tuple of str
        Results of which only the sum over the sites is learned.
    disclosed : tuple of str
        Results that the coordinator receives from each site as they are.
    bounds : mapping of str to float
        Largest absolute value of those results for which it is the same in every request; of the others it is made
        from the request, or unknown (:mod:`flower_pansvm.bounds`).
    """

    name: str
    category: Literal["query", "train", "evaluate"]
    summed: tuple[str, ...] = ()
    disclosed: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def message_type(self) -> str:
        """The Flower message type."""
        return f"{self.category}.{self.name}"


def sum_name(
    task: Task, inputs: Values, bounds: Mapping[str, float], told: Mapping[str, str], settings: str
) -> str:
    """Return the name under which a secure sum is made: its task, and a digest of all that the sites were given.

    The masks are made from it. So a coordinator that gives one site something else than the others, such as a
    request to which the others can only answer zero, or another protocol, gets noise and not that site's vector.
    The masks are made from the roster and from all sites' public keys, too
    (:func:`flower_pansvm.secure_sum.wire.sum_context`).

    Parameters
    ----------
    task : Task
        The task.
    inputs : mapping
        Its inputs.
    bounds : mapping of str to float
        The bound of each result (:func:`flower_pansvm.bounds.bounds_of`).
    told : mapping of str to str
        Digest of each broadcast so far (:func:`flower_pansvm.records.digest`), by name.
    settings : str
        Digest of all settings of the run, with protocol, execution and k among them (`flower_pansvm.terms.Terms`).
    """
    parts = {
        "inputs": records.digest(inputs),
        "bounds": records.digest(bounds),
        "told": records.digest(told),
        "settings": settings,
    }
    return f"{task.name} {records.digest(parts)}"


def note_name(purpose: str, settings: str) -> str:
    """Return the name under which a note from site to site is sealed that is valid for a whole run."""
    return f"{purpose} {settings}"


JOIN = Task(
    "join",
    "query",
    disclosed=("name", "public_key", "published", "signature", "columns", "absent_is_zero", "classes"),
)
"""In: labels that count as positive. Out: the site's name; its public key for this run's secure sums, what the
protocol publishes besides, and the signature of the site's identity on both; the names of its columns,
whether a column that it lacks is all zero (LIBSVM text), and the names of its classes (not how many rows have them)."""

MOMENTS = Task(
    "moments",
    "train",
    summed=("rows", "test_rows", "count", "total", "square"),
    bounds=dict.fromkeys(("rows", "test_rows", "count"), COUNT),
)
"""Out, for each fold: number of training rows of each class; cells present, sum and sum of squares of each feature.
And the number of test rows."""

ROWS = Task("rows", "train", summed=("rows",), bounds={"rows": COUNT})
"""Out: number of training rows of each fold and class. Asked again only after a site was lost."""

EXTREMES = Task("extremes", "train", disclosed=("low", "high"))
"""Out: smallest and largest cell of each feature in each fold. Asked only with scaling=minmax, and answered only by
hospitals that have agreed to it."""

LANDMARKS = Task("landmarks", "train", summed=("centres", "filled"), bounds={"filled": 1.0})
"""In: for each scaling the fold whose rows it has not seen, and the share of the other rows; slots per site, fewest
rows behind a centre, seed of k-means. Out, for each scaling: the site's k-means centres in its own slots of a zero
matrix, and a 1 for each slot in use."""

ASSIGN = Task("assign", "train", summed=("totals", "weights"))
"""In: for each scaling the fold left out and centres; fewest rows. Out: for each centre the weighted sum of the rows
nearest to it and, for each feature, the sum of their weights, the weights of cells drawn at random: one step of
federated k-means."""

BOX = Task("box", "train", summed=("below", "above"), bounds={"below": 1.0, "above": 1.0})
"""In: for each scaling the fold left out; steps, in scaled units. Out: for each feature and step a 1 if the site has a
row further below, or further above, than that: the sums are numbers of sites."""

WARM_START = Task("warm_start", "train", summed=("weights", "rows"))
"""In: the problems. Out: weights and bias of a local linear SVM for each problem, times the
weight of its rows, and that weight."""

CUTS = Task("cuts", "train", summed=("a", "d", "m", "loss", "curvature"))
"""In: the problems and a question for each. Out: the site's share of the cutting planes and of the hinge loss at each
point (Lu 2016, Algorithm 2, line 7), and of the loss's curvature at the centre."""

SCORES = Task(
    "scores",
    "evaluate",
    summed=("confusion", "histogram"),
    bounds={"confusion": COUNT, "histogram": COUNT},
)
"""In: models, each with the rows it is tried on, its problems, their weights and biases; centre and scale of each
histogram. Out, for each model: counts of true against predicted class, and how many decision values fall into each
bin."""

CLASS_MOMENTS = Task("class_moments", "train", summed=("count", "total", "square"), bounds={"count": COUNT})
"""Out, for each class: cells present, sum and sum of squares of each feature over all training rows, in scaled units.
The filters of feature selection are made of them (Lu 2016, section 6.2.1)."""

SUPPORT = Task("support", "train", summed=("weights", "count", "total", "square"))
"""In: problems, and for each the cutting planes that hold its solution up, with their dual variables; whether support
vectors are weighted at random. Out, for each problem: sum over rows of alpha_i y_i x_i; and for the support vectors of
each side their number, sum and sum of squares of each feature (Lu 2016, section 5.2.2), in scaled units."""

RELAY = Task("relay", "train")
"""A step of a secure sum that takes several: ciphertext from one site on its way to another, or to be opened."""

SCHEMA = "schema"
"""Broadcast, once in a run: columns in common order, classes, positive labels, test fraction, folds, seed."""

SCALING = "scaling"
"""Broadcast: fill, shift and scale of each feature, for each scaling a row."""

LANDMARK_SET = "landmark_set"
"""Broadcast, for each set of landmarks one: the number of its scaling, and the landmarks."""

FEATURE_MAP = "feature_map"
"""Broadcast, for each feature map one: the number of its landmark set, which features it looks at, kernel and
U Lambda^(-1/2)."""


def landmark_set(number: int) -> str:
    """Return the name of the broadcast of one set of landmarks."""
    return f"{LANDMARK_SET}.{number}"


def feature_map(number: int) -> str:
    """Return the name of the broadcast of one feature map."""
    return f"{FEATURE_MAP}.{number}"

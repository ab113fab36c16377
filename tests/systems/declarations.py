"""What each system is tried with, a declaration a system; :mod:`tests.systems.test_systems` reads them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flower_pansvm.errors import FederationError, PanSVMError, SettingError, TableError
from flower_pansvm.systems.admm import CONSENSUS
from flower_pansvm.systems.common import LAYOUT
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_SCORES, PRIVATE_STEP
from flower_pansvm.systems.ensemble import BALLOT, ENSEMBLE_SCORES, HELD_OUT, VOTES
from flower_pansvm.systems.local_only import LOCAL_SCORES
from flower_pansvm.systems.mixture.tasks import GLOBAL_MIXTURE, MIXTURE_SCORES, WEAK_MODELS
from flower_pansvm.systems.output_perturbation import LOCAL_WEIGHTS
from flower_pansvm.systems.pan_svm.tasks import CUTS, FEATURE_MAP, LANDMARK_SET, LANDMARKS, SCORES, WARM_START
from flower_pansvm.systems.random_kernel import CELL, KERNEL
from flower_pansvm.systems.scaling import MOMENTS, SCALING
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from flower_pansvm.systems.ssvd import COLUMN_VOTES, DISTORTED_ROWS
from flower_pansvm.tasks import Broadcast, Task
from flower_pansvm.terms import Scalar

NAN, INF = float("nan"), float("inf")
Message = Task[Any, Any] | Broadcast[Any]


@dataclass(frozen=True)
class Wrong:
    """A question, broadcast or answer with other parts than it should have, and the error that it ends with.

    Parameters
    ----------
    message : Task or Broadcast
        What is changed.
    parts : mapping
        By name what each part becomes, or a function of the whole message that returns it.
    error : type
        Class of the error.
    after : Task or None
        The task that sites refuse after a second broadcast.
    unbounded : bool
        Whether no bound of the sum can be made of it, so that the coordinator does not ask it.
    """

    message: Message
    parts: Mapping[str, Any]
    error: type[PanSVMError] = FederationError
    after: Task[Any, Any] | None = None
    unbounded: bool = False

    def __call__(self, sent: Any) -> Any:
        """Return the message with the other parts."""
        return replace(
            sent, **{name: part(sent) if callable(part) else part for name, part in self.parts.items()}
        )

    def __str__(self) -> str:
        """Return what a test is called by."""
        return f"{self.message.name} {' '.join(self.parts)}"


def wrong(message: Message, error: type[PanSVMError] = FederationError, **parts: Any) -> Wrong:
    """Return a message that is wrong in some parts."""
    return Wrong(message, parts, error)


@dataclass(frozen=True)
class System:
    """A system and what it has to refuse.

    Parameters
    ----------
    strategy : str
        Its name.
    settings : mapping
        Of a short run with simulated sites.
    misspelt : tuple of mapping
        Settings that are refused; the error has to name the last of them.
    consents : tuple of str
        What a hospital has to agree to beside the level.
    at_hospitals : mapping
        Settings of a run at three hospitals.
    leaves : mapping
        What the sites send beside what joining takes, and how.
    not_examined : tuple of str
        Tasks that the audit does not look at.
    audited : mapping
        By name of an entry or a count of the audit what it has to be: a function of the run's result.
    questions, broadcasts, answers : tuple of Wrong
        What a site refuses to be asked or told, and what the coordinator refuses to be answered.
    once : tuple of Wrong
        What a site refuses after it has answered the right question.
    slow : bool
        Whether its runs take more than a second.
    """

    strategy: str
    settings: Mapping[str, Any]
    misspelt: tuple[Mapping[str, Any], ...] = ()
    consents: tuple[str, ...] = ()
    at_hospitals: Mapping[str, Any] | None = None
    leaves: Mapping[tuple[str, str], str] = field(default_factory=dict)
    not_examined: tuple[str, ...] = ()
    audited: Mapping[str, Callable[[Mapping[str, Any]], int]] = field(default_factory=dict)
    questions: tuple[Wrong, ...] = ()
    broadcasts: tuple[Wrong, ...] = ()
    answers: tuple[Wrong, ...] = ()
    once: tuple[Wrong, ...] = ()
    slow: bool = False

    @property
    def agreed(self) -> dict[str, Scalar]:
        """The node config's keys of a hospital that has agreed to all of it."""
        return dict.fromkeys(self.consents, "agreed")


def times(name: str, factor: float) -> Callable[[Any], Any]:
    """Return a function that multiplies a part of a message."""
    return lambda message: factor * getattr(message, name)


def moved(name: str, by: float) -> Callable[[Any], Any]:
    """Return a function that adds a number to the first entry of a part."""

    def change(message: Any) -> Any:
        changed = np.array(getattr(message, name), dtype=np.float64)
        changed.flat[0] += by
        return changed

    return change


def shifted(name: str, by: float) -> Callable[[Any], Any]:
    """Return a function that adds a number to all of a part."""
    return lambda message: getattr(message, name) + by


def without_first(name: str) -> Callable[[Any], Any]:
    """Return a function that takes the first entry of a part away."""
    return lambda message: getattr(message, name)[1:]


def filled(name: str, value: float) -> Callable[[Any], Any]:
    """Return a function that makes all of a part one number."""
    return lambda message: np.full_like(getattr(message, name), value)


NOT_CHOSEN = ({"C": "auto"}, {"gamma": "auto"})
"""A system that chooses nothing by cross-validation says so."""

NO_SVM = ({"C": 0.0}, *({name: value} for name in ("C", "gamma") for value in (-1.0, INF, NAN)))
"""Parameters of an SVM that no settings have."""


def sums(level: str, *tasks: Task[Any, Any]) -> dict[tuple[str, str], str]:
    """Return how all sums of some tasks leave."""
    return {(task.name, part): level for task in tasks for part in task.summed}


def swapped(rows: Any) -> Any:
    """Return rows of which the first two have changed places."""
    return np.vstack([rows[1::-1], rows[2:]])


ENSEMBLE = System(
    "svm-ensemble",
    {"data": "wine", "sites": 3},
    (*NOT_CHOSEN, {"landmarks": "20"}),
    ("test-rows",),
    {},
    {("held_out", "rows"): "disclosed", **sums("perturbed", VOTES, ENSEMBLE_SCORES)},
    ("votes",),
    {"rows_shown": lambda result: result["rows_test"]},
    questions=(
        wrong(VOTES, SettingError, C=0.0),
        wrong(VOTES, SettingError, C=NAN),
        wrong(ENSEMBLE_SCORES, predicted=without_first("predicted")),
        wrong(ENSEMBLE_SCORES, predicted=filled("predicted", 3)),
        wrong(ENSEMBLE_SCORES, predicted=filled("predicted", -1)),
    ),
    broadcasts=(
        wrong(BALLOT, rows=moved("rows", 1e-9)),
        wrong(BALLOT, rows=lambda ballot: swapped(ballot.rows)),
        wrong(
            BALLOT,
            rows=lambda ballot: np.vstack([ballot.rows, ballot.rows[:1]]),
            sites=lambda ballot: (*ballot.sites, ballot.sites[0]),
        ),
        wrong(BALLOT, rows=without_first("rows"), sites=without_first("sites")),
        wrong(BALLOT, sites=lambda ballot: (ballot.sites[-1], *ballot.sites[1:])),
        wrong(BALLOT, sites=without_first("sites")),
        wrong(BALLOT, rows=lambda ballot: np.hstack([ballot.rows, ballot.rows[:, :1]])),
        wrong(BALLOT, rows=lambda ballot: ballot.rows.ravel()),
        wrong(BALLOT, rows=np.empty((0, 13)), sites=()),
        wrong(
            BALLOT,
            rows=lambda ballot: np.vstack([ballot.rows, np.full_like(ballot.rows[:1], INF)]),
            sites=lambda ballot: (*ballot.sites, "nobody"),
        ),
    ),
    answers=(
        *(wrong(HELD_OUT, rows=rows) for rows in (np.zeros(13), np.zeros((2, 12)), np.full((2, 13), -INF))),
        *(wrong(VOTES, votes=times("votes", factor)) for factor in (0.0, 0.3, -1.0)),
        wrong(ENSEMBLE_SCORES, confusion=np.ones(2)),
        *(wrong(ENSEMBLE_SCORES, confusion=times("confusion", factor)) for factor in (0.3, -1.0)),
    ),
    once=(
        wrong(VOTES, C=2.0),
        # Two lists of classes that differ in one row would tell its label.
        wrong(ENSEMBLE_SCORES, predicted=filled("predicted", 1)),
        Wrong(
            BALLOT,
            {
                "rows": lambda ballot: np.vstack([ballot.rows, np.zeros_like(ballot.rows[:1])]),
                "sites": lambda ballot: (*ballot.sites, "nobody"),
            },
            after=VOTES,
        ),
    ),
)

LOCAL_ONLY = System(
    "local-only",
    {"data": "wine", "sites": 3},
    (*NOT_CHOSEN, {"landmarks": "20"}),
    at_hospitals={},
    leaves={("local_scores", "confusion"): "perturbed", ("local_scores", "squares"): "perturbed"},
    questions=tuple(wrong(LOCAL_SCORES, SettingError, **parts) for parts in NO_SVM),
    answers=(
        wrong(LOCAL_SCORES, confusion=np.ones(2)),
        *(wrong(LOCAL_SCORES, confusion=times("confusion", factor)) for factor in (0.3, -1.0)),
    ),
    # Counts by two settings would differ in the test rows that change sides.
    once=(wrong(LOCAL_SCORES, C=1.0 + 1e-12),),
)

SSVD = System(
    "ssvd",
    {"data": "wine", "sites": 3},
    (*NOT_CHOSEN, {"ssvd_order": "select"}),
    ("distorted-rows",),
    # The vote may keep the small column alone, of which the distortion leaves nothing: all columns are distorted.
    {"ssvd_order": "perturb-first"},
    {
        **sums("perturbed", COLUMN_VOTES, SCORES),
        **{("distorted_rows", part): "disclosed" for part in ("rows", "classes")},
    },
    questions=(
        wrong(DISTORTED_ROWS, columns=np.zeros(13, dtype=bool)),
        wrong(DISTORTED_ROWS, columns=np.ones(12, dtype=bool)),
        # Of a single column nothing but the small cells would go.
        wrong(DISTORTED_ROWS, TableError, columns=np.arange(13) == 4),
    ),
    answers=(
        wrong(DISTORTED_ROWS, rows=lambda answer: answer.rows[:, 1:]),
        wrong(DISTORTED_ROWS, rows=without_first("rows")),
        wrong(
            DISTORTED_ROWS, rows=lambda answer: np.where(answer.rows == answer.rows.max(), NAN, answer.rows)
        ),
        wrong(DISTORTED_ROWS, classes=lambda answer: answer.classes + 3),
        wrong(DISTORTED_ROWS, classes=lambda answer: answer.classes - 1),
        *(wrong(COLUMN_VOTES, votes=times("votes", factor)) for factor in (0.3, -1.0)),
    ),
    once=(wrong(DISTORTED_ROWS, columns=lambda asked: asked.columns & (np.cumsum(asked.columns) > 1)),),
)

FEW_STEPS = {"landmarks": "8", "search": "published"}

ADMM = System(
    "svm-admm",
    {"data": "wine", "sites": 3, "privacy": "exact", "kernel": "linear", **FEW_STEPS},
    ({"C": "auto"}, {"kernel": "rbf", "gamma": "auto"}, {"tol": 0.1}),
    at_hospitals=FEW_STEPS,
    questions=(
        Wrong(CONSENSUS, {"rho": times("rho", 0.0)}, unbounded=True),
        Wrong(CONSENSUS, {"rho": times("rho", NAN)}, unbounded=True),
        wrong(CONSENSUS, SettingError, rho=lambda asked: asked.rho[:, 1:]),
        wrong(CONSENSUS, SettingError, points=lambda asked: asked.points[:, :, 1:]),
        wrong(CONSENSUS, SettingError, points=lambda asked: asked.points[:, 1:]),
        Wrong(CONSENSUS, {"points": lambda asked: asked.points[:0]}, unbounded=True),
    ),
    leaves=sums("exact", MOMENTS, LANDMARKS, CONSENSUS, SCORES),
    not_examined=("consensus",),
    audited={"consensus: models": lambda result: 3 * (result["rank"] + 1) * result["consensus_rounds"]},
    slow=True,
)

MIXTURE = System(
    "mixture",
    {"data": "iris", "sites": 3, "risk_bounds": "1", "privacy": "exact"},
    consents=("weak-models",),
    at_hospitals={"min_cluster": 5},
    leaves={
        **{("weak_models", part): "disclosed" for part in WEAK_MODELS.disclosed},
        **sums("exact", MOMENTS, MIXTURE_SCORES),
    },
    audited={"components_disclosed": lambda result: sum(map(sum, result["shared_components"].values()))},
    broadcasts=(wrong(GLOBAL_MIXTURE, weights=times("weights", 2.0)),),
    answers=(
        wrong(WEAK_MODELS, weights=times("weights", 0.8)),
        wrong(WEAK_MODELS, covariances=times("covariances", -1.0)),
        wrong(WEAK_MODELS, means=times("means", NAN)),
        wrong(WEAK_MODELS, means=lambda answer: answer.means[:, 1:]),
        wrong(WEAK_MODELS, rows=times("rows", 0.0)),
    ),
    once=(
        wrong(WEAK_MODELS, seed=1),
        # In other units the same question would be about other groups of the same rows.
        Wrong(SCALING, {"scale": times("scale", 2.0)}, after=WEAK_MODELS),
        Wrong(GLOBAL_MIXTURE, {"means": lambda mixture: mixture.means + 1}, after=MIXTURE_SCORES),
    ),
    slow=True,
)

RANDOM_KERNEL = System(
    "random-kernel",
    {
        **{"data": "wine", "positive": "class_0", "privacy": "exact"},
        **{"split": "checkerboard:2x2", "sites": 4, "min_sites": 2},
    },
    # The weight of the loss is its own: C is the other SVMs', in a comparison too.
    ({"kernel": "poly"}, {"kernel": "sigmoid"}, {"C": 10.0}),
    ("extremes", "kernel-rows", "row-labels"),
    {"random_kernel_rows": 1},
    questions=(wrong(KERNEL, SettingError, rows=15),),
    answers=(
        wrong(CELL, rows=times("rows", 0.3)),
        wrong(CELL, rows=times("rows", -1.0)),
        wrong(CELL, rows=lambda answer: answer.rows[None]),
        wrong(KERNEL, kernel=lambda answer: answer.kernel[:, 1:]),
        wrong(KERNEL, kernel=times("kernel", NAN)),
        wrong(KERNEL, labels=filled("labels", 2)),
        wrong(KERNEL, labels=without_first("labels")),
    ),
    once=(
        wrong(KERNEL, mu=0.7),
        Wrong(LAYOUT, {"blocks": filled("blocks", 0), "columns": filled("columns", 0)}, after=CELL),
    ),
)

PRIVATE_SVM = System(
    "private-svm",
    {"data": "breast_cancer", "sites": 3, "frequencies": 4, "privacy": "dp"},
    ({"gamma": "auto"}, {"gamma": "1,2"}, {"epsilon": 25.0}, {"epsilon": -1.0}, {"C": 3.0}),
    answers=(wrong(LOCAL_WEIGHTS, weights=without_first("weights")),),
)

DP_SVM = System(
    "dp-svm",
    {"data": "breast_cancer", "sites": 3, "epsilon": 4.0, "steps": 1},
    ({"epsilon": 20.5}, {"epsilon": 1e6}, {"privacy": "exact"}),
    answers=(
        *(
            wrong(task, **{part: without_first(part)})
            for task in (PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_STEP, PRIVATE_SCORES)
            for part in task.summed
        ),
        # What noise does not do.
        wrong(PRIVATE_BINS, rows=moved("rows", -2000)),
        wrong(PRIVATE_BINS, cells=moved("cells", -2000)),
        wrong(PRIVATE_BINS, cells=moved("cells", 1000)),
        wrong(PRIVATE_MOMENTS, diagonal=moved("diagonal", -2000)),
        wrong(PRIVATE_MOMENTS, above=moved("above", 2000)),
        wrong(PRIVATE_MOMENTS, above=moved("above", -2000)),
        wrong(PRIVATE_SCORES, cells=moved("cells", -2000)),
    ),
)

PAN_SVM = System(
    "pan-svm",
    {"data": "wine", "sites": 3, "landmarks": "20", "tol": 0.1},
    at_hospitals={"min_cluster": 2},
    leaves=sums("perturbed", MOMENTS, LANDMARKS, WARM_START, CUTS, SCORES),
    not_examined=("warm_start",),
    broadcasts=(
        *(wrong(SCALING, scale=times("scale", factor)) for factor in (0.0, -1.0)),
        wrong(SCALING, shift=times("shift", NAN)),
        wrong(SCALING, fill=lambda scaling: scaling.fill[:, 1:]),
        wrong(SCALING, **{part: lambda scaling: np.empty((0, 13)) for part in ("fill", "shift", "scale")}),
        wrong(LANDMARK_SET.numbered(0), landmarks=without_first("landmarks")),
        wrong(LANDMARK_SET.numbered(0), landmarks=lambda told: told.landmarks[:, 1:]),
        wrong(LANDMARK_SET.numbered(0), landmarks=filled("landmarks", INF)),
        wrong(LANDMARK_SET.numbered(0), scaling=7),
        wrong(FEATURE_MAP.numbered(0), features=without_first("features")),
        wrong(FEATURE_MAP.numbered(0), normalization=lambda told: told.normalization.ravel()),
        wrong(FEATURE_MAP.numbered(0), normalization=filled("normalization", NAN)),
        wrong(FEATURE_MAP.numbered(0), gamma=NAN),
    ),
    answers=(
        wrong(MOMENTS, rows=moved("rows", -1000)),
        wrong(MOMENTS, rows=moved("rows", 0.5)),
        wrong(MOMENTS, count=moved("count", 1000)),
        wrong(MOMENTS, total=moved("total", 1e6)),
        wrong(MOMENTS, square=moved("square", -1e6)),
        wrong(LANDMARKS, filled=filled("filled", 0.25)),
        # Two sites in one slot, and a landmark in a slot that is not filled.
        wrong(LANDMARKS, filled=filled("filled", 1.0)),
        wrong(LANDMARKS, centres=shifted("centres", 1.0)),
        wrong(WARM_START, rows=moved("rows", 100)),
        wrong(WARM_START, rows=filled("rows", -142)),
        # The model would become the point that the sites choose: a loss below all others.
        wrong(CUTS, loss=shifted("loss", -700)),
        wrong(CUTS, loss=moved("loss", -20)),
        wrong(CUTS, m=shifted("m", 100)),
        wrong(CUTS, d=filled("d", 142)),
        wrong(CUTS, curvature=moved("curvature", -50)),
        wrong(SCORES, confusion=moved("confusion", 1)),
        wrong(SCORES, confusion=moved("confusion", -50)),
        wrong(SCORES, histogram=moved("histogram", 1)),
    ),
)

SELECTION = System(
    "voted-wrapper",
    {
        **{"data": "iris", "sites": 3, "privacy": "exact"},
        **{"landmarks": "20", "tol": 0.1, "cv_folds": 2, "step": "0.5"},
    },
    ({"step": "0"}, {"features": "0"}),
    leaves=sums("exact", MOMENTS, LANDMARKS, WARM_START, CUTS, SCORES, CLASS_MOMENTS, SUPPORT),
    not_examined=("warm_start",),
    answers=(
        wrong(CLASS_MOMENTS, count=shifted("count", 60)),
        wrong(SUPPORT, count=moved("count", -200)),
        wrong(SUPPORT, total=moved("total", 210)),
    ),
    slow=True,
)

SYSTEMS = (PAN_SVM, SELECTION, ENSEMBLE, LOCAL_ONLY, SSVD, ADMM, MIXTURE, RANDOM_KERNEL, PRIVATE_SVM, DP_SVM)

"""The site's own mixture of each class: what of it leaves, by the hospital's own bound of risk (Luo et al. 2009)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from clients.groups import squares_of
from clients.site import Site
from clients.systems import answers
from clients.systems.scaling import scaled
from flower_pansvm import constraints, records
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.class_columns import winners
from flower_pansvm.constraints import Constraint, parse, setting
from flower_pansvm.counts import confusion_counts, decision_histogram
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.log import logger
from flower_pansvm.systems.mixture import tasks
from flower_pansvm.systems.mixture.adaptive_em import MOST_COMPONENTS, adaptive_em, first_model, rivals_of
from flower_pansvm.systems.mixture.mixture import DRAWS, LARGEST, Mixture, divergence
from flower_pansvm.systems.scaling import SCALING
from flower_pansvm.tasks import Nothing

LARGEST_RISK = 1000.0  # Delta_c of the text
MOST_COMPARED = 2000  # rows, and synthetic ones, for the time that it takes


def _risk_weights(value: object) -> tuple[float, ...]:
    weights = value if isinstance(value, tuple) else tuple(map(float, str(value).split(",")))
    if len(weights) != 4 or min(weights) < 0 or not abs(sum(weights) - 1) < 1e-6:
        raise ValueError
    return weights


WEIGHTS = Constraint(
    "four numbers with commas between them whose sum is 1: weights of re-identification, linkage, confidentiality "
    "interval and statistical inference",
    _risk_weights,
)


@dataclass(frozen=True)
class Preference:
    """What the hospital has chosen: keys of its node config. The weights are in the order of Tradeoff."""

    risk_bound: float = setting(
        0.5, constraints.number(least=0, most=1), "Largest total risk of what it shares."
    )
    utility_share: float = setting(
        0.5, constraints.number(above=0, most=1), "What utility weighs beside benefit: lambda."
    )
    risk_weights: tuple[float, ...] = setting((0.4, 0.2, 0.2, 0.2), WEIGHTS, "Weights of the four risks.")

    def __post_init__(self) -> None:
        parse(self)


@dataclass(frozen=True)
class Tradeoff:
    """Risks, loss and benefit by number of shared components, shape (components,) each, from 1 on."""

    identification: Floats  # (18): share of all pairs of row and draw that are each other's nearest
    linkage: Floats  # (20): inverse of the information lost
    interval: Floats  # (19): mean inverse distance of a cell from the nearest draw's, in shares of Delta_c
    inference: Floats  # (21): inverse distance of means and covariances
    loss: Floats  # information lost: divergence of what is shared from the whole model
    benefit: Floats  # (23)
    pairs: int  # rows times draws

    def normalised(self) -> Floats:
        """Return the four risks from 0 to 1, shape (4, components): their scales differ by orders of magnitude."""
        return np.stack(
            [
                np.minimum(np.sqrt(self.pairs) * self.identification, 1.0),
                self.utility(),
                self.interval / (1 + self.interval),
                self.inference / (1 + self.inference),
            ]
        )

    def total(self, weights: tuple[float, ...]) -> Floats:
        """Return the total risk, from 0 to 1 (22)."""
        return np.asarray(weights) @ self.normalised()

    def utility(self) -> Floats:
        """Return the inverse of the information lost, from 0 to 1."""
        return 1 - self.loss / LARGEST

    def best(self, preference: Preference) -> int:
        """Return the number of components to share: the most useful within the bound of risk (25); 0 without one."""
        share = preference.utility_share
        gain = share * self.utility() + (1 - share) * self.benefit
        allowed = self.total(preference.risk_weights) <= preference.risk_bound
        return int(np.argmax(np.where(allowed, gain, -np.inf))) + 1 if allowed.any() else 0


def tradeoff(model: Mixture, X: Floats, benefit: Floats, seed: list[int], draws: int = 0) -> Tradeoff:
    """Return risks, loss and benefit of sharing 1, 2, … components, as many as ``benefit`` has.

    ``model`` is of all rows of the class, components of most patients first; ``X`` the rows, shape (rows, features), in
    standardised units; ``benefit``, shape (components,), by number of shared components. By the ``seed`` the draws are
    the same for each number of components; ``draws`` is the number of synthetic rows, 0 for as many as there are rows.
    """
    generator = np.random.default_rng(seed)
    normals = generator.normal(size=(DRAWS, X.shape[1]))
    X = X[generator.permutation(len(X))[:MOST_COMPARED]]
    draws = draws or len(X)
    shared = [model.only(np.arange(count + 1)) for count in range(len(benefit))]
    risks = np.array(
        [_risks(X, subset.sample(draws, np.random.default_rng([*seed, 1]))) for subset in shared]
    )
    loss = np.array([divergence(model, subset, normals) for subset in shared])
    return Tradeoff(
        identification=risks[:, 0],
        linkage=_inverse(loss),
        interval=risks[:, 1],
        inference=risks[:, 2],
        loss=loss,
        benefit=benefit,
        pairs=len(X) * draws,
    )


def benefits(model: Mixture, count: int, logs: Floats, others: Floats, members: Bools) -> Floats:
    """Return 1 - |accuracy of the shared part - accuracy of the whole model| for 1, 2, … components (23).

    The classifier is the mixtures' own, on the site's rows: the shared part is the limit of a classifier that is
    trained on draws from it. Accuracy is the mean of both sides', so that a rare class counts.

    ``model`` is of the class, components of most patients first, of which ``count`` may be shared. Of all rows of the
    site, ``logs``, shape (rows, components), are log densities of the components times the rows of the class,
    ``others``, shape (rows,), those of the most likely other class; ``members``, shape (rows,), are the rows of the
    class.
    """
    full_accuracy = _accuracy(np.logaddexp.reduce(logs, axis=1) > others, members)
    sizes = np.log(np.cumsum(model.weights))
    shared = [
        _accuracy(np.logaddexp.reduce(logs[:, : last + 1], axis=1) - sizes[last] > others, members)
        for last in range(count)
    ]
    return 1 - np.abs(np.array(shared) - full_accuracy)


def _accuracy(predicted: Bools, members: Bools) -> float:
    accuracies = [predicted[members].mean(), *([] if members.all() else [1 - predicted[~members].mean()])]
    return float(np.mean(accuracies))


def _risks(X: Floats, Z: Floats) -> tuple[float, float, float]:
    """Return (18), (19) and (21) of rows and synthetic ones."""
    nearest: Ints = pairwise_distances_argmin(X, Z)
    mutual = np.count_nonzero(pairwise_distances_argmin(Z, X)[nearest] == np.arange(len(X)))
    apart = _inverse(np.abs(X - Z[nearest])).mean() / LARGEST_RISK
    return (
        mutual / (len(X) * len(Z)),
        float(apart),
        float(_inverse(np.linalg.norm(_moments(X) - _moments(Z)))),
    )


def _moments(X: Floats) -> Floats:
    """Return means and covariances."""
    away = X - X.mean(axis=0)
    return np.concatenate([X.mean(axis=0), (away.T @ away / len(X)).ravel()])


def _inverse(distances: Floats | np.floating) -> Floats:
    """Return 1 / distance, at most `LARGEST_RISK`."""
    return 1 / np.maximum(distances, 1 / LARGEST_RISK)


WIDTH = 4.0  # of the histogram: log odds of a row for each feature


@answers(tasks.WEAK_MODELS)
def weak_models(site: Site, question: tasks.WeakModelsQuestion) -> tasks.ClassModels:
    """Fit a mixture to each class, and share of each as many components as the hospital's bound of risk allows."""
    least, train, classes = site.least_patients, site.train(), len(site.schema().classes)
    features = train.X.shape[1]
    site.check_size(float(classes) * MOST_COMPONENTS * features * (1 if question.diagonal else features))
    if question.min_cluster < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={question.min_cluster}: a component could be the mean of fewer "
            f"than {least} patients. Start the run with min-cluster={least}, or lower it in the node config if the "
            "hospital agrees."
        )
    refusal = "to share a second set of models in this run: means of two could differ in one row"
    request = f"{records.digest(records.values_of(question))} {site.digest_of(SCALING)}"
    site.require_same(tasks.WEAK_MODELS.name, request, refusal)
    X, preference = scaled(site, train.X), preference_of(site, question.risk_bounds)
    options = question.min_cluster, question.seed, train.patients
    models = class_models(X, train.classes, bool(question.diagonal), *options)
    shared = {}
    for index in np.unique(train.classes).tolist():
        if index in models:
            risks = tradeoff_of(models, index, X, train.classes, *options)
            count = risks.best(preference) if risks else 0
            if count:
                shared[index] = models[index].only(np.arange(count))
        if index not in shared:
            logger.warning(
                "class '%s' is not shared: too few rows or patients, or no component is within the risk-bound",
                site.schema().classes[index],
            )
    is_shared = np.isin(np.arange(classes), [*shared]).astype(float)
    rows = np.bincount(train.classes, minlength=classes) * is_shared
    return tasks.ClassModels.of(shared, rows, features, bool(question.diagonal))


@answers(tasks.MIXTURE_SCORES)
def mixture_scores(site: Site, question: Nothing) -> tasks.MixtureScoresAnswer:  # noqa: ARG001
    """Count the site's test rows by class, by the class that the global model says, and by its log odds."""
    mixtures, test = site.get_broadcast(tasks.GLOBAL_MIXTURE), site.test()
    classes = len(site.schema().classes)
    try:
        mixtures.check(classes, test.X.shape[1])
    except ValueError:
        raise FederationError(f"Site '{site.name}' received invalid mixtures. {NOT_FOLLOWED}") from None
    refusal = "to evaluate a second model in this run: counts of two reveal the test rows that change sides"
    site.require_same(tasks.MIXTURE_SCORES.name, site.digest_of(tasks.GLOBAL_MIXTURE), refusal)
    odds = mixtures.decisions(scaled(site, test.X))
    masks = [test.classes == (column if classes > 2 else 1) for column in range(odds.shape[1])]
    scale = WIDTH * test.X.shape[1]
    histograms = [decision_histogram(odds[:, i], mask, 0.0, scale) for i, mask in enumerate(masks)]
    counts = confusion_counts(test.classes, winners(odds), classes)
    return tasks.MixtureScoresAnswer(counts, squares_of(site, winners(odds), mixtures), np.stack(histograms))


def class_models(
    X: Floats, classes: Ints, diagonal: bool, least: int, seed: int, patients: Ints | None = None
) -> dict[int, Mixture]:
    """Return the mixture of each class that has at least so many different rows; of few it would give these away.

    Components of most patients come first; without ``patients`` each row is one.
    """
    patient_of_row = np.arange(len(X)) if patients is None else patients
    rows = {index: X[classes == index] for index in np.unique(classes).tolist()}
    rows = {index: cells for index, cells in rows.items() if len(np.unique(cells, axis=0)) >= max(least, 2)}
    starts = {index: first_model(cells, diagonal, seed) for index, cells in rows.items()}
    models = {}
    for index, cells in rows.items():
        generator = np.random.default_rng([seed, index])
        model = adaptive_em(starts[index], cells, rivals_of(index, starts, rows), generator)
        counts = patients_behind(model, cells, patient_of_row[classes == index])
        models[index] = model.only(np.argsort(-counts, kind="stable"))
    return models


def patients_behind(model: Mixture, X: Floats, patients: Ints) -> Floats:
    """Return the number of each component's patients: of each the row that is most likely the component's counts."""
    logs, (unique_patients, indices) = model.log_components(X), np.unique(patients, return_inverse=True)
    largest = np.zeros((len(unique_patients), logs.shape[1]))
    np.maximum.at(largest, indices, np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))
    counts: Floats = largest.sum(axis=0)
    return counts


def tradeoff_of(
    models: Mapping[int, Mixture],
    index: int,
    X: Floats,
    classes: Ints,
    least: int,
    seed: int,
    patients: Ints | None = None,
) -> Tradeoff | None:
    """Return risks and benefits of sharing 1, 2, … components of a class's model, in the order of the model.

    One that is of fewer than ``least`` patients is not among them; None if all are such. Without ``patients`` each row
    is one.
    """
    model, members = models[index], classes == index
    patient_of_row = np.arange(len(X)) if patients is None else patients
    count = int((patients_behind(model, X[members], patient_of_row[members]) >= least).sum())
    if not count:
        return None
    others = np.full(len(X), -np.inf)
    for other, mixture in models.items():
        if other != index:
            others = np.maximum(others, mixture.log_density(X) + np.log((classes == other).sum()))
    logs = model.log_components(X) + np.log(members.sum())
    return tradeoff(model, X[members], benefits(model, count, logs, others, members), [seed, index])


def preference_of(site: Site, simulated: Floats) -> Preference:
    """Return the hospital's settings of risks; of a simulated site the bound that the run has for it."""
    if site.partition is not None:
        return Preference(risk_bound=float(simulated[site.partition[0] % len(simulated)]))
    return site.policy.part(Preference)

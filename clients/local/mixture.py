"""The site's own mixture of each class: what of it leaves, by the hospital's own bound of risk (Luo et al. 2009)."""

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from flwr.common.logger import log

from clients.gate.answering import answers
from clients.gate.requests import check_size
from clients.gate.simulated import is_simulated
from clients.gate.terms import least_rows
from clients.mixture_risks import Preference, Tradeoff, benefits, tradeoff
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import confusion_counts, decision_histogram, winners
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.mixtures.adaptive_em import (
    MOST_COMPONENTS,
    Rivals,
    adaptive_em,
    first_model,
)
from flower_pansvm.mixtures.class_models import ClassModels
from flower_pansvm.mixtures.mixture import Mixture, union
from flower_pansvm.tasks import mixture as tasks
from flower_pansvm.tasks.scaling import SCALING
from flower_pansvm.tasks.task import Nothing

WIDTH = 4.0  # of the histogram: log odds of a row for each feature


@answers(tasks.WEAK_MODELS)
def weak_models(site: Site, question: tasks.WeakModelsQuestion) -> tasks.WeakModelsAnswer:
    """Fit a mixture to each class, and share of each as many components as the hospital's bound of risk allows."""
    least, train, classes = least_rows(site.context), site.train(), len(site.schema().classes)
    features = train.X.shape[1]
    check_size(site, float(classes) * MOST_COMPONENTS * features * (1 if question.diagonal else features))
    if question.min_cluster < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={question.min_cluster}: a component could be the mean of fewer "
            f"than {least} patients. Start the run with min-cluster={least}, or lower it in the node config if the "
            "hospital agrees."
        )
    refusal = "to share a second set of models in this run: means of two could differ in one row"
    asked = f"{records.digest(records.values_of(question))} {site.digest_of(SCALING)}"
    site.settle(tasks.WEAK_MODELS.name, asked, refusal)
    X, preference = site.scaled(train.X), preference_of(site, question.risk_bounds)
    models = class_models(X, train.classes, bool(question.diagonal), question.min_cluster, question.seed)
    shared = {}
    for number in np.unique(train.classes).tolist():
        if number in models:
            risks = tradeoff_of(models, number, X, train.classes, question.min_cluster, question.seed)
            count = risks.best(preference) if risks else 0
            if count:
                shared[number] = models[number].only(np.arange(count))
        if number not in shared:
            text = (
                "class '%s' is not shared: too few different rows, or no component is within the risk-bound"
            )
            log(logging.WARNING, text, site.schema().classes[number])
    rows = np.array([float((train.classes == one).sum()) if one in shared else 0.0 for one in range(classes)])
    return tasks.WeakModelsAnswer(**vars(ClassModels.of(shared, rows, features, bool(question.diagonal))))


@answers(tasks.MIXTURE_SCORES)
def mixture_scores(site: Site, question: Nothing) -> tasks.MixtureScoresAnswer:  # noqa: ARG001
    """Count the site's test rows by class, by the class that the global model says, and by its log odds."""
    told, test, classes = site.told(tasks.GLOBAL_MIXTURE), site.test(), len(site.schema().classes)
    try:
        told.check(classes, test.X.shape[1])
    except ValueError:
        raise FederationError(f"Site '{site.name}' was told no mixtures. {NOT_FOLLOWED}") from None
    refusal = "to try a second model in this run: counts of two tell of the test rows that change sides"
    site.settle(tasks.MIXTURE_SCORES.name, site.digest_of(tasks.GLOBAL_MIXTURE), refusal)
    odds = told.decisions(site.scaled(test.X))
    sides = [test.classes == (column if classes > 2 else 1) for column in range(odds.shape[1])]
    scale = WIDTH * test.X.shape[1]
    histograms = [decision_histogram(odds[:, i], side, 0.0, scale) for i, side in enumerate(sides)]
    return tasks.MixtureScoresAnswer(
        confusion_counts(test.classes, winners(odds), classes), np.stack(histograms)
    )


def class_models(X: Floats, classes: Ints, diagonal: bool, least: int, seed: int) -> dict[int, Mixture]:
    """Return the mixture of each class that has at least so many different rows; of few it would give these away."""
    rows = {number: X[classes == number] for number in np.unique(classes).tolist()}
    rows = {number: own for number, own in rows.items() if len(np.unique(own, axis=0)) >= max(least, 2)}
    first = {number: first_model(own, diagonal, seed) for number, own in rows.items()}
    return {
        number: adaptive_em(
            first[number], own, rivals_of(number, first, rows), np.random.default_rng([seed, number])
        )
        for number, own in rows.items()
    }


def rivals_of(number: int, models: Mapping[int, Mixture], rows: Mapping[int, Floats]) -> Rivals | None:
    """Return the components of all other classes; None if there is no other class."""
    others = [other for other in models if other != number]
    counts = [float(len(rows[other])) for other in others]
    return Rivals(union([models[other] for other in others], counts), sum(counts)) if others else None


def tradeoff_of(
    models: Mapping[int, Mixture], number: int, X: Floats, classes: Ints, least: int, seed: int
) -> Tradeoff | None:
    """Return risks and benefits of sharing 1, 2, … components of a class's model, the largest first.

    One that stands for fewer than ``least`` rows is not among them; None if all are such.
    """
    model, members = models[number], classes == number
    count = int((model.weights * members.sum() >= least).sum())
    if not count:
        return None
    others = np.full(len(X), -np.inf)
    for other, its in models.items():
        if other != number:
            others = np.maximum(others, its.log_density(X) + np.log((classes == other).sum()))
    logs = model.log_components(X) + np.log(members.sum())
    return tradeoff(model, X[members], benefits(model, count, logs, others, members), [seed, number])


def preference_of(site: Site, simulated: Floats) -> Preference:
    """Return what the hospital's node config says of risks; of a simulated site the bound that the run has for it."""
    node, usual = site.context.node_config, Preference()
    if is_simulated(site.context):
        return replace(usual, bound=float(simulated[int(str(node["partition-id"])) % len(simulated)]))
    try:
        found = Preference(
            float(str(node.get("risk-bound", usual.bound))),
            float(str(node.get("utility-share", usual.utility_share))),
            tuple(map(float, str(node.get("risk-weights", ",".join(map(str, usual.weights)))).split(","))),
        )
    except ValueError:
        found = Preference(bound=-1.0)
    weights = found.weights
    sound = len(weights) == 4 and min(weights) >= 0 and abs(sum(weights) - 1) < 1e-6
    if not (sound and 0 <= found.bound <= 1 and 0 < found.utility_share <= 1):
        raise SettingError(
            f"The node config of site '{site.name}' must have a number from 0 to 1 as risk-bound, one above 0 and at "
            "most 1 as utility-share, and as risk-weights four with commas between them whose sum is 1: of "
            "re-identification, linkage, confidentiality interval and statistical inference."
        )
    return found

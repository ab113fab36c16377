"""Mixtures: what the sites share of their classes' models becomes one global model (Luo et al. 2009, section 5)."""

from collections.abc import Mapping
from logging import INFO, WARNING

import numpy as np
from flwr.common.logger import log

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.mixtures.adaptive_em import Rivals, adaptive_em
from flower_pansvm.mixtures.class_models import ClassModels
from flower_pansvm.mixtures.divergence import divergence
from flower_pansvm.mixtures.mixture import Mixture, union
from flower_pansvm.schema import Schema
from flower_pansvm.tasks.mixture import GLOBAL_MIXTURE, MIXTURE_SCORES, WEAK_MODELS, WeakModelsQuestion
from flower_pansvm.tasks.task import Nothing
from strategies.federation.federation import Federation
from strategies.steps.site_differences import share_differences, tell

SYNTHETIC_STREAM, EM_STREAM, QUALITY_STREAM = 101, 102, 103
"""Distinguish draws by the same seed."""

QUALITY_DRAWS = 10_000  # of a model, or more
MOST_SYNTHETIC = 20_000  # of a class, for the time that EM takes

Models = Mapping[int, Mixture]


def gather_weak_models(
    federation: Federation, question: WeakModelsQuestion, schema: Schema
) -> dict[str, ClassModels]:
    """Return what each site shares, by its name.

    Raises
    ------
    FederationError
        If what a site disclosed is no mixture of each class.
    SettingError
        If fewer than two classes are shared.
    """
    answers = federation.collect(WEAK_MODELS, question)
    found = {name: ClassModels(**vars(answers[site.node_id])) for name, site in federation.sites.items()}
    for name, models in found.items():
        try:
            models.check(len(schema.classes), len(schema.columns))
        except ValueError as error:
            raise FederationError(
                f"What site '{name}' disclosed as its models of the classes cannot be. {error} It runs another version "
                "of flower-pansvm, or a changed one."
            ) from None
    tell(federation, share_differences(schema.classes, {name: one.rows for name, one in found.items()}))
    shared = [
        [name for name, models in found.items() if models.components[number]]
        for number in range(len(schema.classes))
    ]
    for label, names in zip(schema.classes, shared, strict=True):
        if len(names) < 2:
            text = "class '%s' is shared by %s: the others have too few rows of it, or their bounds of risk forbid it"
            log(
                WARNING,
                text,
                label,
                f"one site only, '{names[0]}'" if names else "no site, and is never predicted",
            )
    if sum(map(bool, shared)) < 2:
        raise SettingError(
            "The sites share models of fewer than two classes: of the others they have fewer than min-cluster "
            "rows that differ, or none of the components is within a site's bound of risk. Raise risk-bounds "
            "(a hospital's risk-bound is in its node config), or lower min-cluster if the hospitals agree."
        )
    return found


def mean_model(weak: Mapping[str, ClassModels]) -> dict[int, Mixture]:
    """Return of each class the union of what the sites share, by rows (10, 17)."""
    parts: dict[int, list[tuple[Mixture, float]]] = {}
    for models in weak.values():
        for number, model in models.by_class().items():
            parts.setdefault(number, []).append((model, float(models.rows[number])))
    return {number: union(*zip(*own, strict=True)) for number, own in sorted(parts.items())}


def synthetic_samples(weak: Mapping[str, ClassModels], seed: int) -> dict[int, Floats]:
    """Return of each class as many draws from each site's shared model as the site has rows, rows by rows."""
    generator = np.random.default_rng([seed, SYNTHETIC_STREAM])
    parts: dict[int, list[Floats]] = {}
    for models in weak.values():
        for number, model in models.by_class().items():
            rows = int(min(models.rows[number], MOST_SYNTHETIC / len(weak)))
            parts.setdefault(number, []).append(model.sample(rows, generator))
    return {number: np.vstack(own) for number, own in sorted(parts.items())}


def global_model(
    means: Models, samples: Mapping[int, Floats], schema: Schema, seed: int
) -> dict[int, Mixture]:
    """Return of each class what adaptive EM makes of the union, with the synthetic samples of all sites."""
    found = {}
    for number, model in means.items():
        others = [other for other in means if other != number]
        rows = [float(len(samples[other])) for other in others]
        rivals = Rivals(union([means[other] for other in others], rows), sum(rows))
        generator = np.random.default_rng([seed, EM_STREAM, number])
        found[number] = adaptive_em(model, samples[number], rivals, generator)
        text = "class '%s': %d components of the sites become %d"
        log(INFO, text, schema.classes[number], len(model.weights), len(found[number].weights))
    return found


def quality(models: Models, others: Models, rows: Floats, seed: int) -> float:
    """Return the divergence of two models of the same classes, mean by rows (16, 30)."""
    features = next(iter(models.values())).means.shape[1]
    most = max(len(model.weights) for model in (*models.values(), *others.values()))
    draws = QUALITY_DRAWS // most + 1
    normals = np.random.default_rng([seed, QUALITY_STREAM]).normal(size=(draws, features))
    found = [divergence(model, others[number], normals) for number, model in models.items()]
    return float(np.average(found, weights=rows[list(models)]))


def try_global_model(federation: Federation, mixtures: ClassModels) -> tuple[Floats, Evaluation]:
    """Tell the sites the model, and return their counts of test rows, shape (classes, classes), and what these say."""
    federation.broadcast(GLOBAL_MIXTURE, mixtures)
    counts = federation.secure_sum(MIXTURE_SCORES, Nothing())
    return counts.confusion, Evaluation.from_counts(counts.confusion, counts.histogram)

"""Weak mixture models of the sites, combined by synthetic samples (Luo, Fan, Lin, Zhou & Bertino 2009)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import setting
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.schema import Schema
from flower_pansvm.systems.mixture.adaptive_em import MOST_FULL, adaptive_em, rivals_of
from flower_pansvm.systems.mixture.mixture import Mixture, divergence, union
from flower_pansvm.systems.mixture.tasks import (
    GLOBAL_MIXTURE,
    MIXTURE_SCORES,
    WEAK_MODELS,
    ClassModels,
    WeakModelsQuestion,
)
from flower_pansvm.tasks import Nothing
from strategies.api import (
    AggregateResult,
    Federation,
    NystroemSettings,
    Outcome,
    PhasedStrategy,
    Problems,
    Settings,
    broadcast_scalings,
    join,
    learn_moments,
    logger,
    note_differences,
    numbers,
    refusal,
    share_differences,
    term,
    wrong_squares,
)

PERTURBATION = 0.1
"""Share by which the covariances of the published model are enlarged."""

SYNTHETIC_STREAM, EM_STREAM, QUALITY_STREAM = 101, 102, 103
"""Distinguish draws by the same seed."""

QUALITY_DRAWS = 10_000  # of a model, or more
MOST_SYNTHETIC = 20_000  # of a class, for the time that EM takes

Models = Mapping[int, Mixture]


def gather_weak_models(
    federation: Federation, question: WeakModelsQuestion, schema: Schema
) -> dict[str, ClassModels]:
    """Return each site's shared models, by its name.

    Raises
    ------
    FederationError
        If a site's reply is not a mixture of each class.
    SettingError
        If fewer than two classes are shared.
    """
    shared_models = federation.collect(WEAK_MODELS, question)
    for name, models in shared_models.items():
        try:
            models.check(len(schema.classes), len(schema.columns))
        except ValueError as error:
            raise refusal(name, f"its models of the classes are invalid ({error})") from None
    rows = {name: models.rows for name, models in shared_models.items()}
    note_differences(federation, share_differences(schema.classes, rows))
    shared = [
        [name for name, models in shared_models.items() if models.components[index]]
        for index in range(len(schema.classes))
    ]
    for label, names in zip(schema.classes, shared, strict=True):
        if len(names) < 2:
            owners = f"one site only, '{names[0]}'" if names else "no site, and is never predicted"
            text = "class '%s' is shared by %s: the others have too few rows of it, or their bounds of risk forbid it"
            logger.warning(text, label, owners)
    if sum(map(bool, shared)) < 2:
        raise SettingError(
            "The sites share models of fewer than two classes: of the other classes they have fewer than min-cluster "
            "different rows, or no component within a site's bound of risk. Raise risk-bounds (a hospital's risk-bound "
            "is in its node config), or lower min-cluster if the hospitals agree."
        )
    return shared_models


def mean_model(weak: Mapping[str, ClassModels]) -> dict[int, Mixture]:
    """Return the union of the sites' models of each class, weighted by rows (10, 17)."""
    parts: dict[int, list[tuple[Mixture, float]]] = {}
    for models in weak.values():
        for index, model in models.by_class().items():
            parts.setdefault(index, []).append((model, float(models.rows[index])))
    return {
        index: union(*zip(*models_and_rows, strict=True)) for index, models_and_rows in sorted(parts.items())
    }


def synthetic_samples(weak: Mapping[str, ClassModels], seed: int) -> dict[int, Floats]:
    """Return draws of each class: from each site's shared model as many as the site has rows."""
    generator = np.random.default_rng([seed, SYNTHETIC_STREAM])
    parts: dict[int, list[Floats]] = {}
    for models in weak.values():
        for index, model in models.by_class().items():
            rows = int(min(models.rows[index], MOST_SYNTHETIC / len(weak)))
            parts.setdefault(index, []).append(model.sample(rows, generator))
    return {index: np.vstack(draws) for index, draws in sorted(parts.items())}


def global_model(
    means: Models, samples: Mapping[int, Floats], schema: Schema, seed: int
) -> dict[int, Mixture]:
    """Return the adaptive-EM model of each class, from the union and the synthetic samples of all sites."""
    combined = {}
    for index, model in means.items():
        generator = np.random.default_rng([seed, EM_STREAM, index])
        combined[index] = adaptive_em(model, samples[index], rivals_of(index, means, samples), generator)
        text = "class '%s': %d components of the sites become %d"
        logger.info(text, schema.classes[index], len(model.weights), len(combined[index].weights))
    return combined


def quality(models: Models, others: Models, rows: Floats, seed: int) -> float:
    """Return the divergence of two models of the same classes, mean by rows (16, 30)."""
    features = next(iter(models.values())).means.shape[1]
    most = max(len(model.weights) for model in (*models.values(), *others.values()))
    draws = QUALITY_DRAWS // most + 1
    normals = np.random.default_rng([seed, QUALITY_STREAM]).normal(size=(draws, features))
    divergences = [divergence(model, others[index], normals) for index, model in models.items()]
    return float(np.average(divergences, weights=rows[list(models)]))


def evaluate_global_model(federation: Federation, mixtures: ClassModels) -> Evaluation:
    """Broadcast the model, and return the evaluation by the sites' counts of test rows."""
    federation.broadcast(GLOBAL_MIXTURE, mixtures)
    counts = federation.secure_sum(MIXTURE_SCORES, Nothing(), relations=wrong_scores)
    return Evaluation.from_counts(counts.confusion, counts.histogram, squares=counts.squares)


def wrong_scores(result: AggregateResult) -> Problems:
    """Yield a problem unless each test row is counted once, and once in the histogram of each column."""
    if (result.sums["histogram"].sum(axis=(1, 2)) != result.sums["confusion"].sum()).any():
        yield "'histogram' does not have the rows of 'confusion'"
    yield from wrong_squares(result)


@dataclass(frozen=True)
class MixtureSettings(Settings):
    """The limits of sharing. Rows are always standardised; covariances are full up to `MOST_FULL` features."""

    min_cluster: int = term("min_cluster", NystroemSettings)
    risk_bounds: tuple[float, ...] = setting(
        (0.5,),
        numbers(least=0, most=1),
        "Largest risk, 0 to 1, at which simulated sites share components; of several, each site takes the next.",
    )

    def question(self, features: int) -> WeakModelsQuestion:
        """Return the question to the sites."""
        return WeakModelsQuestion(
            self.seed, int(features > MOST_FULL), self.min_cluster, np.array(self.risk_bounds)
        )


class WeakMixtures(PhasedStrategy):
    """Every site shares components of its local mixture of each class; draws from them train a global model.

    Attributes
    ----------
    weak : dict of str to ClassModels
        Each site's shared models.
    mean, combined : dict of int to Mixture
        By class: the union of all sites' components, and the global model before its perturbation.
    """

    settings_class = MixtureSettings
    settings: MixtureSettings
    weak: dict[str, ClassModels]
    mean: Models
    combined: Models

    def fit(self, federation: Federation) -> Outcome:
        """Collect the weak models, combine them, perturb the result and evaluate it on the sites' test rows."""
        settings, phase = self.settings, federation.costs.phase
        with phase("join"):
            schema = join(federation, settings)
        features = len(schema.columns)
        with phase("scaling"):
            moments = learn_moments(federation, "standard")
            scaled, rows = moments.scaled(), moments.class_rows()
            broadcast_scalings(federation, [scaled.scaling])
        with phase("weak models"):
            self.weak = gather_weak_models(federation, settings.question(features), schema)
        with phase("global model"):
            self.mean = mean_model(self.weak)
            samples = synthetic_samples(self.weak, settings.seed)
            self.combined = global_model(self.mean, samples, schema, settings.seed)
            published = {index: model.perturbed(PERTURBATION) for index, model in self.combined.items()}
            mixtures = ClassModels.of(published, rows, features, features > MOST_FULL)
        with phase("evaluation"):
            evaluation = evaluate_global_model(federation, mixtures)
        model = GaussianMixtures.from_parts(schema, scaled.scaling, mixtures)
        figures = {
            "constant_columns": moments.constant_columns(schema.columns),
            **self._figures(schema, published, rows),
        }
        return Outcome(model, evaluation, figures)

    def _figures(self, schema: Schema, published: Models, rows: Floats) -> dict[str, Any]:
        seed = self.settings.seed
        return {
            "shared_components": {name: models.components.tolist() for name, models in self.weak.items()},
            "components": {schema.classes[index]: len(model.weights) for index, model in published.items()},
            "divergence_from_mean_model": quality(self.combined, self.mean, rows, seed),
            "quality_lost_by_perturbation": quality(self.combined, published, rows, seed),
        }

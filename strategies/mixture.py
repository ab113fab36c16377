"""Weak mixture models of the sites, combined by synthetic samples (Luo, Fan, Lin, Zhou & Bertino 2009)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.mixtures.adaptive_em import MOST_FULL
from flower_pansvm.mixtures.class_models import ClassModels
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.schema import Schema
from flower_pansvm.setting_values import Kind, setting
from flower_pansvm.tasks.mixture import WeakModelsQuestion
from flower_pansvm.tasks.scaling import MOMENTS, SCALING, ScalingBroadcast
from flower_pansvm.tasks.task import Nothing
from strategies.federation.federation import Federation
from strategies.nystroem_settings import NystroemSettings
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.setting_kinds import number, number_text
from strategies.settings import Settings, term
from strategies.steps import fitted_scaling
from strategies.steps.joining import join
from strategies.steps.mixture import (
    Models,
    gather_weak_models,
    global_model,
    mean_model,
    quality,
    synthetic_samples,
    try_global_model,
)
from strategies.strategy import PhasedStrategy

PERTURBATION = 0.1
"""By which share covariances of the model that is given out are larger."""


def _bounds() -> Kind:
    """Return the kind of bounds of risk, one a site, kept in their order."""

    def found(value: Any) -> tuple[float, ...]:
        bounds = tuple(
            number(least=0).read(part)
            for part in (value if isinstance(value, tuple) else str(value).split(","))
        )
        if max(bounds) > 1:
            raise ValueError
        return bounds

    return Kind(
        "numbers from 0 to 1, separated by commas", found, lambda values: ",".join(map(number_text, values))
    )


@dataclass(frozen=True)
class MixtureSettings(Settings):
    """How much is shared. Rows are always standardised; covariances are full up to `MOST_FULL` features."""

    min_cluster: int = term("min_cluster", NystroemSettings)
    risk_bounds: tuple[float, ...] = setting(
        (0.5,),
        _bounds(),
        "Largest risk, 0 to 1, that simulated sites share components at: one after the other, and again.",
    )

    def question(self, features: int) -> WeakModelsQuestion:
        """Return what the sites are asked."""
        return WeakModelsQuestion(
            self.seed, int(features > MOST_FULL), self.min_cluster, np.array(self.risk_bounds)
        )


@strategies.register("mixture")
class WeakMixtures(PhasedStrategy):
    """Every site shares components of its own mixture of each class; what is drawn from them trains a global model.

    Attributes
    ----------
    weak : dict of str to ClassModels
        What each site shares.
    mean, combined : dict of int to Mixture
        Of each class the union of all sites' components, and the global model before its perturbation.
    """

    settings_class = MixtureSettings
    settings: MixtureSettings
    weak: dict[str, ClassModels]
    mean: Models
    combined: Models

    def fit(self, federation: Federation) -> Outcome:
        """Gather the weak models, combine them, perturb the result and have the sites try it on their test rows."""
        chosen, phase = self.settings, federation.costs.phase
        with phase("join"):
            schema = join(federation, chosen)
        features = len(schema.columns)
        with phase("scaling"):
            sums = federation.secure_sum(MOMENTS, Nothing())
            rows = sums.rows.sum(axis=0)
            if np.count_nonzero(rows) < 2:
                raise TableError(
                    f"The sites' {int(rows.sum())} training rows are all of one class. Lower test-fraction, or check "
                    "the label column."
                )
            columns = [part.sum(axis=0) for part in (sums.count, sums.total, sums.square)]
            scaling = fitted_scaling.standard(*columns)
            told = ScalingBroadcast(scaling.fill[None], scaling.shift[None], scaling.scale[None])
            federation.broadcast(SCALING, told)
        with phase("weak models"):
            self.weak = gather_weak_models(federation, chosen.question(features), schema)
        with phase("global model"):
            self.mean = mean_model(self.weak)
            samples = synthetic_samples(self.weak, chosen.seed)
            self.combined = global_model(self.mean, samples, schema, chosen.seed)
            given_out = {one: model.perturbed(PERTURBATION) for one, model in self.combined.items()}
            mixtures = ClassModels.of(given_out, rows, features, features > MOST_FULL)
        with phase("evaluation"):
            confusion, evaluation = try_global_model(federation, mixtures)
        model = GaussianMixtures.from_parts(schema, scaling, mixtures)
        figures = {
            "confusion": confusion.astype(int).tolist(),
            "constant_columns": fitted_scaling.constant_columns(schema.columns, *columns),
            **self._figures(schema, given_out, rows),
        }
        return Outcome(model, evaluation, figures)

    def _figures(self, schema: Schema, given_out: Models, rows: Floats) -> dict[str, Any]:
        seed = self.settings.seed
        return {
            "shared_components": {name: models.components.tolist() for name, models in self.weak.items()},
            "components": {schema.classes[one]: len(model.weights) for one, model in given_out.items()},
            "divergence_from_mean_model": quality(self.combined, self.mean, rows, seed),
            "quality_lost_by_perturbation": quality(self.combined, given_out, rows, seed),
        }

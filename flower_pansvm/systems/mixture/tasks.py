"""Mixtures: each hospital's own model of each class, as far as it shares it; and the global one, to be evaluated.

Luo et al. 2009, section 3: one mixture a class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import BINS
from flower_pansvm.systems.mixture.mixture import Mixture
from flower_pansvm.tasks import COUNT, SQUARES, Broadcast, Nothing, Task, disclosed, summed

LARGEST_ODDS = 1e6  # of a class against the others, as a logarithm


@dataclass(frozen=True)
class WeakModelsQuestion:
    """Asks a site for its own model of each class, of the scaled rows."""

    seed: int
    diagonal: int  # 1 for diagonal covariances, 0 for full ones
    min_cluster: int  # fewest patients of a component, and of a class
    risk_bounds: (
        Floats  # of simulated sites, one after the other and again; a hospital's is in its node config
    )


@dataclass(frozen=True)
class ClassModels:
    """The models of all classes, as they travel and as they classify: mixtures put end to end, in the classes' order.

    A site discloses its own, of each class as many components as its bound of risk allows.
    """

    rows: Floats = disclosed(consent="weak-models")  # (classes,): that each class's model stands for
    components: Ints = disclosed(consent="weak-models")  # (classes,): how many its model has; 0 for no model
    weights: Floats = disclosed(consent="weak-models")  # (all components,): those of a class add up to 1
    means: Floats = disclosed(consent="weak-models")  # (all components, features)
    # (all components, features, features); diagonal ones (all components, features)
    covariances: Floats = disclosed(consent="weak-models")

    @classmethod
    def of(cls, models: Mapping[int, Mixture], rows: Floats, features: int, diagonal: bool) -> Self:
        """Put the models of some classes, by number, end to end."""
        ordered = [models[index] for index in sorted(models)]
        components = [len(models[index].weights) if index in models else 0 for index in range(len(rows))]
        wide = () if diagonal else (features,)
        return cls(
            rows,
            np.array(components, dtype=np.int64),
            np.concatenate([np.empty(0), *(model.weights for model in ordered)]),
            np.vstack([np.empty((0, features)), *(model.means for model in ordered)]),
            np.concatenate(
                [
                    np.empty((0, features, *wide)),
                    *((model if diagonal else model.full()).covariances for model in ordered),
                ]
            ),
        )

    def by_class(self) -> dict[int, Mixture]:
        """Return the mixture of each class that has one."""
        ends = np.cumsum(self.components)
        slices = {index: slice(end - self.components[index], end) for index, end in enumerate(ends)}
        return {
            index: Mixture(self.weights[slice_], self.means[slice_], self.covariances[slice_])
            for index, slice_ in slices.items()
            if self.components[index]
        }

    def check(self, classes: int, features: int) -> None:
        """Check that the models are of so many classes and features; ValueError if not."""
        total = int(self.components.sum())
        wide = (total, features) if self.covariances.ndim == 2 else (total, features, features)
        shapes = self.rows.shape, self.components.shape, self.weights.shape, self.means.shape
        numbers = (self.rows, self.weights, self.means, self.covariances)
        if shapes != ((classes,), (classes,), (total,), (total, features)) or self.covariances.shape != wide:
            raise ValueError("The parts do not fit together.")
        if (self.components < 0).any() or not all(np.isfinite(array).all() for array in numbers):
            raise ValueError(
                "The mixture parameters are invalid: one is no finite number, or a count is negative."
            )
        models = self.by_class()
        sums = [model.weights.sum() for model in models.values()]
        if (
            not ((self.weights > 0).all() and np.allclose(sums, 1))
            or (self.rows[self.components > 0] <= 0).any()
        ):
            raise ValueError("Weights or numbers of rows are not above 0, or weights do not add up to 1.")
        sizes = (
            self.covariances if self.covariances.ndim == 2 else np.linalg.eigvalsh(self.covariances)
        )  # LinAlgError is a ValueError
        if not (sizes > 0).all():
            raise ValueError("Covariances are not positive definite.")

    def decisions(self, X: Floats) -> Floats:
        """Return log odds of each class against the others, shape (rows, classes); of two, those of class 1 only.

        Classes are as likely as they have rows (reconstructed). One without a model never wins.
        """
        logs = np.full((len(X), len(self.rows)), -np.inf)
        for index, model in self.by_class().items():
            logs[:, index] = model.log_density(X) + np.log(self.rows[index])
        columns = range(len(self.rows)) if len(self.rows) > 2 else [1]
        odds = [
            logs[:, index] - np.logaddexp.reduce(np.delete(logs, index, axis=1), axis=1) for index in columns
        ]
        clipped: Floats = np.clip(np.stack(odds, axis=1), -LARGEST_ODDS, LARGEST_ODDS)
        return clipped


WEAK_MODELS = Task("weak_models", "train", WeakModelsQuestion, ClassModels)
"""Answered for one question a run."""

GLOBAL_MIXTURE = Broadcast("global_mixture", ClassModels)


@dataclass(frozen=True)
class MixtureScoresAnswer:
    """Counts of test rows, by true and predicted class; and of log odds in each bin, of one class or of each."""

    confusion: Floats = summed(COUNT, shape=("classes", "classes"), count=True)
    squares: Floats = summed(SQUARES, shape=(-1, -1), count=True)  # see patient_squares
    histogram: Floats = summed(COUNT, shape=("class_columns", 2, BINS), count=True)


MIXTURE_SCORES = Task("mixture_scores", "evaluate", Nothing, MixtureScoresAnswer)
"""Answered for one global model a run: counts by two would differ in the test rows that change sides."""

"""Mixtures: each hospital's own model of each class, as far as it shares it; and the global one, to be tried."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import BINS
from flower_pansvm.systems.mixture.class_models import ClassModels
from flower_pansvm.tasks import COUNT, Broadcast, Nothing, Task, disclosed, summed


@dataclass(frozen=True)
class WeakModelsQuestion:
    """Asks a site for its own model of each class, of the scaled rows."""

    seed: int
    diagonal: int  # 1 for diagonal covariances, 0 for full ones
    min_cluster: int  # fewest rows of a component, and of a class
    risk_bounds: (
        Floats  # of simulated sites, one after the other and again; a hospital's is in its node config
    )


@dataclass(frozen=True)
class WeakModelsAnswer:
    """What the site shares, see :class:`ClassModels`: of each class as many components as its bound of risk allows."""

    rows: Floats = disclosed(consent="weak-models")  # (classes,): 0 for a class that is not shared
    components: Ints = disclosed(consent="weak-models")
    weights: Floats = disclosed(consent="weak-models")
    means: Floats = disclosed(consent="weak-models")
    covariances: Floats = disclosed(consent="weak-models")


WEAK_MODELS = Task("weak_models", "train", WeakModelsQuestion, WeakModelsAnswer)
"""Answered for one question a run."""

GLOBAL_MIXTURE = Broadcast("global_mixture", ClassModels)


@dataclass(frozen=True)
class MixtureScoresAnswer:
    """Counts of test rows, by true and predicted class; and of log odds in each bin, of one class or of each."""

    confusion: Floats = summed(COUNT, shape=("classes", "classes"), count=True)
    histogram: Floats = summed(COUNT, shape=(-1, 2, BINS), count=True)


MIXTURE_SCORES = Task("mixture_scores", "evaluate", Nothing, MixtureScoresAnswer)
"""Answered for one global model a run: counts by two would differ in the test rows that change sides."""

"""The experiments behind the figures of Luo et al. 2009, each on the simulated sites of one run's settings."""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin_min

from clients.systems.mixture import Preference, Tradeoff, class_models, rivals_of, tradeoff, tradeoff_of
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import winners
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.systems.mixture.adaptive_em import (
    MOST_FULL,
    OPERATIONS,
    adaptive_em,
    first_model,
    floor_of,
)
from flower_pansvm.systems.mixture.class_models import ClassModels
from flower_pansvm.systems.mixture.mixture import Mixture
from simulations.data.pooling import Pooled, fit_scaling, pooled
from simulations.engines.running import train_in_process
from strategies.mixture import MixtureSettings, WeakMixtures, quality

Numbers = dict[str, float]

STRENGTHS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
DRAWS = (50, 200, 800, 3200)
OWN_ROWS = (10, 40)
RATIOS = (0.0, 0.5, 1.0, 2.0, 4.0)
SELECTIONS = {
    "split only": (("split",), 1),
    "merge only": (("merge",), 12),
    "SMEM": (("merge", "split"), 12),
    "adaptive": (OPERATIONS, 12),
}
"""Operations, and components to start with; only the adaptive one looks at the other classes."""


def combined(settings: MixtureSettings) -> Numbers:
    """Return accuracies in percent, of the combined model and of its rivals (Table 2); what it costs and loses."""
    strategy = train_in_process(settings)
    assert isinstance(strategy, WeakMixtures)
    model = strategy.outcome.model
    assert isinstance(model, GaussianMixtures)
    rows = pooled(settings)
    X, Z = (model.scaling_.transform(part.X) for part in (rows.train, rows.test))
    given, features = model.mixtures_, X.shape[1]
    mean = ClassModels.of(dict(strategy.mean), given.rows, features, features > MOST_FULL)
    weak = list(strategy.weak.values())
    # scikit-learn's own penalty; it learns from the sites' own training rows, which a federation could not pool.
    stacked = LogisticRegression(max_iter=300).fit(_outputs(weak, X), rows.train.classes)
    combined_rows = np.array(given.rows)
    lost = {
        f"{strength:g}": quality(
            strategy.combined,
            {one: own.perturbed(strength) for one, own in strategy.combined.items()},
            combined_rows,
            settings.seed,
        )
        for strength in STRENGTHS
    }
    shared = [sum(part.size for part in vars(models).values()) for models in weak]
    accuracy = {
        "weak, mean of sites": float(np.mean([_accuracy(models, Z, rows.test.classes) for models in weak])),
        "ours": _accuracy(given, Z, rows.test.classes),
        "mean model": _accuracy(mean, Z, rows.test.classes),
        "stacked": 100 * float((stacked.predict(_outputs(weak, Z)) == rows.test.classes).mean()),
    }
    return {
        **accuracy,
        **lost,
        "numbers shared": float(sum(shared)),
        "numbers with perturbed rows": float(X.size),
        "share": 100 * sum(shared) / X.size,
    }


def selected(settings: MixtureSettings) -> Numbers:
    """Return the accuracy on test rows of all rows' mixtures, by the way that the components are found."""
    X, Z, rows = _standardised(settings)
    diagonal, found = X.shape[1] > MOST_FULL, {}
    own = {number: X[rows.train.classes == number] for number in range(len(rows.schema.classes))}
    counts = np.array([float(len(part)) for part in own.values()])
    for name, (operations, most) in SELECTIONS.items():
        first = {one: first_model(part, diagonal, settings.seed, most) for one, part in own.items()}
        models = {
            one: adaptive_em(
                first[one],
                part,
                rivals_of(one, first, own) if name == "adaptive" else None,
                np.random.default_rng([settings.seed, one]),
                operations,
            )
            for one, part in own.items()
        }
        found[name] = _accuracy(ClassModels.of(models, counts, X.shape[1], diagonal), Z, rows.test.classes)
    return found


def risks(settings: MixtureSettings) -> Numbers:
    """Return risks, utility and benefit at the largest site, mean over the classes, by what is shared.

    By number of components, as a share of each class's (Figures 10, 11); and with all of them by number of draws
    (Figure 12). And how far another site's rows are from the nearest draw of this one's, by strength of the
    perturbation (Figure 13).
    """
    X, _, rows = _standardised(settings)
    mine, diagonal = rows.train.sites == 0, X.shape[1] > MOST_FULL
    classes: Ints = rows.train.classes[mine]
    found: dict[str, list[float]] = {}
    least, seed = settings.min_cluster, settings.seed
    models = class_models(X[mine], classes, diagonal, least, seed)
    for number, model in models.items():
        by_count = tradeoff_of(models, number, X[mine], classes, least, seed)
        if by_count is None or len(by_count.loss) < 2:
            continue
        for name, numbers in _figures(by_count).items():
            for place, label in ((0, "first"), (len(numbers) // 2, "half"), (-1, "all")):
                found.setdefault(f"{name}, {label}", []).append(float(numbers[place]))
        own = X[mine][classes == number]
        for draws in DRAWS:
            by_draws = _figures(tradeoff(model, own, np.ones(len(model.weights)), [seed, number], draws))
            for name in ("total", "identification", "interval", "inference"):
                found.setdefault(f"{name}, {draws} draws", []).append(float(by_draws[name][-1]))
        others = X[(rows.train.sites == 1) & (rows.train.classes == number)]
        for strength in STRENGTHS:
            drawn = model.perturbed(strength).sample(2000, np.random.default_rng(seed))
            _, apart = pairwise_distances_argmin_min(others, drawn)
            found.setdefault(f"{strength:g} distance", []).append(float(apart.mean()))
    return {name: float(np.mean(numbers)) for name, numbers in found.items()}


def dishonest(settings: MixtureSettings) -> Numbers:
    """Return points of accuracy that the smallest site's predictor gains by another's draws (Figures 7 to 9).

    It has some labelled rows of each class, and for each of these so many draws from the largest site's models, whose
    classes it does not know: an EM of one Gaussian a class in which these have their classes by posteriors.
    """
    X, Z, rows = _standardised(settings)
    largest, smallest = (rows.train.sites == site for site in (0, 2))
    diagonal, seed = X.shape[1] > MOST_FULL, settings.seed
    models = class_models(X[largest], rows.train.classes[largest], diagonal, settings.min_cluster, seed)
    generator, found = np.random.default_rng(seed), {}
    order = generator.permutation(np.flatnonzero(smallest))
    for most in OWN_ROWS:
        chosen = np.concatenate(
            [order[rows.train.classes[order] == number][:most] for number in range(len(rows.schema.classes))]
        )
        alone = None
        for ratio in RATIOS:
            drawn = [
                model.sample(round(ratio * most), np.random.default_rng(seed)) for model in models.values()
            ]
            said = _semi_supervised(X[chosen], rows.train.classes[chosen], np.vstack(drawn), Z)
            accuracy = 100 * float((said == rows.test.classes).mean())
            alone = accuracy if alone is None else alone
            found[f"{most} rows a class, {ratio:g}"] = accuracy - alone
    return found


EXPERIMENTS: Mapping[str, Callable[[MixtureSettings], Numbers]] = {
    "combined": combined,
    "selected": selected,
    "risks": risks,
    "dishonest": dishonest,
}
"""By the name that runs use."""


def _standardised(settings: MixtureSettings) -> tuple[Floats, Floats, Pooled]:
    """Return all training rows and all test rows, standardised, and what they are."""
    rows = pooled(settings)
    scaling = fit_scaling("standard", rows.train.X)
    return scaling.transform(rows.train.X), scaling.transform(rows.test.X), rows


def _figures(by_count: Tradeoff) -> dict[str, Floats]:
    named = ("identification", "linkage", "interval", "inference", "benefit")
    parts = {name: getattr(by_count, name) for name in named}
    return {
        **parts,
        "total": by_count.total(Preference().weights),
        "utility": by_count.utility(),
    }


def _accuracy(models: ClassModels, X: Floats, classes: Ints) -> float:
    return 100 * float((winners(models.decisions(X)) == classes).mean())


def _outputs(weak: list[ClassModels], X: Floats) -> Floats:
    """Return the weak models' probabilities, side by side."""
    return np.hstack([1 / (1 + np.exp(-np.clip(models.decisions(X), -30, 30))) for models in weak])


def _semi_supervised(X: Floats, classes: Ints, unlabelled: Floats, Z: Floats, steps: int = 10) -> Ints:
    """Return the class of each row of Z by one diagonal Gaussian a class, found with rows of unknown class besides."""
    count = int(classes.max()) + 1
    known, everything = np.eye(count)[classes], np.vstack([X, unlabelled])
    shares = np.vstack([known, np.zeros((len(unlabelled), count))])
    floor = floor_of(X)
    model = None
    for _ in range(steps if len(unlabelled) else 1):
        rows = shares.sum(axis=0)
        means = shares.T @ everything / rows[:, None]
        variances = np.stack(
            [shares[:, i] @ np.square(everything - means[i]) / rows[i] + floor for i in range(count)]
        )
        model = Mixture(rows / rows.sum(), means, variances)
        if len(unlabelled):
            logs = model.log_components(unlabelled)
            shares[len(X) :] = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    assert model is not None
    said: Ints = model.log_components(Z).argmax(axis=1)
    return said

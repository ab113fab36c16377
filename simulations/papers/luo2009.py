"""H. Luo, J. Fan, X. Lin, A. Zhou, E. Bertino on weak mixture models, 2009: four UCI sets, each at three sites.

The numbers of the paper are lost: only its sentences on a figure can be compared. Here are Table 2, the accuracy of the
combined model, and Figures 10 and 11, the costs and benefits of more shared components.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from clients.systems.mixture import Preference, Tradeoff, class_models, tradeoff_of
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.class_columns import winners
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.systems.mixture.adaptive_em import MOST_FULL
from flower_pansvm.systems.mixture.tasks import ClassModels
from flower_pansvm.terms import Scalar
from simulations.data.pooling import pooled
from simulations.engines.in_process import train_in_process
from simulations.papers.declared import declared
from simulations.papers.reproduction import Position, Prepared, Setup, experiment, per_cell
from strategies.mixture import MixtureSettings, WeakMixtures
from strategies.settings import Settings
from strategies.steps.scaling import scaling_of_rows

DATA = {"Letter": "letter", "Pen": "pendigits", "Satimage": "satimage", "Spam": "spambase"}
SHARES = (0.5, 0.3, 0.2)
MOST_ROWS = 6000

Numbers = dict[str, float]


def some(table: pd.DataFrame) -> pd.DataFrame:
    """Return some rows of a table, drawn at random."""
    return table.iloc[np.random.default_rng(2009).permutation(len(table))[:MOST_ROWS]]


def at_sites(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same rows, each with the number of its site."""
    rows = some(table)
    return rows.assign(site=np.random.default_rng(2009).choice(len(SHARES), len(rows), p=SHARES))


PREPARED = {
    **{f"{name}-some": Prepared((name,), some) for name in DATA.values()},
    **{f"{name}-at-three": Prepared((name,), at_sites) for name in DATA.values()},
}
"""The sets, with and without a column of the sites."""


def combined(settings: MixtureSettings) -> Numbers:
    """Return accuracies in percent, of the combined model and of its baselines (Table 2)."""
    strategy = train_in_process(settings)
    assert isinstance(strategy, WeakMixtures)
    model = strategy.outcome.model
    assert isinstance(model, GaussianMixtures)
    rows = pooled(settings)
    X, Z = (model.scaling_.transform(subset.X) for subset in (rows.train, rows.test))
    given, features = model.mixtures_, X.shape[1]
    mean = ClassModels.of(dict(strategy.mean), given.rows, features, features > MOST_FULL)
    weak = list(strategy.weak.values())
    # scikit-learn's own penalty; it learns from the sites' own training rows, which a federation could not pool.
    stacked = LogisticRegression(max_iter=300).fit(_outputs(weak, X), rows.train.classes)
    return {
        "weak, mean of sites": float(np.mean([_accuracy(models, Z, rows.test.classes) for models in weak])),
        "ours": _accuracy(given, Z, rows.test.classes),
        "mean model": _accuracy(mean, Z, rows.test.classes),
        "stacked": 100 * float((stacked.predict(_outputs(weak, Z)) == rows.test.classes).mean()),
    }


def risks(settings: MixtureSettings) -> Numbers:
    """Return risks, utility and benefit at the largest site, mean over the classes, by the share of its components."""
    rows = pooled(settings)
    X = scaling_of_rows("standard", rows.train.X).transform(rows.train.X)
    mine, diagonal = rows.train.sites == 0, X.shape[1] > MOST_FULL
    classes: Ints = rows.train.classes[mine]
    values: dict[str, list[float]] = {}
    least, seed = settings.min_cluster, settings.seed
    models = class_models(X[mine], classes, diagonal, least, seed)
    for class_index in models:
        by_count = tradeoff_of(models, class_index, X[mine], classes, least, seed)
        if by_count is None or len(by_count.loss) < 2:
            continue
        for name, numbers in _figures(by_count).items():
            for index, label in ((0, "first"), (len(numbers) // 2, "half"), (-1, "all")):
                values.setdefault(f"{name}, {label}", []).append(float(numbers[index]))
    return {name: float(np.mean(numbers)) for name, numbers in values.items()}


@experiment("mixture", "mixture")
def weak_mixtures(name: str, settings: Settings) -> Numbers:
    """Return the figures of an experiment on a run's simulated sites."""
    assert isinstance(settings, MixtureSettings)
    return {"combined": combined, "risks": risks}[name](settings)


def _figures(by_count: Tradeoff) -> dict[str, Floats]:
    named = ("identification", "linkage", "interval", "inference", "benefit")
    parts = {name: getattr(by_count, name) for name in named}
    return {**parts, "total": by_count.total(Preference().risk_weights), "utility": by_count.utility()}


def _accuracy(models: ClassModels, X: Floats, classes: Ints) -> float:
    return 100 * float((winners(models.decisions(X)) == classes).mean())


def _outputs(weak: list[ClassModels], X: Floats) -> Floats:
    """Return the weak models' probabilities, side by side."""
    return np.hstack([1 / (1 + np.exp(-np.clip(models.decisions(X), -30, 30))) for models in weak])


def setup(kind: str, data: str, split: str = "by:site") -> list[Setup]:
    """Return the run of an experiment but for its seed."""
    values: dict[str, Scalar] = {"split": split, "sites": 3, "test_fraction": 0.25, "risk_bounds": "1"}
    return [Setup(f"mixture:{kind}", f"{DATA[data]}-{'at-three' if split == 'by:site' else 'some'}", values)]


def risk_setups(*names: str) -> dict[Position, list[Setup]]:
    """Return a row for each data set and each of some figures, with a column for each share of components."""
    return {
        (f"{data}, {name}", column): setup("risks", data)
        for data in DATA
        for name in names
        for column in ("first", "half", "all")
    }


declared(
    "luo-table-2",
    {
        (data + suffix, column): setup("combined", data, split)
        for suffix, split in {"": "by:site", ", skewed": "dirichlet:0.5"}.items()
        for data in DATA
        for column in ("weak, mean of sites", "ours", "mean model", "stacked")
    },
    per_cell(lambda position, result: result.get(position[1])),
)
for figure, shown in {
    "luo-figure-10": ("identification", "linkage", "interval", "inference", "total"),
    "luo-figure-11": ("utility", "benefit"),
}.items():
    declared(
        figure,
        risk_setups(*shown),
        per_cell(lambda position, result: result.get(f"{position[0].split(', ')[1]}, {position[1]}")),
    )

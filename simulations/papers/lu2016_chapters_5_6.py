"""Lu 2016, chapters 5 and 6: feature selection by votes (PPFSVW) and by filters and wrapper (PPFSIFW).

A selection gives accuracies by number of features. ``before`` is that with all features, ``after`` the highest point of
the mean curve over the seeds, of equal ones that with the fewest features: picked by hindsight, as the paper's are as
far as one can see. ``chosen`` is the subset that was chosen within the training rows: what a user may expect.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

import pandas as pd

from simulations.comparison.workers import Result
from simulations.papers.declared import declared
from simulations.papers.lu2016_sets import COLON, DIA, GENES, SIX, WBC, ThesisSet
from simulations.papers.reproduction import Place, Setup

METHODS = {
    "SVM-RFE": "svm-rfe",
    "RSVM": "rsvm",
    "SVM-t": "svm-t",
    "PPFSVW": "voted-wrapper",
    "PPFSIFW": "filter-wrapper",
}
"""The strategy of each of the paper's methods; that of chapter 6 is the last."""

Scheme = Literal["CV1", "CV2"]
Classifier = Literal["PAN", "LIBSVM"]
What = Literal["before", "after", "gain", "features", "chosen"]


class Column(NamedTuple):
    """What a column shows."""

    method: str
    classifier: Classifier
    scheme: Scheme
    what: What


def selection(one: ThesisSet, column: Column) -> Setup:
    """Return a selection but for its seed; columns that differ only in what they show have the same."""
    strategy = METHODS[column.method]
    return Setup(
        strategy if column.classifier == "PAN" else f"libsvm:{strategy}",
        one.data,
        {
            "C": one.C,
            # In [-1, 1] a quarter of gamma is the same kernel.
            "gamma": one.gamma / 4,
            "scaling": "minmax",
            "tol": 1e-3,
            "min_cluster": 1,
            "landmarks": 0.9 if one in GENES else 0.25,
            # Thousands of features go by two fifths down to ten, then one by one: about 20 steps.
            "step": "10:0.4,1" if one in GENES else "1",
            "sites": 5,
            "test_fraction": 0.2 if column.scheme == "CV2" else 0.0,
        },
    )


def values(results: Sequence[Result], scheme: Scheme, what: What) -> list[float]:
    """Return the number of each selection, accuracies in percent; features are those of the mean curve's best point.

    CV1 is the accuracy over the folds of the selection itself, CV2 that on the rows left out before.
    """
    if not results:
        return []
    part, points = (
        "test_accuracy" if scheme == "CV2" else "accuracy",
        [one["accuracy_by_count"] for one in results],
    )
    # By features, few first, and selection; where there is no such subset, that of the next larger one.
    by_count = pd.DataFrame(
        [{point["features"]: 100.0 * point[part] for point in own[::-1]} for own in points]
    )
    curves = by_count.T.sort_index().bfill()
    # Filters leave more features with one seed than with another: the curve goes on where all have models.
    start = min(max((point["features"] for point in own[1:]), default=1) for own in points)
    able = curves[(curves.index <= start) | (curves.index == max(point["features"] for point in points[0]))]
    # Of equal points the one with the fewest features comes first.
    best = able.mean(axis=1).round(9).idxmax()
    before, after = curves.ffill().iloc[-1], curves.loc[best]
    numbers: Mapping[What, Iterable[float]] = {
        "before": before,
        "after": after,
        "gain": after - before,
        "features": [float(best)] * len(results),
        "chosen": [float(curves[number][one["selected"]]) for number, one in enumerate(results)],
    }
    return list(map(float, numbers[what]))


def selections(name: str, columns: Mapping[str, Column], sets: Sequence[ThesisSet] = SIX) -> None:
    """Enter a table: a row a set, a column, by its title, a method, a classifier and a scheme."""

    def measure(place: Place, results: Sequence[Result]) -> Sequence[float]:
        column = columns[place[1]]
        return values(results, column.scheme, column.what)

    declared(
        name,
        {(one.name, title): [selection(one, column)] for one in sets for title, column in columns.items()},
        measure,
    )


WRAPPERS = ("SVM-RFE", "RSVM", "SVM-t", "PPFSVW")
"""The methods of chapter 5."""

CITED_SETS = (DIA, WBC, COLON)
"""The rows of Tables 5.4 and 6.4."""

SCHEMES: tuple[Scheme, ...] = ("CV2", "CV1")
CLASSIFIERS: tuple[Classifier, ...] = ("PAN", "LIBSVM")
GAINED: tuple[What, ...] = ("after", "before", "gain")
FEATURES_AND_ACCURACY: Mapping[str, What] = {"features": "features", "accuracy": "after"}

for number, classifier in zip(("5.2", "5.3"), CLASSIFIERS, strict=True):
    selections(
        f"lu-table-{number}",
        {
            **{
                f"{scheme} {what}": Column("PPFSVW", classifier, scheme, what)
                for scheme, what in product(SCHEMES, GAINED)
            },
            # It is not the paper's.
            "CV2 chosen": Column("PPFSVW", classifier, "CV2", "chosen"),
        },
    )
selections(
    "lu-table-5.4",
    {
        f"{classifier} {scheme}": Column("PPFSVW", classifier, scheme, "after")
        for classifier, scheme in product(CLASSIFIERS, SCHEMES)
    },
    CITED_SETS,
)
for number, (classifier, scheme) in zip(
    ("5.5", "5.6", "5.7", "5.8"), product(CLASSIFIERS, SCHEMES), strict=True
):
    selections(
        f"lu-table-{number}", {method: Column(method, classifier, scheme, "gain") for method in WRAPPERS}
    )
selections(
    "lu-table-5.9",
    {
        f"{method} {title}": Column(method, "PAN", "CV2", what)
        for title, what in FEATURES_AND_ACCURACY.items()
        for method in WRAPPERS
    },
)
selections(
    "lu-table-6.2",
    {
        f"{classifier} {scheme}": Column("PPFSIFW", classifier, scheme, "gain")
        for classifier, scheme in product(CLASSIFIERS, SCHEMES)
    },
)
selections(
    "lu-table-6.3",
    {
        **{scheme: Column("PPFSIFW", "PAN", scheme, "gain") for scheme in SCHEMES},
        **{f"{scheme} features": Column("PPFSIFW", "PAN", scheme, "features") for scheme in SCHEMES},
    },
)
selections(
    "lu-table-6.4",
    {f"PPFSIFW {scheme}": Column("PPFSIFW", "PAN", scheme, "after") for scheme in SCHEMES},
    CITED_SETS,
)
METHODS_AND_SCHEMES = [(method, scheme) for scheme in SCHEMES for method in ("PPFSIFW", "PPFSVW")]
SHOWN: Mapping[str, What] = {"6.5": "gain", "6.6": "features"}
for number, what in SHOWN.items():
    selections(
        f"lu-table-{number}",
        {f"{method} {scheme}": Column(method, "PAN", scheme, what) for method, scheme in METHODS_AND_SCHEMES},
    )

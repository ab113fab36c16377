"""Lu 2016, chapters 5 and 6: feature selection by votes (PPFSVW) and by filters and wrapper (PPFSIFW).

A selection gives accuracies by number of features. ``before`` is that with all features, ``after`` the highest point of
the mean curve over the seeds, of equal ones that with the fewest features: picked by hindsight, as the paper's are as
far as one can see. ``chosen`` is the subset that was chosen within the training rows, beside each number by hindsight:
what a user may expect.
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
What = Literal["before", "after", "gain", "features", "chosen", "gain chosen", "features chosen"]
CHOSEN: Mapping[What, What] = {"after": "chosen", "gain": "gain chosen", "features": "features chosen"}
"""The same of the subset that was chosen without hindsight."""


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


def curves_of(results: Sequence[Result], scheme: Scheme) -> pd.DataFrame:
    """Return the accuracy in percent by features (index, few first) and selection.

    Where a selection has no such subset, it is that of the next larger one.
    CV1 is the accuracy over the folds of the selection itself, CV2 that on the rows left out before.
    """
    part = "test_accuracy" if scheme == "CV2" else "accuracy"
    by_count = pd.DataFrame(
        [
            {point["features"]: 100.0 * point[part] for point in one["accuracy_by_count"][::-1]}
            for one in results
        ]
    )
    return by_count.T.sort_index().bfill()


def values(results: Sequence[Result], scheme: Scheme, what: What) -> list[float]:
    """Return the number of each selection, accuracies in percent; features are those of the mean curve's best point."""
    if not results:
        return []
    curves, points = curves_of(results, scheme), [one["accuracy_by_count"] for one in results]
    # Filters leave more features with one seed than with another: the curve goes on where all have models.
    start = min(max((point["features"] for point in own[1:]), default=1) for own in points)
    able = curves[(curves.index <= start) | (curves.index == max(point["features"] for point in points[0]))]
    # Of equal points the one with the fewest features comes first.
    best = able.mean(axis=1).round(9).idxmax()
    before, after = curves.ffill().iloc[-1], curves.loc[best]
    selected = [int(one["selected"]) for one in results]
    chosen = pd.Series([curves[number][count] for number, count in enumerate(selected)], index=before.index)
    numbers: Mapping[What, Iterable[float]] = {
        "before": before,
        "after": after,
        "gain": after - before,
        "features": [float(best)] * len(results),
        "chosen": chosen,
        "gain chosen": chosen - before,
        "features chosen": selected,
    }
    return list(map(float, numbers[what]))


def with_chosen(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns with, after them, those of what was chosen without hindsight."""
    beside = {
        f"{title.removesuffix(' after')} chosen": column._replace(what=CHOSEN[column.what])
        for title, column in columns.items()
        if column.what in CHOSEN
    }
    return {**columns, **beside}


def selections(name: str, printed: Mapping[str, Column], sets: Sequence[ThesisSet] = SIX) -> None:
    """Enter a table: a row a set, a column, by its title, a method, a classifier and a scheme."""
    columns = with_chosen(printed)

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
            f"{scheme} {what}": Column("PPFSVW", classifier, scheme, what)
            for scheme, what in product(SCHEMES, GAINED)
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
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Numbers of features on the axis of Figure 5.8."""


def at_count(place: Place, results: Sequence[Result]) -> Sequence[float]:
    """Return the accuracy of each selection with so many features, or the next larger subset."""
    if not results:
        return []
    curves = curves_of(results, "CV2")
    return list(map(float, curves[curves.index >= int(place[1].split()[0])].iloc[0]))


declared(
    "lu-figure-5.8",
    {
        (f"{one.name}, {method}", f"{count} features"): [
            selection(one, Column(method, "PAN", "CV2", "after"))
        ]
        for one in SIX
        for method in WRAPPERS
        for count in COUNTS
        if count <= one.features
    },
    at_count,
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

"""Lu 2016, chapters 5 and 6: feature selection by votes (PPFSVW) and by filters and wrapper (PPFSIFW).

A selection gives accuracies by number of features. ``before`` is that with all features, ``after`` the highest point of
the mean curve over the seeds, of equal ones that with the fewest features: picked by hindsight, as the paper's are as
far as one can see. ``chosen``, beside each number by hindsight, is the subset that was chosen within the training rows:
a user's expectation.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

import pandas as pd

from simulations.comparison.workers import Result
from simulations.papers.declared import declared
from simulations.papers.lu2016_sets import COLON, DIA, GENES, SIX, WBC, ThesisSet
from simulations.papers.reproduction import Position, Setup

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
    """The content of a column."""

    method: str
    classifier: Classifier
    scheme: Scheme
    what: What


def selection(data_set: ThesisSet, column: Column) -> Setup:
    """Return a selection but for its seed; columns that differ only in ``what`` have the same."""
    strategy = METHODS[column.method]
    return Setup(
        strategy if column.classifier == "PAN" else f"libsvm:{strategy}",
        data_set.data,
        {
            "C": data_set.C,
            # In [-1, 1] a quarter of gamma is the same kernel.
            "gamma": data_set.gamma / 4,
            "scaling": "minmax",
            "tol": 1e-3,
            "min_cluster": 1,
            "landmarks": 0.9 if data_set in GENES else 0.25,
            # Thousands of features go by two fifths down to ten, then one by one: about 20 steps.
            "step": "10:0.4,1" if data_set in GENES else "1",
            "sites": 5,
            "test_fraction": 0.2 if column.scheme == "CV2" else 0.0,
        },
    )


def curves_of(results: Sequence[Result], scheme: Scheme) -> pd.DataFrame:
    """Return the accuracy in percent by features (index, few first) and selection.

    Where a selection has no such subset, it is that of the next larger one.
    CV1 is the accuracy over the folds of the selection itself, CV2 that on the rows left out before.
    """
    measure = "test_accuracy" if scheme == "CV2" else "accuracy"
    by_count = [
        {point["features"]: 100.0 * point[measure] for point in result["accuracy_by_count"][::-1]}
        for result in results
    ]
    return pd.DataFrame(by_count).T.sort_index().bfill()


def values(results: Sequence[Result], scheme: Scheme, what: What) -> list[float]:
    """Return the number of each selection, accuracies in percent; features are those of the mean curve's best point."""
    if not results:
        return []
    curves, points = curves_of(results, scheme), [result["accuracy_by_count"] for result in results]
    # Filters leave more features with one seed than with another: the curve goes on where all have models.
    start = min(max((point["features"] for point in curve[1:]), default=1) for curve in points)
    able = curves[(curves.index <= start) | (curves.index == max(point["features"] for point in points[0]))]
    # Of equal points the one with the fewest features comes first.
    best = able.mean(axis=1).round(9).idxmax()
    before, after = curves.ffill().iloc[-1], curves.loc[best]
    selected = [int(result["selected"]) for result in results]
    chosen = pd.Series([curves[index][count] for index, count in enumerate(selected)], index=before.index)
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
    """Return columns and, after them, those of the subsets chosen without hindsight."""
    beside = {
        f"{title.removesuffix(' after')} chosen": column._replace(what=CHOSEN[column.what])
        for title, column in columns.items()
        if column.what in CHOSEN
    }
    return {**columns, **beside}


def selections(name: str, printed: Mapping[str, Column], sets: Sequence[ThesisSet] = SIX) -> None:
    """Register a table: a row a set, a column, by its title, a method, a classifier and a scheme."""
    columns = with_chosen(printed)

    def measure(position: Position, results: Sequence[Result]) -> Sequence[float]:
        column = columns[position[1]]
        return values(results, column.scheme, column.what)

    declared(
        name,
        {
            (data_set.name, title): [selection(data_set, column)]
            for data_set in sets
            for title, column in columns.items()
        },
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

for table, classifier in zip(("5.2", "5.3"), CLASSIFIERS, strict=True):
    selections(
        f"lu-table-{table}",
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
for index, (classifier, scheme) in enumerate(product(CLASSIFIERS, SCHEMES), start=5):
    selections(
        f"lu-table-5.{index}", {method: Column(method, classifier, scheme, "gain") for method in WRAPPERS}
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


def at_count(position: Position, results: Sequence[Result]) -> Sequence[float]:
    """Return the accuracy of each selection with so many features, or the next larger subset."""
    if not results:
        return []
    curves = curves_of(results, "CV2")
    return list(map(float, curves[curves.index >= int(position[1].split()[0])].iloc[0]))


declared(
    "lu-figure-5.8",
    {
        (f"{data_set.name}, {method}", f"{count} features"): [
            selection(data_set, Column(method, "PAN", "CV2", "after"))
        ]
        for data_set in SIX
        for method in WRAPPERS
        for count in COUNTS
        if count <= data_set.features
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
for table, what in SHOWN.items():
    selections(
        f"lu-table-{table}",
        {f"{method} {scheme}": Column(method, "PAN", scheme, what) for method, scheme in METHODS_AND_SCHEMES},
    )

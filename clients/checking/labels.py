"""Findings about labels: no classes, rare or misspelt ones, and columns that give them away."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from clients.checking.cells import FEW, KNOWN_WORDS, Cells
from clients.checking.finding import ERROR, WARNING, Finding, note, warning
from clients.checking.sentinels import codes_beside_scale
from clients.label_check import check_labels, patients_of_labels
from clients.table.cells import NO_NUMBER
from clients.table.table import columns_text
from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import is_number, spelling
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import MIN_CLUSTER

GIVES_AWAY, CODE_GIVES_AWAY, FEW_CODES = 0.99, 0.9, 5
"""Balanced accuracy of a small tree on one column above which it gives the label away; that for a column of so few
different cells, at most: who codes what came after the outcome is now and then mistaken, and few true causes reach it.
"""

MOST_ROWS = 5000
"""Rows that are looked at for columns that give the label away."""

HARDLY = 1e-6
"""Chance below which filled cells are not all of one class by chance."""

RARE = 0.2
"""Share of a class at most of which no code but one of its outcome is the sign in nearly all rows with it."""

MANY_NUMBERS = 10
"""Classes that are numbers above which they may be measured."""

ALIKE = 0.84
"""How alike the spellings of two labels are, of which one may be a typing error (difflib's ratio)."""

UNNAMED = "A hospital does not name them: these rows take part only if another one does. A simulated site names all."
"""What becomes of rare labels that no schema file lists; the finding stands in reports of simulated sites, too."""


def left_out_findings(labels: np.ndarray, schema: TableSchema | None, column: str) -> Iterator[Finding]:
    """Return the finding about rows that are left out for their labels, at hospitals and at simulated sites."""
    wrong = ~np.isin(labels, schema.classes) if schema and schema.classes else np.zeros(0, dtype=np.bool_)
    if wrong.any():
        yield Finding(
            ERROR if wrong.all() else WARNING,
            f"The {column} has {np.count_nonzero(wrong)} labels that are none of the schema's classes. These rows are "
            f"left out of all runs; the first is data row {int(np.argmax(wrong)) + 1}. If they are to have part, "
            "correct the labels, or add them to the schema file's classes, at all sites.",
        )


def label_findings(
    labels: np.ndarray, schema: TableSchema | None, column: str, patients: Ints
) -> Iterator[Finding]:
    """Return the findings about the labels of a column; without known classes as joining does.

    ``labels`` and ``patients``, the number of each row's patient, have the shape (rows,).
    """
    classes, positive = (schema.classes, schema.positive) if schema else ((), ())
    counts = Counter(labels.tolist())
    if not classes:
        try:
            check_labels(labels, positive, column, MIN_CLUSTER, patients)
        except TableError as error:
            yield Finding(ERROR, error.with_detail())
            return
    if len(counts) == 1:
        yield warning(
            f"The {column} has one class only. The site can take part, and its test rows then say little. Is a filter "
            "at fault?",
        )
    elif not classes and any(name.lower() in NO_NUMBER for name in counts if "+" not in counts):
        yield warning(
            f"The {column} has a class that is called as missing cells often are (None, a point, a dash). If it is "
            "one, list the classes in a schema file; if these labels are missing, leave the rows out.",
        )
    if len(counts) > MANY_NUMBERS and all(map(is_number, counts)) and not positive:
        yield warning(
            f"The {column} has {len(counts)} numbers. If they are measured, such as days or a score, they make poor "
            "classes: nothing says that 2 is nearer to 3 than to 9. Name those that count as positive in the schema "
            "file, or write yes and no from a limit on.",
        )
    for name in unknown_outcomes([*counts]):
        if not classes or name in classes:
            yield warning(
                f"The {column} has a class that may mean that nobody knows the outcome: {name}. If so, leave these "
                "rows out of the table, and the class out of the schema file; else they are learnt as an outcome.",
            )
    rare = [
        name for name, count in counts.items() if count < MIN_CLUSTER and (not classes or name in classes)
    ]
    if rare:
        # Of listed classes it is no doubt: a site of few patients has few of a rare disease.
        told = f"The {column} has {len(rare)} labels that fewer than {MIN_CLUSTER} rows have."
        unnamed = f" {UNNAMED}"
        yield note(told) if classes else warning(told + unnamed * (not positive))
    names, of_patients = patients_of_labels(labels, patients)
    if set(names[of_patients < MIN_CLUSTER]) - set(rare) and not classes and not positive:
        yield warning(
            f"The {column} has labels of many rows that fewer than {MIN_CLUSTER} patients have. {UNNAMED}",
        )
    for name in rare:
        close = [other for other in counts if counts[other] > counts[name] and _alike(name, other)]
        if close:
            first = int(np.argmax(labels == name)) + 1
            yield warning(
                f"The {column} has a rare label that is spelt nearly as a frequent one: a typing error? The first is "
                f"in data row {first}.",
            )


def unknown_outcomes(names: Sequence[str]) -> list[str]:
    """Return the classes that are called as unknown outcomes are: by a word, or by a code beside numbers."""
    if not all(map(is_number, names)):
        return [name for name in names if name.strip().casefold() in KNOWN_WORDS - {"none", "nil"}]
    codes = codes_beside_scale(np.repeat([float(name) for name in names], 2))
    return [name for name in names if float(name) in codes and float(name) != -1]


def _alike(name: str, other: str) -> bool:
    short = min(len(name), len(other)) < 4
    return not short and difflib.SequenceMatcher(None, spelling(name), spelling(other)).ratio() >= ALIKE


def leak_findings(cells: Sequence[Cells], labels: np.ndarray) -> Iterator[Finding]:
    """Return the columns that alone tell the label, as one that was written down after the diagnosis does."""
    columns = [
        (c.name, c.values if c.is_number else _codes(c.texts))
        for c in cells
        if c.is_number or not c.identifies
    ]
    telling = telling_columns(columns, labels, GIVES_AWAY, CODE_GIVES_AWAY)
    if telling:
        yield warning(
            f"The label can be told from {columns_text(telling)} alone, for nine in ten of each class on average, or "
            "more. Was it written down after the diagnosis, or computed from it? Then leave it out, or the model "
            "learns nothing else.",
        )
    rarer = _rows_of_the_rarer(labels)
    marking = [name for name, values in columns if name not in telling and _has_marking_code(values, rarer)]
    if marking:
        yield warning(
            f"A code in {columns_text(marking)} tells the class: nearly all rows with it are of the rare one. "
            "Was it written down once the outcome was known, as a death in hospital is? Then leave it out, or the "
            "model is too good, and of no use before.",
        )
    partly = [c.name for c in cells if c.name not in telling and _goes_with_a_class(c.is_filled, labels)]
    if partly:
        yield warning(
            f"Whether a cell is empty tells the class in {columns_text(partly)}: the filled ones, or the empty ones, "
            "are nearly all of rows of one class. Was it written down once the outcome was known, as a date of death "
            "is? Then leave it out, or the model is too good, and of no use before.",
        )


def _rows_of_the_rarer(labels: np.ndarray) -> Bools:
    """Return which rows are of a rare class of two, shape (rows,); none if no class is rare, or there are others."""
    names, counts = np.unique(labels, return_counts=True)
    if len(names) != 2 or counts.min() > RARE * len(labels):
        return np.zeros(len(labels), dtype=np.bool_)
    rarer: Bools = labels == names[counts.argmin()]
    return rarer


def _has_marking_code(values: np.ndarray, rarer: Bools) -> bool:
    """Tell whether of few codes, shape (rows,), one is nearly only that of the rare class: no cause is so."""
    if not rarer.any():
        return False
    codes, often = np.unique(values[~np.isnan(values)], return_counts=True)
    return 2 <= len(codes) <= FEW_CODES and any(
        _are_of_one_class(values == code, rarer) and rarer[values == code].mean() > 0.5
        for code in codes[often >= FEW]
    )


def _goes_with_a_class(there: Bools, labels: np.ndarray) -> bool:
    """Tell whether the filled cells of a column, or the empty ones, shape (rows,), are nearly all of one class."""
    if there.all() or not there.any():
        return False
    return _are_of_one_class(there, labels) or _are_of_one_class(~there, labels)


def _are_of_one_class(marked: Bools, labels: np.ndarray) -> bool:
    (name, count), total = Counter(labels[marked].tolist()).most_common(1)[0], int(marked.sum())
    others = 1 - float(np.mean(labels == name))
    # Of a class that nearly all rows have, nearly all of any rows are.
    most = min(1 - GIVES_AWAY, others / 10) * total
    return total - count <= most and (1 - others) ** total < HARDLY


def telling_columns(
    columns: Iterable[tuple[str, np.ndarray]], labels: np.ndarray, share: float, of_codes: float | None = None
) -> list[str]:
    """Return the names of columns by each of which a small tree tells labels with this balanced accuracy or a better.

    ``labels``, and the numbers of each column, have the shape (rows,). None are of a table with few of a class. For
    columns of few different cells ``of_codes``, if given, takes the place of ``share``.
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - most runs need none

    counts = Counter(labels.tolist())
    if len(labels) < FEW or len(counts) < 2 or min(counts.values()) < MIN_CLUSTER:
        return []
    taken = np.random.default_rng(0).permutation(len(labels))[:MOST_ROWS]
    leaf = max(MIN_CLUSTER, len(taken) // 100)
    telling = []
    for name, cells in columns:
        # By their order, which is all that a tree looks at: missing cells are last, infinite ones no trouble.
        values = np.unique(cells[taken], return_inverse=True)[1][:, None]
        order = np.argsort(values[:, 0], kind="stable")
        enough = of_codes if of_codes and values.max() < FEW_CODES else share
        if not values.any() or not _may_tell(order, labels[taken], leaf, enough):
            continue
        tree = DecisionTreeClassifier(
            max_leaf_nodes=2 * len(counts), min_samples_leaf=leaf, class_weight="balanced", random_state=0
        )
        predicted = tree.fit(values, labels[taken]).predict(values)
        if balanced_accuracy_score(labels[taken], predicted) >= enough:
            telling.append(name)
    return telling


def _may_tell(order: np.ndarray, labels: np.ndarray, leaf: int, share: float) -> bool:
    """Tell quickly whether a tree may tell the labels of rows in this order: of thousands of columns few can.

    Blocks of as many rows as a leaf has at the least are told by their own frequent class; next to an end of a leaf
    they may be wrong.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    weights = 1 / np.bincount(codes)
    starts = np.arange(0, len(order), leaf)
    sides = (codes[order][:, None] == np.arange(len(classes))) * weights
    blocks = np.add.reduceat(sides, starts, axis=0)
    wrong = (blocks.sum() - blocks.max(axis=1).sum()) / len(classes)
    ends = np.sort(blocks.sum(axis=1))[-2 * len(classes) :].sum() / len(classes)
    return bool(wrong <= 1 - share + ends / 2)


def _codes(texts: np.ndarray) -> np.ndarray:
    codes, _ = pd.factorize(texts)
    return np.where(codes < 0, np.nan, codes)

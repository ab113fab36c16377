"""Test rows by group, class and what a model makes of them. Each row is in the same cells whatever the others are."""

import numpy as np

from clients.rows import Rows
from clients.site import Site
from flower_pansvm.arrays import Floats
from flower_pansvm.class_columns import winners
from flower_pansvm.tested import FINE, TestedAnswer, TestedQuestion


def tested_answer(site: Site, question: TestedQuestion, rows: Rows, decisions: Floats) -> TestedAnswer:
    """Count rows with these decision values, shape (rows, sides)."""
    classes, predicted = len(site.schema().classes), winners(decisions)
    site.check_size(float(question.groups) * classes * question.columns)
    group = np.zeros(len(rows.X), dtype=np.int64)
    if question.groups > 1:
        from clients.groups import group_of_rows  # noqa: PLC0415 - few runs ask for groups

        group = group_of_rows(site, question, rows.X)
    where = group, rows.classes
    cells = np.zeros((question.groups, classes, question.columns))
    np.add.at(
        cells, (*where, predicted if classes == 2 else (predicted == rows.classes).astype(np.int64)), 1.0
    )
    if question.columns > 2:
        # In order: NumPy starts to search where it found the last row, and so among others finds a row by the last one.
        fine = np.searchsorted(np.sort(question.edges.ravel()), decisions[:, 0])
        np.add.at(cells, (*where, 2 + fine), FINE)
    return TestedAnswer(cells)

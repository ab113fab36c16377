"""Table 5.2: accuracy before and after PPFSVW with PAN-SVM."""

from simulations.papers.lu2016.selections import (
    BEFORE_AND_AFTER,
    BY_HINDSIGHT,
    SelectionTable,
    before_and_after,
)
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (79.35, 76.48, 2.86, 80.13, 76.76, 3.37),
    "Ionosphere": (96.86, 93.94, 2.91, 96.29, 93.03, 3.27),
    "Colon": (100.00, 81.92, 18.08, 100.00, 82.00, 18.00),
    "Leukemia": (92.86, 87.14, 5.72, 94.29, 89.65, 4.64),
    "WBC": (96.64, 96.64, 0.00, 96.46, 96.69, -0.23),
    "DLBCL": (100.00, 87.76, 12.24, 100.00, 89.05, 10.95),
    "SUM": (565.70, 523.88, 41.82, 567.17, 527.17, 39.99),
}


@REPRODUCTIONS.register("lu-table-5.2")
class Table52(SelectionTable):
    """PPFSVW, PAN-SVM."""

    title = "Table 5.2, accuracy before and after PPFSVW, PAN-SVM"
    minutes, quick_minutes = 120, 25
    columns = before_and_after("PAN")
    summed = True
    paper = by_place(tuple(BEFORE_AND_AFTER), PRINTED)
    errors = (*SelectionTable.errors, BY_HINDSIGHT)

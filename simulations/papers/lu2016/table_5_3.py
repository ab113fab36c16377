"""Table 5.3: accuracy before and after PPFSVW with LIBSVM."""

from simulations.papers.lu2016.selections import (
    BEFORE_AND_AFTER,
    BY_HINDSIGHT,
    SelectionTable,
    before_and_after,
)
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (75.95, 75.63, 0.32, 77.91, 76.54, 1.37),
    "Ionosphere": (97.50, 93.04, 4.47, 97.50, 93.78, 3.72),
    "Colon": (100.00, 82.79, 17.21, 100.00, 82.30, 17.70),
    "Leukemia": (92.86, 90.00, 2.86, 94.29, 93.10, 1.19),
    "WBC": (98.41, 93.54, 4.87, 98.23, 96.10, 2.13),
    "DLBCL": (95.56, 88.95, 6.61, 91.11, 90.46, 0.65),
    "SUM": (560.27, 523.94, 36.32, 559.04, 532.28, 26.76),
}


@REPRODUCTIONS.register("lu-table-5.3")
class Table53(SelectionTable):
    """PPFSVW, LIBSVM."""

    title = "Table 5.3, accuracy before and after PPFSVW, LIBSVM"
    minutes, quick_minutes = 60, 12
    columns = before_and_after("LIBSVM")
    summed = True
    paper = by_place(tuple(BEFORE_AND_AFTER), PRINTED)
    errors = (*SelectionTable.errors, BY_HINDSIGHT)

"""Table 6.2: points gained by PPFSIFW, both classifiers and schemes."""

from simulations.papers.lu2016.selections import Column, FilterTable
from simulations.papers.reproduction import REPRODUCTIONS, by_place

COLUMNS = {
    "PAN CV2": Column("PPFSIFW", "PAN", "CV2", "gain"),
    "PAN CV1": Column("PPFSIFW", "PAN", "CV1", "gain"),
    "LIBSVM CV2": Column("PPFSIFW", "LIBSVM", "CV2", "gain"),
    "LIBSVM CV1": Column("PPFSIFW", "LIBSVM", "CV1", "gain"),
}
PRINTED = {
    "DIA": (3.39, 2.10, 4.86, 4.56),
    "Ionosphere": (0.35, 3.42, 5.18, 1.78),
    "Colon": (3.08, 8.00, 1.21, 7.70),
    "WBC": (2.47, 1.12, 3.82, 2.26),
    "DLBCL": (5.57, 10.95, 11.05, 9.54),
    "Leukemia": (8.57, 3.45, 1.43, -3.45),
    "SUM": (23.43, 29.04, 27.55, 22.39),
}


@REPRODUCTIONS.register("lu-table-6.2")
class Table62(FilterTable):
    """PPFSIFW with PAN-SVM and LIBSVM."""

    title = "Table 6.2, points gained by PPFSIFW"
    unit = "percentage points"
    minutes, quick_minutes = 300, 60
    columns = COLUMNS
    summed = True
    paper = by_place(tuple(COLUMNS), PRINTED)

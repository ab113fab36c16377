"""Table 6.5: points gained by PPFSIFW and PPFSVW, PAN-SVM."""

from simulations.papers.lu2016.selections import Column, FilterTable
from simulations.papers.reproduction import REPRODUCTIONS, by_place

COLUMNS = {
    "PPFSIFW CV2": Column("PPFSIFW", "PAN", "CV2", "gain"),
    "PPFSVW CV2": Column("PPFSVW", "PAN", "CV2", "gain"),
    "PPFSIFW CV1": Column("PPFSIFW", "PAN", "CV1", "gain"),
    "PPFSVW CV1": Column("PPFSVW", "PAN", "CV1", "gain"),
}
PRINTED = {
    "DIA": (3.39, 2.86, 2.10, 3.37),
    "Ionosphere": (0.35, 2.91, 3.42, 3.27),
    "Colon": (3.08, 18.08, 8.00, 18.00),
    "WBC": (2.47, 0.00, 1.12, -0.23),
    "DLBCL": (5.57, 12.24, 10.95, 10.95),
    "Leukemia": (8.57, 5.72, 3.45, 4.64),
    "SUM": (23.43, 41.82, 29.04, 39.99),
}


@REPRODUCTIONS.register("lu-table-6.5")
class Table65(FilterTable):
    """Both of the paper's ways to select."""

    title = "Table 6.5, points gained by PPFSIFW and PPFSVW, PAN-SVM"
    unit = "percentage points"
    minutes, quick_minutes = 320, 65
    columns = COLUMNS
    summed = True
    paper = by_place(tuple(COLUMNS), PRINTED)

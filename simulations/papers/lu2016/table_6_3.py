"""Table 6.3: points gained by PPFSIFW with PAN-SVM under both schemes, and features at the best point."""

from simulations.papers.lu2016.selections import Column, FilterTable
from simulations.papers.reproduction import REPRODUCTIONS, by_place

COLUMNS = {
    "CV2": Column("PPFSIFW", "PAN", "CV2", "gain"),
    "CV1": Column("PPFSIFW", "PAN", "CV1", "gain"),
    "CV2 features": Column("PPFSIFW", "PAN", "CV2", "features"),
    "CV1 features": Column("PPFSIFW", "PAN", "CV1", "features"),
}
PRINTED = {
    "DIA": (3.39, 2.10, 4, 4),
    "Ionosphere": (0.35, 3.42, 2, 8),
    "Colon": (3.08, 8.00, 34, 157),
    "WBC": (2.47, 1.12, 10, 4),
    "DLBCL": (5.57, 10.95, 394, 444),
    "Leukemia": (8.57, 3.45, 537, 631),
    "SUM": (23.43, 29.04, 981, 1248),
}


@REPRODUCTIONS.register("lu-table-6.3")
class Table63(FilterTable):
    """PPFSIFW with PAN-SVM."""

    title = "Table 6.3, points gained by PPFSIFW and features, PAN-SVM"
    unit = "percentage points, and features"
    minutes, quick_minutes = 200, 40
    columns = COLUMNS
    summed = True
    paper = by_place(tuple(COLUMNS), PRINTED)

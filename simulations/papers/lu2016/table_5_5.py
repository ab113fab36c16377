"""Table 5.5: points gained by each way to select, PAN-SVM, CV2."""

from simulations.papers.lu2016.selections import WRAPPERS, SelectionTable, gains
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (2.86, 2.99, 2.60, 2.86),
    "Ionosphere": (1.77, 2.63, 3.77, 2.91),
    "Colon": (18.08, 18.08, 18.08, 18.08),
    "Leukemia": (8.57, 5.72, 5.72, 5.72),
    "WBC": (0.00, 0.00, -0.35, 0.00),
    "DLBCL": (12.24, 12.24, 12.24, 12.24),
    "SUM": (43.53, 41.66, 42.06, 41.82),
}


@REPRODUCTIONS.register("lu-table-5.5")
class Table55(SelectionTable):
    """SVM-RFE, RSVM, SVM-t and PPFSVW, PAN-SVM, CV2."""

    title = "Table 5.5, points gained by each way to select, PAN-SVM, CV2"
    unit = "percentage points"
    minutes, quick_minutes = 240, 50
    columns = gains("PAN", "CV2")
    summed = True
    paper = by_place(WRAPPERS, PRINTED)

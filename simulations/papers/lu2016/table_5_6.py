"""Table 5.6: points gained by each way to select, PAN-SVM, CV1."""

from simulations.papers.lu2016.selections import WRAPPERS, SelectionTable, gains
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (2.71, 2.71, 2.71, 3.37),
    "Ionosphere": (2.69, 1.27, 1.55, 3.27),
    "Colon": (18.00, 18.00, 18.00, 18.00),
    "Leukemia": (6.06, 3.21, 6.06, 4.64),
    "WBC": (-0.41, -0.23, -0.76, -0.23),
    "DLBCL": (10.95, 10.95, 10.95, 10.95),
    "SUM": (40.01, 35.91, 38.52, 39.99),
}


@REPRODUCTIONS.register("lu-table-5.6")
class Table56(SelectionTable):
    """SVM-RFE, RSVM, SVM-t and PPFSVW, PAN-SVM, CV1."""

    title = "Table 5.6, points gained by each way to select, PAN-SVM, CV1"
    unit = "percentage points"
    minutes, quick_minutes = 240, 50
    columns = gains("PAN", "CV1")
    summed = True
    paper = by_place(WRAPPERS, PRINTED)

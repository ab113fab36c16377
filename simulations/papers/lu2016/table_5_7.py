"""Table 5.7: points gained by each way to select, LIBSVM, CV2."""

from simulations.papers.lu2016.selections import WRAPPERS, SelectionTable, gains
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (0.05, 0.18, 0.32, 0.32),
    "Ionosphere": (4.11, 4.47, 4.47, 4.47),
    "Colon": (17.21, 17.21, 17.21, 17.21),
    "Leukemia": (2.86, 1.43, 0.00, 2.86),
    "WBC": (3.99, 4.16, 4.87, 4.87),
    "DLBCL": (2.16, 2.16, 4.38, 6.61),
    "SUM": (30.37, 29.61, 31.24, 36.32),
}


@REPRODUCTIONS.register("lu-table-5.7")
class Table57(SelectionTable):
    """SVM-RFE, RSVM, SVM-t and PPFSVW, LIBSVM, CV2."""

    title = "Table 5.7, points gained by each way to select, LIBSVM, CV2"
    unit = "percentage points"
    minutes, quick_minutes = 120, 25
    columns = gains("LIBSVM", "CV2")
    summed = True
    paper = by_place(WRAPPERS, PRINTED)

"""Table 5.8: points gained by each way to select, LIBSVM, CV1."""

from simulations.papers.lu2016.selections import WRAPPERS, SelectionTable, gains
from simulations.papers.reproduction import REPRODUCTIONS, by_place

PRINTED = {
    "DIA": (-0.85, 0.07, -0.85, 1.37),
    "Ionosphere": (3.72, 4.08, 3.72, 3.72),
    "Colon": (17.70, 17.70, 17.70, 17.70),
    "Leukemia": (1.19, -0.24, -1.67, 1.19),
    "WBC": (1.07, 1.25, 2.49, 2.13),
    "DLBCL": (0.65, 0.65, 2.87, 0.65),
    "SUM": (23.47, 23.50, 24.26, 26.76),
}


@REPRODUCTIONS.register("lu-table-5.8")
class Table58(SelectionTable):
    """SVM-RFE, RSVM, SVM-t and PPFSVW, LIBSVM, CV1."""

    title = "Table 5.8, points gained by each way to select, LIBSVM, CV1"
    unit = "percentage points"
    minutes, quick_minutes = 120, 25
    columns = gains("LIBSVM", "CV1")
    summed = True
    paper = by_place(WRAPPERS, PRINTED)

"""Table 5.9: number of features at the best point, and the accuracy there."""

from simulations.papers.lu2016.selections import WRAPPERS, Column, SelectionTable
from simulations.papers.reproduction import REPRODUCTIONS

PRINTED = {
    "DIA": ((5, 79.35), (7, 79.48), (8, 79.09), (5, 79.35)),
    "Ionosphere": ((12, 95.71), (12, 96.57), (10, 97.71), (17, 96.86)),
    "Colon": ((63, 100.0), (61, 100.0), (617, 100.0), (53, 100.0)),
    "Leukemia": ((4565, 95.71), (6380, 92.86), (5420, 92.86), (4826, 92.86)),
    "WBC": ((18, 96.64), (17, 96.64), (21, 96.28), (11, 96.64)),
    "DLBCL": ((114, 100.0), (147, 100.0), (166, 100.0), (121, 100.0)),
}
"""Features and accuracy of each method."""

COLUMNS = {
    **{f"{method} features": Column(method, "PAN", "CV2", "features") for method in WRAPPERS},
    **{f"{method} accuracy": Column(method, "PAN", "CV2", "after") for method in WRAPPERS},
}
PAPER = {
    (row, f"{method} {what}"): float(number)
    for row, cells in PRINTED.items()
    for method, cell in zip(WRAPPERS, cells, strict=True)
    for what, number in zip(("features", "accuracy"), cell, strict=True)
}


@REPRODUCTIONS.register("lu-table-5.9")
class Table59(SelectionTable):
    """SVM-RFE, RSVM, SVM-t and PPFSVW, PAN-SVM, CV2."""

    title = "Table 5.9, features at the best point and accuracy there, PAN-SVM, CV2"
    unit = "features, and accuracy in %"
    digits = 1
    minutes, quick_minutes = 240, 50
    columns = COLUMNS
    paper = PAPER

"""Table 6.6: features at the best point of PPFSIFW and PPFSVW, PAN-SVM."""

from simulations.papers.lu2016.selections import Column, FilterTable
from simulations.papers.reproduction import REPRODUCTIONS, by_place

COLUMNS = {
    "PPFSIFW CV2": Column("PPFSIFW", "PAN", "CV2", "features"),
    "PPFSVW CV2": Column("PPFSVW", "PAN", "CV2", "features"),
    "PPFSIFW CV1": Column("PPFSIFW", "PAN", "CV1", "features"),
    "PPFSVW CV1": Column("PPFSVW", "PAN", "CV1", "features"),
}
PRINTED = {
    "DIA": (4, 5, 4, 5),
    "Ionosphere": (2, 17, 8, 10),
    "Colon": (34, 53, 157, 55),
    "WBC": (10, 11, 4, 18),
    "DLBCL": (394, 121, 444, 105),
    "Leukemia": (537, 4826, 631, 6039),
}


@REPRODUCTIONS.register("lu-table-6.6")
class Table66(FilterTable):
    """Both of the paper's ways to select."""

    title = "Table 6.6, features at the best point of PPFSIFW and PPFSVW, PAN-SVM"
    unit = "features"
    digits = 0
    minutes, quick_minutes = 320, 65
    columns = COLUMNS
    paper = by_place(tuple(COLUMNS), PRINTED)

"""Table 6.4: accuracy after PPFSIFW, beside figures that the paper cites from other work."""

from simulations.papers.lu2016.selections import (
    CITED,
    CITED_COLUMNS,
    CITED_SETS,
    Column,
    FilterTable,
)
from simulations.papers.reproduction import REPRODUCTIONS, by_place

COLUMNS = {
    "PPFSIFW CV2": Column("PPFSIFW", "PAN", "CV2", "after"),
    "PPFSIFW CV1": Column("PPFSIFW", "PAN", "CV1", "after"),
}
PRINTED = {"DIA": (79.87, 78.86), "WBC": (99.11, 97.81), "Colon": (85.00, 90.00)}


@REPRODUCTIONS.register("lu-table-6.4")
class Table64(FilterTable):
    """PPFSIFW with PAN-SVM, beside Fisher-SVM, FSV, RFE-SVM and KP-SVM."""

    title = "Table 6.4, accuracy after PPFSIFW, beside cited figures"
    minutes, quick_minutes = 100, 20
    columns = COLUMNS
    sets = CITED_SETS
    paper = by_place(tuple(COLUMNS), PRINTED) | by_place(CITED_COLUMNS, CITED)

"""Table 3.5: seconds of training and round trips on Pima diabetes, 5, 10 and 20 sites."""

from simulations.papers.lu2016.sets import DIABETES
from simulations.papers.lu2016.stability import StabilityTable, printed
from simulations.papers.reproduction import REPRODUCTIONS

PAPER = {
    **printed((0.092, 0.088, 0.067, 0.091, 0.090, 0.066), "PAN-SVM"),
    **printed((8.04, 18.91, 7.38, 9.73, 18.09, 7.62), "SVM-ADMM"),
}


@REPRODUCTIONS.register("lu-table-3.5")
class Table35(StabilityTable):
    """Pima diabetes."""

    title = "Table 3.5, training on Pima diabetes"
    minutes, quick_minutes = 60, 12
    one, first = DIABETES, "pregnant"
    paper = PAPER

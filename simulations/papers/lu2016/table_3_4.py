"""Table 3.4: seconds of training and round trips on fourclass, 5, 10 and 20 sites."""

from simulations.papers.lu2016.sets import FOURCLASS
from simulations.papers.lu2016.stability import StabilityTable, printed
from simulations.papers.reproduction import REPRODUCTIONS

PAPER = {
    **printed((0.094, 0.089, 0.087, 0.093, 0.089, 0.084), "PAN-SVM"),
    **printed((2.72, 0.73, 2.59, 3.39, 1.96, 7.37), "SVM-ADMM"),
}


@REPRODUCTIONS.register("lu-table-3.4")
class Table34(StabilityTable):
    """fourclass."""

    title = "Table 3.4, training on fourclass"
    minutes, quick_minutes = 12, 3
    one, first = FOURCLASS, "f1"
    paper = PAPER

"""Table VI: level of distortion of Synthetic."""

from simulations.papers.lin2011.levels import LevelsTable, printed
from simulations.papers.lin2011.sets import SUBSTITUTED
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lin-table-6")
class LinTable6(LevelsTable):
    """Synthetic."""

    title = "Table VI, level of distortion, Synthetic"
    data = "Synthetic"
    paper = printed(
        ep2=(0.18, 39.81, 0.011, 0.8, 0.4, 5, 5),
        ep3=(0.13, 34.63, 0.009, 1.2, 0.4, 35, 36),
    )
    substituted = (SUBSTITUTED["Synthetic"],)

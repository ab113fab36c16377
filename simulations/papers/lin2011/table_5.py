"""Table V: level of distortion of Ionosphere."""

from simulations.papers.lin2011.levels import LevelsTable, printed
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lin-table-5")
class LinTable5(LevelsTable):
    """Ionosphere."""

    title = "Table V, level of distortion, Ionosphere"
    data = "Ionosphere"
    paper = printed(
        ep2=(0.28, 37.31, 0.018, 0.29, 0.71, 11, 14),
        ep3=(0.19, 25.58, 0.053, 0.65, 0.5, 33, 34),
    )

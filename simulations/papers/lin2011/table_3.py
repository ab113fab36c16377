"""Table III: level of distortion of WBC."""

from simulations.papers.lin2011.levels import LevelsTable, printed
from simulations.papers.lin2011.sets import SUBSTITUTED
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lin-table-3")
class LinTable3(LevelsTable):
    """WBC."""

    title = "Table III, level of distortion, WBC"
    data = "WBC"
    paper = printed(
        ep2=(0.03, 140.5, 0.022, 2.0, 0.33, 7, 12),
        ep3=(0.33, 84.95, 0.015, 0.0, 1.0, 15, 31),
    )
    substituted = (SUBSTITUTED["WBC"],)

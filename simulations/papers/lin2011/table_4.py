"""Table IV: level of distortion of Sonar."""

from simulations.papers.lin2011.levels import LevelsTable, printed
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lin-table-4")
class LinTable4(LevelsTable):
    """Sonar."""

    title = "Table IV, level of distortion, Sonar"
    data = "Sonar"
    paper = printed(
        ep2=(0.20, 32.49, 0.022, 1.263, 0.631, 7, 19),
        ep3=(0.18, 19.63, 0.033, 0.308, 0.769, 22, 60),
    )

"""Figure 3.8: iterations of ADMM on fourclass, rows dealt at random and by a feature."""

from simulations.papers.lu2016.iterations import IterationsFigure
from simulations.papers.lu2016.table_3_4 import Table34
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lu-figure-3.8")
class Figure38(IterationsFigure):
    """fourclass."""

    title = "Figure 3.8, iterations of ADMM on fourclass"
    minutes, quick_minutes = 12, 3
    table = Table34()

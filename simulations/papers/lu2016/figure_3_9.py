"""Figure 3.9: iterations of ADMM on Pima diabetes, rows dealt at random and by a feature."""

from simulations.papers.lu2016.iterations import IterationsFigure
from simulations.papers.lu2016.table_3_5 import Table35
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lu-figure-3.9")
class Figure39(IterationsFigure):
    """Pima diabetes."""

    title = "Figure 3.9, iterations of ADMM on Pima diabetes"
    minutes, quick_minutes = 60, 12
    table = Table35()

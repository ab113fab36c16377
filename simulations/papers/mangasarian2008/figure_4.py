"""Figure 4: four column blocks."""

from simulations.papers.mangasarian2008.scatter import Scatter, printed
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("mangasarian-figure-4")
class MangasarianFigure4(Scatter):
    """A point for each data set that has enough columns."""

    title = "Figure 4, error with and without sharing, four column blocks"
    blocks = 4
    minutes, quick_minutes = 80, 8
    paper = printed(4)

"""Figure 3: two column blocks."""

from simulations.papers.mangasarian2008.scatter import Scatter, printed
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("mangasarian-figure-3")
class MangasarianFigure3(Scatter):
    """A point for each data set that has enough columns."""

    title = "Figure 3, error with and without sharing, two column blocks"
    blocks = 2
    minutes, quick_minutes = 80, 8
    paper = printed(2)

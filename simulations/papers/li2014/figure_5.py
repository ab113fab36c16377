"""Figure 5: AUC by dimensions, US."""

from simulations.papers.li2014.by_dimensions import ByDimensions
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-5")
class Figure5(ByDimensions):
    """The stand-in for the US."""

    title = "Figure 5, AUC by dimensions, US"
    data = "adult"

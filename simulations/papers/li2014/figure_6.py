"""Figure 6: AUC by dimensions, Brazil."""

from simulations.papers.li2014.by_dimensions import ByDimensions
from simulations.papers.li2014.census import BRAZIL
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-6")
class Figure6(ByDimensions):
    """The stand-in for Brazil."""

    title = "Figure 6, AUC by dimensions, Brazil"
    data = "adult-test"
    substituted = (*ByDimensions.substituted, BRAZIL)

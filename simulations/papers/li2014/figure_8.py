"""Figure 8: AUC by sampling rate, Brazil."""

from simulations.papers.li2014.by_rate import ByRate
from simulations.papers.li2014.census import BRAZIL
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-8")
class Figure8(ByRate):
    """The stand-in for Brazil."""

    title = "Figure 8, AUC by sampling rate, Brazil"
    data = "adult-test-14"
    substituted = (*ByRate.substituted, BRAZIL)

"""Figure 7: AUC by sampling rate, US."""

from simulations.papers.li2014.by_rate import ByRate
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-7")
class Figure7(ByRate):
    """The stand-in for the US."""

    title = "Figure 7, AUC by sampling rate, US"
    data = "adult-14"

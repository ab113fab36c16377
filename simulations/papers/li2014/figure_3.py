"""Figure 3: AUC by epsilon, US."""

from simulations.papers.li2014.by_epsilon import ByEpsilon
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-3")
class Figure3(ByEpsilon):
    """The stand-in for the US."""

    title = "Figure 3, AUC by epsilon, US"
    data = "adult-14"

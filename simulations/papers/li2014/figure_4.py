"""Figure 4: AUC by epsilon, Brazil."""

from simulations.papers.li2014.by_epsilon import ByEpsilon
from simulations.papers.li2014.census import BRAZIL
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("li-figure-4")
class Figure4(ByEpsilon):
    """The stand-in for Brazil."""

    title = "Figure 4, AUC by epsilon, Brazil"
    data = "adult-test-14"
    substituted = (*ByEpsilon.substituted, BRAZIL)

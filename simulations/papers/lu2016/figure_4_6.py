"""Figure 4.6: accuracy of PAN-SVM under CV1 and CV2, several classes."""

from simulations.papers.lu2016.many_classes import pan
from simulations.papers.lu2016.schemes import SchemesFigure
from simulations.papers.lu2016.sets import ThesisSet
from simulations.papers.reproduction import REPRODUCTIONS
from simulations.papers.run import Run


@REPRODUCTIONS.register("lu-figure-4.6")
class Figure46(SchemesFigure):
    """PAN-SVM."""

    title = "Figure 4.6, accuracy of PAN-SVM under CV1 and CV2"
    minutes, quick_minutes = 900, 90
    said = ("Both leukemias and lung are better under CV2, by less than 1.68 points.",)

    def make(self, one: ThesisSet, share: float, scheme: str, seed: int) -> Run:
        """Return a run."""
        return pan(one, share, scheme, seed)

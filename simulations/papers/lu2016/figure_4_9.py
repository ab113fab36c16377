"""Figure 4.9: accuracy of PAN-SVM by share of landmarks under CV1, several classes."""

from simulations.papers.lu2016.stable_shares import StableFigure
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lu-figure-4.9")
class Figure49(StableFigure):
    """CV1."""

    title = "Figure 4.9, accuracy of PAN-SVM by share of landmarks, CV1"
    scheme = "CV1"
    said = ("The accuracies of the shares spread by 0.13 to 1.16 points.",)

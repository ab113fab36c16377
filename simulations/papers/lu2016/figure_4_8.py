"""Figure 4.8: accuracy of PAN-SVM by share of landmarks under CV2, several classes."""

from simulations.papers.lu2016.stable_shares import StableFigure
from simulations.papers.reproduction import REPRODUCTIONS


@REPRODUCTIONS.register("lu-figure-4.8")
class Figure48(StableFigure):
    """CV2."""

    title = "Figure 4.8, accuracy of PAN-SVM by share of landmarks, CV2"
    scheme = "CV2"
    said = ("The accuracies of the shares spread by 0.34 to 1.59 points.",)

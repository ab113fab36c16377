"""Figure 4.5: accuracy by share of landmarks, PAN-SVM and LIBSVM with as many rows, several classes."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from simulations.papers.lu2016.many_classes import ALL, SUBSTITUTED, libsvm, pan, shares_of
from simulations.papers.plots import curves
from simulations.papers.reproduction import REPRODUCTIONS, Cell, Plan, Reproduction


@REPRODUCTIONS.register("lu-figure-4.5")
class Figure45(Reproduction):
    """Shares of 25 to 90 % on six sets."""

    title = "Figure 4.5, accuracy by share of landmarks, several classes"
    digits = 1
    repeats, quick_repeats = 10, 1
    minutes, quick_minutes = 600, 60
    said = (
        "Leukemia (3 and 4 classes), vowel, letter: PAN-SVM is close to LIBSVM and a little lower. Lung: a little "
        "higher. DNA: PAN-SVM up to 8 points higher.",
    )
    substituted = (
        *SUBSTITUTED,
        "LIBSVM 'with the same number of samples': trained on that share of four fifths of the rows.",
    )

    def plan(self, repeats: int) -> Plan:
        """Return runs of both classifiers for each set and share."""
        return {
            (f"{one.name}, {name}", f"{100 * share:.0f} %"): [
                make(one, share, scheme, seed) for seed in range(repeats)
            ]
            for one in ALL
            for name, make, scheme in (("PAN-SVM", pan, "CV1"), ("LIBSVM", libsvm, "CV2"))
            for share in shares_of(one)
        }

    def plot(self, cells: Sequence[Cell]) -> Figure:
        """Return a panel for each set."""
        return curves(cells, "share, %", "accuracy, %", panels=len(ALL))

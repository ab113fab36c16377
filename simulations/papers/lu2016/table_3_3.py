"""Table 3.3: fourclass at three sites, dealt at random and by the values of a feature."""

from simulations.papers.lu2016.sets import BOYD, FIFTHS, FOURCLASS, STOP, SUBSTITUTED_GAMMA, chapter_3
from simulations.papers.reproduction import REPRODUCTIONS, Plan, Reproduction, by_place

SPLITS = {"Random distribution": "iid", "Different distributions": "feature:f1"}
STRATEGIES = {"SVM-Ensemble": "svm-ensemble", "PAN-SVM": "pan-svm", "SVM-ADMM": "svm-admm"}
PRINTED = {
    "Random distribution": (99.16, 99.90, 99.46),
    "Different distributions": (84.48, 99.94, 99.69),
}


@REPRODUCTIONS.register("lu-table-3.3")
class Table33(Reproduction):
    """An ensemble of local SVMs, PAN-SVM and the consensus SVM by ADMM."""

    title = "Table 3.3, accuracy on fourclass, 35 % landmarks, 3 sites"
    repeats, quick_repeats = 5, 2
    minutes, quick_minutes = 4, 1
    paper = by_place(tuple(STRATEGIES), PRINTED)
    substituted = (
        FIFTHS,
        STOP,
        BOYD,
        SUBSTITUTED_GAMMA["Fourclass"],
        "Figure 3.6's segments of f1 with 285, 287 and 290 rows: three of equal size (287, 287, 288).",
    )

    def plan(self, repeats: int) -> Plan:
        """Return a run of each strategy on each split and seed."""
        return {
            (row, column): [
                chapter_3(FOURCLASS, seed, strategy, split=split, sites=3, landmarks=0.35)
                for seed in range(repeats)
            ]
            for row, split in SPLITS.items()
            for column, strategy in STRATEGIES.items()
        }

"""What report and audit say of `ensemble`.

The test rows are disclosed as they are, and the counts are of these rows only: no training row is in either.

The votes are what models of training rows say of rows that the coordinator hands out. Whoever chooses these can
learn the models, so their task stays among those that are not examined.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "held_out": ("Test patients’ rows, without their class", "to have all sites vote on them"),
        "votes": (
            "Class of each test patient by the site’s own model",
            "to find the class that most sites vote for",
        ),
        "ensemble_scores": (
            "Test patients by class and the class that most sites voted for",
            "to say how good the votes are",
        ),
    },
    examined=("held_out", "ensemble_scores"),
    few_sums=("ensemble_scores",),
    texts={
        "rows_shown": (
            "{} test rows, all cells of them, shown to the coordinator and every site",
            "no test row shown",
        )
    },
)

"""What report and audit say of `ssvd`.

Each row is published as a row of its own, without anything random in it.

It is linked if it is nearest to its own original, among all of the site's. The votes on columns are numbers of
sites.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "column_votes": (
            "Which columns tell the classes apart at the site",
            "to keep those that most sites name",
        ),
        "distorted_rows": ("A distorted copy of every patient, with the class", "to train on the copies"),
    },
    examined=("distorted_rows", "column_votes"),
    few_sums=("column_votes",),
    texts={
        "rows_published": ("{} distorted rows published with their labels", "no distorted row published"),
        "linked": ("{:.1%} of them nearest to their own original", "none of them near an original"),
        "matched": (
            "{:.1%} if all originals are known and each is given to one of them",
            "not matched one to one, there are too many rows",
        ),
        "correlation": (
            "columns correlate with their originals by {:.2f}",
            "no column left that is not constant",
        ),
    },
)

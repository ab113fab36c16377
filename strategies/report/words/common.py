"""What report and audit say of `common`.

Names and keys are about no row.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "join": (
            "Name, version and public keys of the site, names of its columns and of its classes",
            "to agree on common columns and classes, and to mask what follows",
        ),
    },
    examined=("join",),
    few_sums=("join",),
)

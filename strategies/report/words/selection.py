"""What report and audit say of `selection`.

A sum over one support vector is that row. Classes are counted with the moments of scaling.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "class_moments": (
            "For each column and class how many cells are filled, their sum and the sum of their squares",
            "to rank the columns",
        ),
        "support": ("Sums over patients near the border between classes", "to rank the columns"),
    },
    examined=("class_moments", "support"),
    few_sums=("class_moments", "support"),
    texts={
        "fewest_support_vectors": (
            "{} rows in the smallest sum over support vectors",
            "no support vector on any side",
        )
    },
)

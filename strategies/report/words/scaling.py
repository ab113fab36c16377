"""What report and audit say of `scaling`.

The ends of columns, disclosed by simulated sites only, are single cells; the result says so.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "moments": (
            "For each column how many cells are filled, their sum and the sum of their squares; patients of each class",
            "to bring all columns to the same scale",
        ),
        "rows": ("Patients of each class", "to count again after a site was lost"),
        "extremes": (
            "Smallest and largest cell of each column",
            "to bring all columns to the range from -1 to 1",
        ),
        "ranges": (
            "Smallest and largest cell of each column of simulated sites",
            "to stand for public ranges",
        ),
    },
    examined=("moments", "rows", "ranges"),
    few_sums=("moments", "rows", "extremes", "ranges"),
    texts={
        "fewest_rows": ("{} rows in the smallest sum over a class", "no sum over a class has left"),
    },
)

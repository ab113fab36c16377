"""What report and audit say of `random_kernel`.

How many rows of each cell a site that knows the random matrix computes.

It knows which columns hold two values only. Sums of rows and of columns are over all rows of a block of columns.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "cell": ("How many patients the site has", "to agree on the size of the random matrix"),
        "means": ("For each column how many cells are filled, and their sum", "to fill missing cells"),
        "column_ranges": (
            "Smallest and largest cell of each column",
            "to bring all columns to the same range",
        ),
        "kernel": (
            "Numbers made of each patient’s row and a secret random matrix, and the class",
            "to train on these numbers",
        ),
        "kernel_points": (
            "The same numbers of the test patients, and their class",
            "to say how good the model is",
        ),
    },
    examined=("cell", "means", "column_ranges", "kernel", "kernel_points"),
    few_sums=("cell", "means"),
    texts={
        "kernel_rows_shown": ("kernel values and labels of {} parts of rows shown", "no kernel value shown"),
        "rows_from_kernel": (
            "{} of these training parts of rows computed exactly by a site with the same columns",
            "none of them computed exactly by a site with the same columns",
        ),
    },
)

"""What report and audit say of `pan_svm`.

A centre is a mean of rows: of few rows it is close to each of them.

A row that is alone in a bin of a histogram gives away its class, and its decision value as finely as the bin.

How many rows Hessians determine is counted whatever the system (`simulations.attack.audit`).
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "landmarks": (
            "Centres of groups of similar patients",
            "to have points to which the model compares patients",
        ),
        "warm_start": ("The site’s own weights of the model", "to begin training near the end"),
        "cuts": (
            "Sums over patients near the border between classes, for each weights that were asked about",
            "to find the best weights",
        ),
        "scores": (
            "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
            "to say how good the model is",
        ),
    },
    examined=("landmarks", "cuts", "scores"),
    few_sums=("landmarks", "scores"),
    texts={
        "smallest_cluster": ("smallest cluster {} rows", "no landmark is a mean of rows"),
        "alone_in_bins": (
            "{} times a row was alone in a bin of a histogram of decision values",
            "no histogram of decision values has left",
        ),
    },
)

"""What report and audit say of `local_only`.

Looked at, and found to be sums over test rows only.

What the counts say of the models that they come from, and so of the training rows, is not examined.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "local_scores": (
            "Test patients by class and predicted class, by the site’s own model",
            "to say how good models of single sites are",
        ),
    },
    examined=("local_scores",),
    few_sums=("local_scores",),
)

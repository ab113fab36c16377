"""What report and audit say of `dp_svm`.

Examined by a proof, and by a test that tries to refute it.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "private_bins": (
            "How many patients lie in each part of a column’s range",
            "to choose the model’s form",
        ),
        "private_moments": ("Sums of products of the model’s coordinates", "to find the first weights"),
        "private_step": ("How the loss changes with the weights", "to better the weights"),
        "private_scores": (
            "Test patients by class, and by what the model says and how clearly",
            "to say how good the model is",
        ),
    },
    examined=("private_bins", "private_moments", "private_step", "private_scores"),
)

"""What report and audit say of `output_perturbation`.

Public rows are known, and the result says so. Whoever runs the coordinator can solve the exact cuts for rows.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "public_rows": ("Rows that simulated sites call public", "to choose the model’s form"),
        "rff_cuts": ("Sums over patients near the border between classes", "to find the best weights"),
        "rff_scores": (
            "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
            "to say how good the model is",
        ),
        "local_weights": ("The site’s own weights of the model", "to take their mean as the model"),
        "rff_private_scores": ("Test patients by class and predicted class", "to say how good the model is"),
    },
    examined=("public_rows", "local_weights", "rff_private_scores"),
    few_sums=("rff_scores",),
)

"""The ClientApp: all that a hospital answers, as a table that a person reads.

A task's row says how its message travels, which file of ``clients/systems/`` computes the answer, how what leaves is
protected, and what the hospital must have agreed to besides. The gate compares a row with the hospital's policy first
and imports the system's file only then: a hospital that agrees to ``dp`` alone never loads another system.
``clients/executor.py`` runs this at a hospital.
"""

from flwr.clientapp import ClientApp

from clients.gate.levels import DP, SIMULATED, SUMS, TESTED, Row
from clients.gate.pipeline import handler

TASKS = {
    # every run
    "join": Row("query", "common", SUMS),
    "relay": Row("train", "common", SUMS),  # a secure sum that takes several steps
    "moments": Row("train", "common", SUMS),
    "rows": Row("train", "common", SUMS),
    "extremes": Row("train", "common", SUMS, ("extremes",)),
    # PAN-SVM, and what trains on its feature maps
    "landmarks": Row("train", "pan_svm", SUMS),
    "warm_start": Row("train", "pan_svm", SUMS),
    "cuts": Row("train", "pan_svm", SUMS),
    "scores": Row("evaluate", "pan_svm", SUMS),
    "class_moments": Row("train", "selection", SUMS),
    "support": Row("train", "selection", SUMS),
    "consensus": Row("train", "admm", SUMS),
    # differential privacy
    "ranges": Row("query", "dp_svm", SIMULATED, ("extremes",)),
    "private_bins": Row("train", "dp_svm", DP),
    "private_moments": Row("train", "dp_svm", DP),
    "private_step": Row("train", "dp_svm", DP),
    "private_scores": Row("evaluate", "dp_svm", DP),
    "model_test": Row("evaluate", "evaluation", TESTED),
    # other systems
    "local_scores": Row("evaluate", "local_only", SUMS),
    "held_out": Row("query", "ensemble", SUMS, ("test-rows",)),
    "votes": Row("train", "ensemble", SUMS, ("test-rows",)),
    "ensemble_scores": Row("evaluate", "ensemble", SUMS, ("test-rows",)),
    "weak_models": Row("train", "mixture", SUMS, ("weak-models",)),
    "mixture_scores": Row("evaluate", "mixture", SUMS),
    "public_rows": Row("query", "output_perturbation", SIMULATED),
    "rff_cuts": Row("train", "output_perturbation", SUMS),
    "rff_scores": Row("evaluate", "output_perturbation", SUMS),
    "local_weights": Row("train", "output_perturbation", DP, ("own-weights",)),
    "rff_private_scores": Row("evaluate", "output_perturbation", DP),
    "cell": Row("train", "random_kernel", SUMS),
    "means": Row("train", "random_kernel", SUMS),
    "column_ranges": Row("train", "random_kernel", SUMS, ("extremes",)),
    "kernel": Row("train", "random_kernel", SUMS, ("kernel-rows", "row-labels")),
    "kernel_points": Row("evaluate", "random_kernel", SUMS, ("kernel-rows", "row-labels")),
    "column_votes": Row("train", "ssvd", SUMS, ("distorted-rows",)),
    "distorted_rows": Row("train", "ssvd", SUMS, ("distorted-rows",)),
}

app = ClientApp()

for name, row in TASKS.items():
    register = {"query": app.query, "train": app.train, "evaluate": app.evaluate}[row.category]
    register(name)(handler(name, row))

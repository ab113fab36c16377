"""The ClientApp: all that a hospital answers, as a table that a person reads.

A task's row says how its message travels, which file of ``clients/systems/`` computes the answer, how what leaves is
protected, and what the hospital must have agreed to besides. The gate compares a row with the hospital's policy first
and imports the system's file only then: a hospital that agrees to ``dp`` alone never loads another system.
``clients/node/node.py`` runs this at a hospital.
"""

from collections.abc import Sequence

from flwr.clientapp import ClientApp
from flwr.clientapp.typing import Mod

from clients.gate.levels import DP, SIMULATED, SUMS, TESTED, TaskRow
from clients.gate.pipeline import handler

TASKS = {
    # every run
    "join": TaskRow("query", "common", SUMS),
    "relay": TaskRow("train", "common", SUMS),  # a secure sum that takes several steps
    # scaling
    "moments": TaskRow("train", "scaling", SUMS),
    "rows": TaskRow("train", "scaling", SUMS),
    "extremes": TaskRow("train", "scaling", SUMS, ("extremes",)),
    "ranges": TaskRow("query", "scaling", SIMULATED, ("extremes",)),
    # PAN-SVM, and what trains on its feature maps
    "landmarks": TaskRow("train", "pan_svm", SUMS),
    "warm_start": TaskRow("train", "pan_svm", SUMS),
    "cuts": TaskRow("train", "pan_svm", SUMS),
    "scores": TaskRow("evaluate", "pan_svm", SUMS),
    "class_moments": TaskRow("train", "selection", SUMS),
    "support": TaskRow("train", "selection", SUMS),
    "consensus": TaskRow("train", "admm", SUMS),
    # differential privacy
    "private_bins": TaskRow("train", "dp_svm", DP),
    "private_moments": TaskRow("train", "dp_svm", DP),
    "private_step": TaskRow("train", "dp_svm", DP),
    "private_scores": TaskRow("evaluate", "dp_svm", DP),
    "model_test": TaskRow("evaluate", "evaluation", TESTED),
    "subgroups": TaskRow("evaluate", "evaluation", SUMS, ("subgroups",)),
    # other systems
    "local_scores": TaskRow("evaluate", "local_only", SUMS),
    "held_out": TaskRow("query", "ensemble", SUMS, ("test-rows",)),
    "votes": TaskRow("train", "ensemble", SUMS, ("test-rows",)),
    "ensemble_scores": TaskRow("evaluate", "ensemble", SUMS, ("test-rows",)),
    "weak_models": TaskRow("train", "mixture", SUMS, ("weak-models",)),
    "mixture_scores": TaskRow("evaluate", "mixture", SUMS),
    "public_rows": TaskRow("query", "output_perturbation", SIMULATED),
    "rff_cuts": TaskRow("train", "output_perturbation", SUMS),
    "rff_scores": TaskRow("evaluate", "output_perturbation", SUMS),
    "local_weights": TaskRow("train", "output_perturbation", DP, ("own-weights",)),
    "rff_private_scores": TaskRow("evaluate", "output_perturbation", DP),
    "cell": TaskRow("train", "random_kernel", SUMS),
    "means": TaskRow("train", "random_kernel", SUMS),
    "column_ranges": TaskRow("train", "random_kernel", SUMS, ("extremes",)),
    "kernel": TaskRow("train", "random_kernel", SUMS, ("kernel-rows", "row-labels")),
    "kernel_points": TaskRow("evaluate", "random_kernel", SUMS, ("kernel-rows", "row-labels")),
    "column_votes": TaskRow("train", "ssvd", SUMS, ("distorted-rows",)),
    "distorted_rows": TaskRow("train", "ssvd", SUMS, ("distorted-rows",)),
}


def app_of_tasks(mods: Sequence[Mod] = ()) -> ClientApp:
    """Return a ClientApp that answers all tasks, through some of Flower's mods."""
    made = ClientApp(mods=list(mods))
    for name, row in TASKS.items():
        register = {"query": made.query, "train": made.train, "evaluate": made.evaluate}[row.category]
        register(name)(handler(name, row))
    return made


app = app_of_tasks()

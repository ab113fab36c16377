"""The ClientApp: which task of the coordinator's is answered by which local work.

``clients/executor.py`` runs it at a hospital.
"""

from flwr.clientapp import ClientApp

from clients.gate.answering import HANDLERS
from clients.local import (
    consensus,
    cutting_planes,
    distortion,
    ensemble_voting,
    joining,
    landmarks,
    local_training,
    mixture,
    model_test,
    output_perturbation,
    private_training,
    random_kernel,
    scaling,
    scoring,
    selection,
)

LOCAL = (
    joining,
    scaling,
    landmarks,
    cutting_planes,
    selection,
    scoring,
    local_training,
    ensemble_voting,
    consensus,
    private_training,
    output_perturbation,
    distortion,
    random_kernel,
    mixture,
    model_test,
)
"""All that a hospital computes on its rows is in these modules; each enters its work in `HANDLERS`."""

TASKS = tuple(HANDLERS)  # all that a hospital answers

app = ClientApp()

for task in TASKS:
    register = {"query": app.query, "train": app.train, "evaluate": app.evaluate}[task.category]
    register(task.name)(HANDLERS[task])

"""The ClientApp: which task of the coordinator's is answered by which local work.

``clients/executor.py`` runs it at a hospital.
"""

from flwr.clientapp import ClientApp

from clients.gate.answering import HANDLERS
from clients.systems import (
    admm,
    common,
    dp_svm,
    ensemble,
    local_only,
    mixture,
    output_perturbation,
    pan_svm,
    random_kernel,
    selection,
    ssvd,
)

LOCAL = (
    common,
    pan_svm,
    selection,
    dp_svm,
    local_only,
    ensemble,
    admm,
    output_perturbation,
    ssvd,
    random_kernel,
    mixture,
)
"""All that a hospital computes on its rows is in these modules; each enters its work in `HANDLERS`."""

TASKS = tuple(HANDLERS)  # all that a hospital answers

app = ClientApp()

for task in TASKS:
    register = {"query": app.query, "train": app.train, "evaluate": app.evaluate}[task.category]
    register(task.name)(HANDLERS[task])

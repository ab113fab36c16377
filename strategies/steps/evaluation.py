"""Testing a trained model on true records at level dp, after a run at level perturbed."""

from dataclasses import replace
from logging import WARNING
from typing import Any

import numpy as np
from flwr.common.logger import log

from flower_pansvm.errors import BudgetError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.model import Model
from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.systems.evaluation import MODEL_TEST, ModelTestQuestion
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.settings import Settings
from strategies.steps.private_training import Budget, evaluated

TRUE_RECORDS = "true records, with differential privacy"

DELTA = 1e-5
"""Of the promise that ``test-epsilon`` makes."""


def tested_on_true_records(
    federation: Federation, settings: Settings, model: Model, outcome: Outcome
) -> Outcome:
    """Return the outcome with the model's figures on true test records in place of those on their copies.

    They stay as they are, with a warning, where a hospital's budget for test records is spent.
    """
    budget = Budget(
        federation, rho_of(settings.test_epsilon, DELTA), settings.colluders, resumed=settings.resume
    )
    question = ModelTestQuestion(budget.rho, np.frombuffer(model.to_bytes(), dtype=np.uint8))
    with federation.costs.phase("test on true records"):
        try:
            cells = budget.ask(MODEL_TEST, question, cells=(len(model.schema_.classes), 2)).cells
        except BudgetError as error:
            log(WARNING, "the model is tested on copies only: %s", error)
            return outcome
    evaluation, noise = evaluated(cells, budget.deviation(MODEL_TEST, "cells", budget.rho))
    before = outcome.evaluation or Evaluation(0, None, None, None, None)
    told: dict[str, Any] = {
        "epsilon": settings.test_epsilon,
        "delta": DELTA,
        "colluders": settings.colluders,
        "answers": sum(one.answers for one in budget.spent),
        "accuracy_noise": noise,
    }
    if all(site.simulated for site in federation.sites.values()):
        told["true_accuracy"] = before.accuracy
    else:
        told["accuracy_of_copies"] = before.accuracy
    figures = {name: figure for name, figure in outcome.figures.items() if name != "confusion"}
    return replace(
        outcome,
        evaluation=evaluation,
        figures={**figures, "tested_on": TRUE_RECORDS, "test_on_true_records": told},
    )

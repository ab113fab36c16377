"""What a hospital is promised of all that leaves it: decided here, once, for each request, before anything is computed.

By default only what is differentially private leaves, and is charged to the hospital's ledger. Everything else is
summed or disclosed only if the node config agrees.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flwr.app import Context

from clients.gate.budget import read_ledger
from clients.gate.classes import check_listed
from clients.gate.simulated import is_simulated
from clients.gate.state_folder import state_folder
from clients.gate.terms import agreed_terms, allowed_classes, budget_terms, has_agreed, site_name
from flower_pansvm.errors import BudgetError, SettingError
from flower_pansvm.tasks.consents import AGREED, AGREEMENTS, CONSENTS, EXACT_SUMS
from flower_pansvm.tasks.joining import JoinQuestion
from flower_pansvm.tasks.task import Task

REFUSED = {
    "defended": (
        "sums without differential privacy, from which whoever runs the coordinator may find out single patients' rows",
        "defended",
    ),
    "exact": (
        "sums without noise, from which whoever runs the coordinator can compute most rows of a small table",
        AGREED,
    ),
}
"""What answers with less than the promise that a hospital insists on can give away, and the word that agrees to it."""


def check_promise(context: Context, task: Task[Any, Any], question: object) -> None:
    """Check that the hospital agrees to what a request is for; a simulated site, which has no patients, agrees to all.

    Raises
    ------
    SettingError
        If it does not; or if there is no such promise.
    BudgetError
        If the answer would be charged, and there is no budget, ledger or roster; or the classes' names are not public.
    """
    preset, name = agreed_terms(context).preset, site_name(context)
    if is_simulated(context):
        return
    if task.promise == "simulated":
        raise SettingError(
            f"Site '{name}' does not answer task '{task.name}', which is for simulated sites. Write into files what is "
            "public of the columns, or rows that nobody has to protect; and name them in the run's settings, as "
            "'schema' and 'public'."
        )
    check_consents(context, task.consents)
    promise = question.promise if isinstance(question, JoinQuestion) else task.promise
    if promise == "charged":
        _check_budget(context, question)
        return
    if promise == "defended" and preset != "private":
        promise = "exact"
    if promise not in AGREEMENTS.get(str(context.node_config.get(EXACT_SUMS)), ()):
        given_away, word = REFUSED.get(promise, REFUSED["exact"])
        raise SettingError(
            f"Site '{name}' does not take part in {given_away}: start the run with strategy=dp-svm, or, if the "
            f"hospital agrees to that, write {EXACT_SUMS}='{word}' into the site's node config."
        )


def check_consents(context: Context, consents: Iterable[str]) -> None:
    """Check that this hospital agrees to what a task discloses; SettingError if not."""
    for consent in sorted(consents):
        if not has_agreed(context, consent):
            raise SettingError(
                f"Site '{site_name(context)}' does not disclose {CONSENTS[consent].discloses}. Start the run with "
                f"{CONSENTS[consent].instead}; or, if the hospital agrees, write {consent}='{AGREED}' into the site's "
                "node config."
            )


def _check_budget(context: Context, question: object) -> None:
    name = site_name(context)
    if "epsilon" not in context.node_config:
        raise BudgetError(
            f"Site '{name}' has no budget for differential privacy. Write epsilon=1.0 and delta=1e-5 into its node "
            "config, or what else the hospital agrees to spend on this table in all runs together."
        )
    if not {"identity", "roster"} <= context.node_config.keys():
        raise BudgetError(
            f"Site '{name}' shares the noise of private answers with hospitals that it knows only: without a roster "
            "the coordinator could invent most of them. Write identity and roster into its node config "
            "(docs/deployment.md)."
        )
    budget_terms(context)
    read_ledger(state_folder(context) or Path())
    if isinstance(question, JoinQuestion):
        if not allowed_classes(context):
            raise BudgetError(
                f"Site '{name}' has to name its classes without looking at its rows. Write a line such as "
                "'classes = [0, 1]' into the schema file; or classes='0,1' into the site's node config."
            )
        check_listed(context, question.classes, question.positive_labels)

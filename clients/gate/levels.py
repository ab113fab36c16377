"""The level at which a site answers a request, decided once for each request before anything is computed.

The level says which records the code that answers gets to see: at `exact` the true ones; at `perturbed` their copy
(:mod:`clients.perturb`); at `dp` the true ones, for sums with noise that are charged. A hospital's node config says the
weakest level that it agrees to.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from clients.classes import allowed_classes, check_classes
from clients.hospital import Hospital
from clients.ledger.ledger import read_ledger
from clients.state_folder import state_folder
from flower_pansvm.consents import AGREED, CONSENTS, LEVELS
from flower_pansvm.errors import NOT_FOLLOWED, BudgetError, SettingError
from flower_pansvm.systems.common import JoinQuestion

SUMS, DP, TESTED, SIMULATED = "sums", "dp", "tested", "simulated"
"""How an answer is protected: SUMS by the run's level, exact or perturbed; DP by charged noise; TESTED, too, of true
test records in runs at another level; SIMULATED not at all, as only simulated sites answer."""


@dataclass(frozen=True)
class TaskRow:
    """A task's row in the table of ``clients/app.py``."""

    category: Literal["query", "train", "evaluate"]  # Flower's
    system: str  # file of clients/systems that computes the answer
    leaves: str  # SUMS, DP, TESTED or SIMULATED
    consents: tuple[str, ...] = ()  # keys of the node config by which the hospital must have agreed


LEARNED = {
    "exact": "sums of its patients' records, from which the coordinator can compute most of a small table",
    "perturbed": "sums of perturbed copies of its patients' records, which the coordinator can compute",
}
"""What leaves a hospital at the levels without a proof, and what the coordinator can learn from it."""


def level_of(hospital: Hospital, name: str, row: TaskRow, question: JoinQuestion | None = None) -> str:
    """Return the level of a request, after checking that the hospital agrees to it; a simulated site agrees to all.

    ``name`` and ``row`` are the task's; ``question`` is that of a site that joins. SettingError if the hospital does
    not agree, or the classes or positive labels are not its own. BudgetError if an answer would be charged, and there
    is no budget, ledger or roster; or the classes' names are not public.
    """
    terms, simulated = hospital.terms, hospital.simulated
    if question is not None and not simulated:
        check_classes(hospital, question.classes, question.positive_labels)
    if row.leaves == SIMULATED:
        if simulated:
            return "exact"
        raise SettingError(
            f"Site '{hospital.name}' does not answer task '{name}', which is for simulated sites. Write into "
            "files the public facts of the columns, or rows that need no protection; and name them in the run's "
            "settings, as 'schema' and 'public'."
        )
    dp = row.leaves == DP or (question is not None and question.dp)
    if terms.privacy == "dp" and not dp:
        raise SettingError(
            f"Site '{hospital.name}' refuses task '{name}', which is not differentially private, in a run "
            f"with privacy=dp. {NOT_FOLLOWED}"
        )
    check_consents(hospital, row.consents)
    level = "dp" if dp else "exact" if terms.privacy == "exact" else "perturbed"
    check_level(hospital, level)
    tested = row.leaves == TESTED or (question is not None and question.tested)
    if (dp or tested) and not simulated:
        _check_budget(hospital, question)
    return "dp" if row.leaves == TESTED else level


def check_level(hospital: Hospital, level: str) -> None:
    """Check that this hospital agrees to a level, to `perturbed` with the run's noise; SettingError if not."""
    name, noise = hospital.name, hospital.terms.noise
    weakest, least = hospital.policy.privacy, hospital.policy.noise
    if LEVELS.index(level) < LEVELS.index(weakest):
        stronger = " or privacy=perturbed" if weakest == "perturbed" else ""
        raise SettingError(
            f"Site '{name}' does not take part in a run at level {level}: it releases {LEARNED[level]}. Start the "
            f"run with strategy=dp-svm{stronger}; or, if the hospital agrees to that level, write privacy='{level}' "
            "into the site's node config."
        )
    if level == weakest == "perturbed" and noise < least:
        raise SettingError(
            f"Site '{name}' refuses noise={noise:g}: its minimum is {least:g}. Start the run with "
            f"noise={least:g}; or write noise={noise:g} into the site's node config, if the hospital agrees."
        )


def check_consents(hospital: Hospital, consents: Iterable[str]) -> None:
    """Check that this hospital agrees to what a task discloses; SettingError if not."""
    for consent in sorted(consents):
        if consent not in hospital.policy.consents:
            raise SettingError(
                f"Site '{hospital.name}' does not disclose {CONSENTS[consent].discloses}. Start the run with "
                f"{CONSENTS[consent].instead}; or, if the hospital agrees, write {consent}='{AGREED}' into the site's "
                "node config."
            )


def _check_budget(hospital: Hospital, question: JoinQuestion | None) -> None:
    name, policy, colluders = hospital.name, hospital.policy, hospital.terms.colluders
    if not policy.epsilon:
        raise BudgetError(
            f"Site '{name}' has no budget for differential privacy. Write epsilon=1.0 and delta=1e-5 into its node "
            "config, or the budget that the hospital agrees to spend on this table in all runs together."
        )
    if not (policy.identity and policy.roster):
        raise BudgetError(
            f"Site '{name}' shares the noise of private answers with hospitals that it knows only: without a roster "
            "the coordinator could invent most of them. Write identity and roster into its node config "
            "(docs/deployment.md)."
        )
    if colluders < policy.colluders:
        raise SettingError(
            f"Site '{name}' refuses colluders={colluders}: its minimum is {policy.colluders}. Start the run "
            f"with colluders={policy.colluders}; or write another number into its node config, if the hospital agrees."
        )
    read_ledger(state_folder(hospital))
    if question is not None and not allowed_classes(hospital):
        raise BudgetError(
            f"Site '{name}' has to name its classes without looking at its rows. Write a line such as "
            "'classes = [0, 1]' into the schema file; or classes='0,1' into the site's node config."
        )

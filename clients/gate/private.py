"""Answers with differential privacy: charged to the hospital's budget first, and with the site's share of the noise.

What the promise rests on is the noise of all sites but those that may collude, and as many that may fail: each adds
that many times less variance. It is drawn on the grid of the exact sums (:mod:`flower_pansvm.privacy.exact`). Laplace
noise of each site is enough for its own rows (:mod:`flower_pansvm.privacy.output_perturbation`).

**The unit is the patient.** Neighbours are tables of which one has one patient more, with all that patient's rows.
Of these at most k = ``rows-per-patient`` take part (:func:`clients.patients.at_most`). Which ones, and on which side,
depends on the patient's own rows and the key, so all other patients' parts are the same in both tables. By the declared
sensitivity a row's part has at most the 2-norm 1 in units of the noise; so k rows together have at most k, whatever
rows a coordinator's question makes alike. With a noise k times as large the answer costs what is charged for it:
rho = (k · sensitivity)² / (2 (k · sigma)²). Likewise of Laplace noise, along a chain of k tables that differ in one row
each. All sites of a sum have the same k, as it is among the terms of the run that masks are made from; so each site's
share of the noise is enough for every other site's patients.
"""

import hmac
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from clients.ledger.lasting_split import lasting_secret
from clients.ledger.ledger import charge, check_joined, read_ledger
from clients.site import Site
from clients.state_folder import state_folder
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, SumError
from flower_pansvm.privacy.discrete_noise import discrete_gaussian, random_bits, sigma_of
from flower_pansvm.privacy.exact import UNIT
from flower_pansvm.secure_sum import tags
from flower_pansvm.tasks import Task

Q = TypeVar("Q")
A = TypeVar("A")

LEAST_RHO = 1e-6
"""Cheaper answers are all noise, which the words of the sums could not hold."""


@dataclass(frozen=True)
class Private(Generic[A]):
    """An answer that has been charged and has its noise: only :func:`privately` makes one, and a reply needs it."""

    answer: A


def privately(site: Site, task: Task[Q, A], question: Q, work: Callable[[Site, Q], A]) -> Private[A]:
    """Charge for an answer, make it, and add this site's share of the noise.

    BudgetError if the hospital's budget does not allow it, or the promise would not hold.
    """
    rho, sites = question.rho, _honest_sites(site)  # type: ignore[attr-defined]
    if not LEAST_RHO <= rho < math.inf:
        raise BudgetError(
            f"Site '{site.name}' refuses a request of cost {rho:g}; it has to be {LEAST_RHO:g} or more."
        )
    if not site.simulated:
        # Before a row is looked at: by a run that was joined as another its labels would be checked, and refused.
        check_joined(site, ledger := read_ledger(state_folder(site)))
        if site.policy.approval != "never":
            from clients.runs import check_cost  # noqa: PLC0415 - where a person decides

            check_cost(site, ledger, task, rho)
    # What a hospital refuses for its split costs nothing.
    rows, most = len(site.train().classes), site.terms.rows_per_patient
    charge(site, task, rho)
    answer = work(site, question)
    bits, noisy = random_bits(_noise_key(site, task, question)), {}
    for name in task.summed:
        exact, declared = np.asarray(getattr(answer, name), dtype=np.float64), task.declared[name]
        if declared.scale is not None:
            from flower_pansvm.privacy.output_perturbation import perturbed  # noqa: PLC0415 - dp-svm has none

            noisy[name] = perturbed(exact, most * declared.scale(question, rows), bits)
            continue
        sigma = sigma_of(most * declared.sensitivity(answer), rho, sites, UNIT)
        noise = discrete_gaussian(sigma, exact.size, bits).reshape(exact.shape)
        noisy[name] = (np.rint(exact * UNIT).astype(np.int64) + noise) / UNIT
    return Private(replace(answer, **noisy))  # type: ignore[type-var]


def _honest_sites(site: Site) -> int:
    """Return the number of sites whose noise a sum has for sure: of the fewest that open it, all but colluders."""
    if site.participation is None:
        raise SumError("A private answer was requested outside a secure sum. Start the run again.")
    sum_round, protocol = site.participation.sum_round, site.participation.protocol
    most, sites = site.terms.colluders, len(sum_round.roster)
    if not (protocol.protected or site.simulated):
        raise BudgetError(
            f"Site '{site.name}' gives private answers in secure sums only: alone, its share of the noise does not "
            "keep the promise. Start the run with aggregation=ring."
        )
    honest = max(protocol.fewest(sum_round), sites - most) - most
    if honest <= 0:
        raise BudgetError(
            f"Site '{site.name}' cannot share noise among {sites} sites of which {most} may collude. Find more sites, "
            "or lower colluders if all hospitals agree."
        )
    if honest > 1 and protocol.isolating(sum_round) <= most:
        raise BudgetError(
            f"Site '{site.name}' does not share noise in a sum that {most} colluding sites can take apart: that of a "
            "part of the others does not keep the promise. Start the run with aggregation=k-secure and a k above "
            f"{most}, or lower colluders if all hospitals agree."
        )
    return honest


def _noise_key(site: Site, task: Task[Any, Any], question: Any) -> bytes:
    """Return a new key for the noise; in a simulation it follows from the seed, so that runs repeat."""
    if not site.simulated:
        return secrets.token_bytes(32)
    assert site.participation is not None  # _honest_sites has checked it
    about = (task.name, records.digest(records.values_of(question)), site.participation.sum_round.roster)
    return hmac.digest(lasting_secret(site), tags.join_fields(tags.SECRET, repr(about).encode()), "sha256")

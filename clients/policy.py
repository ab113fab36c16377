"""What a hospital has settled for itself, whatever the coordinator asks for: its node config, parsed once.

Whoever starts the SuperNode writes it; nothing that is sent can change it. Of a simulated site, which is nobody's to
protect, the policy agrees to everything. The coordinator chooses a run's settings, the terms; a hospital refuses every
run, and every sum, that does not keep to what it insists on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, TypeVar

from flower_pansvm.consents import AGREED, CONSENTS, LEVELS
from flower_pansvm.constraints import (
    near_matches,
    number,
    one_of,
    one_of_numbers,
    parse,
    setting,
    setting_fields,
    text,
    values_in,
    whole,
)
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.log import logger
from flower_pansvm.privacy.accountant import LARGEST_DELTA, LARGEST_EPSILON
from flower_pansvm.secure_sum import OWN_PROTOCOLS, protocol_of
from flower_pansvm.secure_sum.contract import FEWEST_ENOUGH, SecureSum
from flower_pansvm.terms import MIN_CLUSTER, NOISES, Scalar, Terms

SIMULATED_KEYS = ("partition-id", "num-partitions")
"""What the node config of a simulated site holds, and nothing else."""

LEAST_SITES = 3
"""A hospital's ``min-sites`` unless its node config says otherwise: of a sum of two, each site learns the other's part
by taking off its own."""

PARTS = {
    "flower_pansvm.reading_options:ReadingOptions": None,
    "clients.systems.mixture:Preference": "weak-models",
}
"""Keys that not every hospital has: the dataclass whose fields they are, and the consent beside which they count. It is
loaded by a hospital that has given the consent and has a key that is none of the policy's."""

P = TypeVar("P")


@dataclass(frozen=True)
class HospitalPolicy:
    """A node config. Each field is a key, with ``-`` for ``_``; what it may be and what it means stand beside it.

    Besides these it holds the consents of `flower_pansvm.consents`, each with the word ``agreed``, and keys of `PARTS`.

    Raises
    ------
    SettingError
        If a value cannot work.
    """

    name: str = setting("", text(), "The hospital's name in runs, roster and results.")
    data: str = setting("", text(), "Its table: a file, or a query of a database in a .sql file.")
    label: str = setting("", text(), "Label column; by default the schema file's, or 'label'.")
    row_id: str = setting("", text(), "Column of ids, by which rows keep copy and side of the split.")
    schema: str = setting("", text(), "Schema file, an absolute path.")
    classes: str = setting("", text(), "Labels that may be known, by commas; by default the schema file's.")
    positive: str = setting("", text(), "Labels that count as positive; by default the schema file's.")
    state: str = setting("", text(), "Folder for what must outlive a run, an absolute path.")
    identity: str = setting("", text(), "File of its lasting private key.")
    roster: str = setting("", text(), "File of all hospitals' public keys.")
    aggregation: str = setting("", text(), "The secure sum that it insists on.")
    scaling: str = setting("", text(), "The scaling that it insists on.")
    k: int = setting(0, whole(0), "With how many sites it shares masks, at least.")
    min_sites: int = setting(LEAST_SITES, whole(0), "Fewest sites in a sum.")
    min_cluster: int = setting(
        MIN_CLUSTER, whole(0), "Fewest of its patients behind a landmark, a class or a fold."
    )
    privacy: str = setting(LEVELS[-1], one_of(*LEVELS), "The weakest level that it agrees to.")
    noise: float = setting(NOISES[1], one_of_numbers(*NOISES), "The least noise of level perturbed.")
    least_error: float = setting(0.0, number(least=0), "Least error of a guess at level perturbed, to start.")
    epsilon: float = setting(
        0.0, number(least=0, most=LARGEST_EPSILON), "What all runs together may tell of a row; 0: no budget."
    )
    delta: float = setting(1e-5, number(above=0, most=LARGEST_DELTA), "Chance that they tell more.")
    colluders: int = setting(1, whole(0), "Fewest colluding sites that a run has to allow for.")
    approval: str = setting("never", one_of("never", "first", "always"), "Which runs a person approves.")
    runs_a_month: int = setting(0, whole(0), "Most runs in 30 days; 0: any number.")
    consents: frozenset[str] = frozenset()
    parts: tuple[Any, ...] = ()  # of `PARTS`, those that its keys may be of

    def __post_init__(self) -> None:
        parse(self)

    def part(self, kind: type[P]) -> P:
        """Return its settings of a kind, by default those without any key."""
        return next((p for p in self.parts if isinstance(p, kind)), None) or kind()


SIMULATED_POLICY = HospitalPolicy(min_sites=0, colluders=0, privacy=LEVELS[0], consents=frozenset(CONSENTS))


def policy_of(node: Mapping[str, Scalar], name: str) -> HospitalPolicy:
    """Return the policy that a hospital's node config says; SettingError if it cannot work. ``name`` is the site's."""
    mine, kinds = f"The node config of site '{name}'", list[type[Any]]()
    known = {*setting_fields(HospitalPolicy), *CONSENTS}
    if node.keys() - known:
        agreed = [path for path, consent in PARTS.items() if consent is None or consent in node]
        kinds = [resolve_name(path) for path in agreed]
        known = known.union(*map(setting_fields, kinds))
    for key, value in sorted(node.items()):
        if key in SIMULATED_KEYS:
            raise SettingError(
                f"{mine} has '{key}', which only a node of a simulation has, and besides '{SIMULATED_KEYS[0]}' and "
                f"'{SIMULATED_KEYS[1]}' nothing. Leave these two out, and write what the hospital has: "
                'data="/path/to/table.csv" label="COLUMN" name="SITE".'
            )
        if key not in known:
            consents = ", ".join(filter(None, PARTS.values()))
            raise SettingError(
                f"{mine} has an unknown key '{key}'. {near_matches(key, known)} What a system alone reads counts only "
                f"beside the consent to it ({consents})."
            )
        if key in CONSENTS and value != AGREED:
            raise SettingError(
                f"{mine} has another value than '{AGREED}' for '{key}'. Write {key}='{AGREED}' if the hospital agrees "
                "to that, or leave the key out."
            )
        if value == "":
            raise SettingError(
                f"{mine} has a '{key}' that is empty. Leave the key out, or write what it is to be."
            )
    try:
        return HospitalPolicy(
            **values_in(HospitalPolicy, node),
            consents=frozenset(node.keys() & CONSENTS.keys()),
            parts=tuple(kind(**values_in(kind, node)) for kind in kinds),
        )
    except SettingError as error:
        raise SettingError(f"{mine} cannot be used: {error}") from None


RISKS = {
    "roster": "the coordinator could hand out keys of its own and read this site's sums",
    "aggregation": "the coordinator chooses how this site's sums are protected",
    "k": "the coordinator chooses with how many sites this one shares masks, two at the least",
}
"""Pins that a hospital should have, and what it risks without."""


def accepted_protocol(policy: HospitalPolicy, terms: Terms, name: str) -> SecureSum:
    """Return a run's secure sum after a check that a hospital accepts the run's terms.

    Its node config has to name a secure sum that does not protect the site, or only if others are trusted.

    Raises
    ------
    SumError
        If the hospital does not accept a term.
    SettingError
        If there is no such secure sum.
    """
    for key, asked in (("aggregation", terms.aggregation), ("scaling", terms.scaling)):
        wanted = getattr(policy, key)
        if wanted and wanted != asked:
            raise SumError(
                f"Site '{name}' refuses the {key} '{asked}': its node config insists on '{wanted}'. Start the run with "
                f"{key}={wanted}, or change the node config if the hospital agrees."
            )
    if policy is not SIMULATED_POLICY and not policy.aggregation and terms.aggregation not in OWN_PROTOCOLS:
        # Of a package that the hospital has installed: it is not even imported.
        raise SumError(
            f"Site '{name}' refuses the aggregation '{terms.aggregation}': it is none of flower-pansvm's own, and the "
            "node config does not name it. Choose aggregation=ring, or write it into the site's node config to agree."
        )
    protocol = protocol_of(terms)
    agreed = policy is SIMULATED_POLICY or policy.aggregation
    if not agreed and (protocol.by_consent or not protocol.protected):
        risk = "the coordinator would see this site's numbers"
        if protocol.protected:
            risk = (
                "one site opens the sums and need not prove that its key is sound, and a coordinator that does not "
                "follow the protocol can have it open every site's numbers"
            )
        raise SumError(
            f"Site '{name}' refuses the aggregation '{protocol.name}': {risk}. Choose aggregation=ring, "
            "or write it into the site's node config to agree."
        )
    k = getattr(protocol, "k", None)  # other protocols share no masks with so many
    if k is not None and (k or FEWEST_ENOUGH) < policy.k:
        raise SumError(
            f"Site '{name}' refuses k={k}: its node config insists on at least {policy.k}. Start the run with a larger "
            f"k; 0 stands for all sites, but of many for {FEWEST_ENOUGH} or more."
        )
    return protocol


def warn_of_risks(policy: HospitalPolicy, terms: Terms) -> None:
    """Write into a hospital's own log the risks of its node config."""
    k_matters = terms.aggregation in ("k-secure", "k-secure-hops")
    for key, risk in RISKS.items():
        if not getattr(policy, key) and (key != "k" or k_matters):
            logger.warning("the node config has no '%s': %s", key, risk)
    if policy.privacy == "exact":
        logger.warning(
            "privacy='exact' in the node config: whoever runs the coordinator can compute patients' records"
        )

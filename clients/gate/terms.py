"""What a hospital insists on, whatever the coordinator asks for: the pins in its node config.

The coordinator chooses the settings of a run. A hospital that starts its SuperNode with one of these keys in the
node config refuses every run, and every sum, that does not keep to it.
"""

from logging import WARNING
from typing import cast

from flwr.app import Context
from flwr.common.logger import log

from clients.gate.simulated import SIMULATED, is_simulated
from clients.table.schema_file import schema_of
from flower_pansvm.consents import AGREED, CONSENTS, LEVELS
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, can_be_listed, canonical_label
from flower_pansvm.privacy.accountant import LARGEST_DELTA, LARGEST_EPSILON
from flower_pansvm.reading_options import READING_KEYS, listed
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.mask_graph import FEWEST_ENOUGH
from flower_pansvm.terms import MIN_CLUSTER, NOISES, Terms

KEYS = (
    *(
        "data",
        "label",
        "row-id",
        "schema",
        *READING_KEYS,
        "classes",
        "cache",
        "state",
        "name",
        "identity",
        "roster",
    ),
    *("aggregation", "scaling", "k", "min-sites", "min-cluster"),
    *("privacy", "noise", "epsilon", "delta", "colluders"),
    *("risk-bound", "utility-share", "risk-weights"),
)
"""What a hospital's node config may hold besides consents."""

LEAST_SITES = 3
"""A hospital's ``min-sites`` unless its node config says otherwise: of a sum of two, each site learns the other's part
by taking off its own."""

RISKS = {
    "roster": "the coordinator could hand out keys of its own and read this site's sums",
    "aggregation": "the coordinator chooses how this site's sums are protected",
    "k": "the coordinator chooses with how many sites this one shares masks, two at the least",
}
"""Pins that a hospital should have, and what it risks without."""


def simulated_name(number: int) -> str:
    """Return the name of a simulated site, such that names sort as numbers do."""
    return f"site-{number:03d}"


def site_name(context: Context) -> str:
    """Return the name of a site: the one its node config gives it, else the number of a simulated node."""
    if "name" in context.node_config:
        return str(context.node_config["name"])
    if is_simulated(context):
        return simulated_name(int(cast(int, context.node_config["partition-id"])))
    return f"node-{context.node_id}"


def agreed_terms(context: Context) -> Terms:
    """Return the terms of the run, after checking that this hospital accepts them; else SettingError or SumError.

    What is unknown in the node config is an error, too: a pin with a misspelt name would protect nobody.
    """
    terms, node = Terms.from_config(context.run_config), context.node_config
    known = (*KEYS, *CONSENTS)
    for key in () if is_simulated(context) else node:
        mine = f"The node config of site '{site_name(context)}' has"
        if key in SIMULATED:
            raise SettingError(
                f"{mine} '{key}', which only a node of a simulation has, and besides '{SIMULATED[0]}' and "
                f"'{SIMULATED[1]}' nothing. Leave these two out, and write what the hospital has: "
                'data="/path/to/table.csv" label="COLUMN" name="SITE".'
            )
        if key not in known:
            raise SettingError(f"{mine} an unknown key '{key}'. {near_matches(key, known)}")
        if key in CONSENTS and node[key] != AGREED:
            raise SettingError(
                f"{mine} something else than '{AGREED}' for '{key}'. Write {key}='{AGREED}' if the hospital agrees to "
                "that, or leave the key out."
            )
    _insist(context, "aggregation", terms.aggregation)
    _insist(context, "scaling", terms.scaling)
    protocol = protocol_of(terms)
    least_k = _count(context, "k", 0)
    k = getattr(protocol, "k", None)  # other protocols share no masks with so many
    if k is not None and (k or FEWEST_ENOUGH) < least_k:
        raise SumError(
            f"Site '{site_name(context)}' refuses k={k}: its node config insists on at least {least_k}. "
            f"Start the run with a larger k; 0 stands for all sites, but of many for {FEWEST_ENOUGH} or more."
        )
    return terms


def weakest_level(context: Context) -> str:
    """Return the weakest level that the hospital agrees to, `dp` unless its node config says otherwise."""
    level = str(context.node_config.get("privacy", LEVELS[-1]))
    if level not in LEVELS:
        raise SettingError(
            f"The node config of site '{site_name(context)}' says privacy='{level}'. Write the weakest level that the "
            f"hospital agrees to: {', '.join(LEVELS[:-1])} or {LEVELS[-1]}."
        )
    return level


def least_noise(context: Context) -> float:
    """Return the least noise of level `perturbed` that the hospital agrees to, in deviations of a column."""
    noise = str(context.node_config.get("noise", NOISES[1]))
    if noise not in map(str, NOISES):
        raise SettingError(
            f"The node config of site '{site_name(context)}' says noise={noise}. Write the least noise that the "
            f"hospital agrees to: {', '.join(map(str, NOISES[:-1]))} or {NOISES[-1]}."
        )
    return float(noise)


def has_agreed(context: Context, consent: str) -> bool:
    """Tell whether the hospital has said ``agreed`` to something; a simulated site, without patients, agrees to all."""
    return is_simulated(context) or context.node_config.get(consent) == AGREED


def warn_of_risks(context: Context) -> None:
    """Write into a hospital's own log what it risks by its node config; nothing at a simulated site."""
    k_matters = Terms.from_config(context.run_config).aggregation in ("k-secure", "k-secure-hops")
    for key, risk in RISKS.items():
        missing = key not in context.node_config and (key != "k" or k_matters)
        if missing and not is_simulated(context):
            log(WARNING, "the node config has no '%s': %s", key, risk)
    if weakest_level(context) == "exact":
        log(
            WARNING,
            "privacy='exact' in the node config: whoever runs the coordinator can compute patients' records",
        )


def least_sites(context: Context) -> int:
    """Return the fewest sites in a sum: what the run says, or more if the hospital asks for more."""
    least = _count(context, "min-sites", 0 if is_simulated(context) else LEAST_SITES)
    return max(Terms.from_config(context.run_config).min_sites, least)


def colluders(context: Context) -> int:
    """Return how many sites may collude or fail without breaking the promise of private answers: what the run says.

    Raises
    ------
    SettingError
        If the node config insists on more; by default a hospital does on one.
    """
    asked = Terms.from_config(context.run_config).colluders
    least = _count(context, "colluders", 0 if is_simulated(context) else 1)
    if asked < least:
        raise SettingError(
            f"Site '{site_name(context)}' refuses colluders={asked}: it insists on at least {least}. Start the run "
            f"with colluders={least}; or write another number into its node config, if the hospital agrees."
        )
    return asked


def budget_terms(context: Context) -> tuple[float, float]:
    """Return epsilon and delta of the hospital's node config: what all runs together may spend on its table.

    Raises
    ------
    SettingError
        If one cannot be.
    """
    epsilon, delta = (
        context.node_config.get(key, usual) for key, usual in (("epsilon", 0.0), ("delta", 1e-5))
    )
    try:
        found = float(str(epsilon)), float(str(delta))
    except ValueError:
        found = 0.0, 0.0
    if not (0 < found[0] <= LARGEST_EPSILON and 0 < found[1] <= LARGEST_DELTA):
        raise SettingError(
            f"The node config of site '{site_name(context)}' says epsilon={epsilon} and delta={delta}. epsilon has to "
            f"be above 0 and at most {LARGEST_EPSILON:g}, above which a promise is worth nothing; delta above 0 and at "
            f"most {LARGEST_DELTA:g}."
        )
    return found


def least_rows(context: Context, if_simulated: int = 1) -> int:
    """Return the fewest rows of this site that a landmark may be the mean of, and that a run may train on."""
    return _count(context, "min-cluster", if_simulated if is_simulated(context) else MIN_CLUSTER)


def allowed_classes(context: Context) -> tuple[str, ...]:
    """Return the labels that the hospital allows to be known, in canonical form; empty if it lists none.

    They are those of its node config, or else of the schema file.
    """
    if "classes" not in context.node_config:
        schema = schema_of(context)
        return schema.classes if schema else ()
    labels = tuple(canonical_label(label) for label in listed(str(context.node_config["classes"])))
    if not labels or len(set(labels)) > MOST_CLASSES or not all(map(can_be_listed, labels)):
        raise SettingError(
            f"The 'classes' in the node config of site '{site_name(context)}' are no list of labels. Write them with "
            f"commas between them, such as classes='0,1', and one that holds a comma in double quotes. Labels are "
            f"{LABEL_RULE}, and at most {MOST_CLASSES}."
        )
    return labels


def _insist(context: Context, key: str, asked: str) -> None:
    """Raise a SumError if the node config insists on something else."""
    wanted = context.node_config.get(key, asked)
    if wanted != asked:
        raise SumError(
            f"Site '{site_name(context)}' refuses the {key} '{asked}': its node config insists on '{wanted}'. "
            f"Start the run with {key}={wanted}, or change the node config if the hospital agrees."
        )


def _count(context: Context, key: str, default: int) -> int:
    value = context.node_config.get(key, default)
    try:
        return int(str(value))
    except ValueError:
        raise SettingError(
            f"The node config of site '{site_name(context)}' says {key}={value}, but it must be a whole number."
        ) from None

"""What a hospital insists on, whatever the coordinator asks for: the pins in its node config.

The coordinator chooses the settings of a run. A hospital that starts its SuperNode with one of these keys in the
node config refuses every run, and every sum, that does not keep to it.
"""

from logging import WARNING

from flwr.app import Context
from flwr.common.logger import log

from clients.policy import policy_of, site_name
from clients.simulated import is_simulated
from clients.table.schema_file import schema_of
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, can_be_listed, canonical_label
from flower_pansvm.reading_options import listed
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.mask_graph import FEWEST_ENOUGH
from flower_pansvm.terms import Terms

RISKS = {
    "roster": "the coordinator could hand out keys of its own and read this site's sums",
    "aggregation": "the coordinator chooses how this site's sums are protected",
    "k": "the coordinator chooses with how many sites this one shares masks, two at the least",
}
"""Pins that a hospital should have, and what it risks without."""


def agreed_terms(context: Context) -> Terms:
    """Return the terms of the run, after checking that this hospital accepts them; else SettingError or SumError."""
    terms, policy = Terms.from_config(context.run_config), policy_of(context)
    _insist(context, "aggregation", terms.aggregation)
    _insist(context, "scaling", terms.scaling)
    protocol = protocol_of(terms)
    k = getattr(protocol, "k", None)  # other protocols share no masks with so many
    if k is not None and (k or FEWEST_ENOUGH) < policy.k:
        raise SumError(
            f"Site '{site_name(context)}' refuses k={k}: its node config insists on at least {policy.k}. "
            f"Start the run with a larger k; 0 stands for all sites, but of many for {FEWEST_ENOUGH} or more."
        )
    return terms


def warn_of_risks(context: Context) -> None:
    """Write into a hospital's own log what it risks by its node config; nothing at a simulated site."""
    if is_simulated(context):
        return
    k_matters = Terms.from_config(context.run_config).aggregation in ("k-secure", "k-secure-hops")
    for key, risk in RISKS.items():
        missing = not getattr(policy_of(context), key) and (key != "k" or k_matters)
        if missing:
            log(WARNING, "the node config has no '%s': %s", key, risk)
    if policy_of(context).privacy == "exact":
        log(
            WARNING,
            "privacy='exact' in the node config: whoever runs the coordinator can compute patients' records",
        )


def least_sites(context: Context) -> int:
    """Return the fewest sites in a sum: what the run says, or more if the hospital asks for more."""
    return max(Terms.from_config(context.run_config).min_sites, policy_of(context).min_sites)


def colluders(context: Context) -> int:
    """Return how many sites may collude or fail without breaking the promise of private answers: what the run says.

    Raises
    ------
    SettingError
        If the node config insists on more; by default a hospital does on one.
    """
    asked, least = Terms.from_config(context.run_config).colluders, policy_of(context).colluders
    if asked < least:
        raise SettingError(
            f"Site '{site_name(context)}' refuses colluders={asked}: it insists on at least {least}. Start the run "
            f"with colluders={least}; or write another number into its node config, if the hospital agrees."
        )
    return asked


def least_rows(context: Context, if_simulated: int = 1) -> int:
    """Return the fewest rows of this site that a landmark may be the mean of, and that a run may train on."""
    return if_simulated if is_simulated(context) else policy_of(context).min_cluster


def allowed_classes(context: Context) -> tuple[str, ...]:
    """Return the labels that the hospital allows to be known, in canonical form; empty if it lists none.

    They are those of its node config, or else of the schema file.
    """
    said = policy_of(context).classes
    if not said:
        schema = schema_of(context)
        return schema.classes if schema else ()
    labels = tuple(canonical_label(label) for label in listed(said))
    if not labels or len(set(labels)) > MOST_CLASSES or not all(map(can_be_listed, labels)):
        raise SettingError(
            f"The 'classes' in the node config of site '{site_name(context)}' are no list of labels. Write them with "
            f"commas between them, such as classes='0,1', and one that holds a comma in double quotes. Labels are "
            f"{LABEL_RULE}, and at most {MOST_CLASSES}."
        )
    return labels


def _insist(context: Context, key: str, asked: str) -> None:
    """Raise a SumError if the node config insists on something else."""
    wanted = getattr(policy_of(context), key)
    if wanted and wanted != asked:
        raise SumError(
            f"Site '{site_name(context)}' refuses the {key} '{asked}': its node config insists on '{wanted}'. "
            f"Start the run with {key}={wanted}, or change the node config if the hospital agrees."
        )

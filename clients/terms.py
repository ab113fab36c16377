"""What a hospital insists on, whatever the coordinator asks for: the pins in its node config.

The coordinator chooses the settings of a run. A hospital that starts its SuperNode with one of these keys in the
node config refuses every run, and every sum, that does not keep to it.
"""

from typing import cast

from flwr.app import Context

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.setting_values import near_matches
from flower_pansvm.settings import Settings

KEYS = (
    *("data", "label", "cache", "state", "name", "identity", "roster"),
    *("aggregation", "execution", "scaling", "k", "min-sites", "min-cluster", "blur"),
    *("partition-id", "num-partitions"),
)
"""Everything a node config may hold; the last two are those of a node of Flower's simulation engine."""

LEAST_ROWS = Settings().min_cluster
"""A hospital's ``min-cluster`` unless its node config says otherwise."""


def is_simulated(context: Context) -> bool:
    """Tell whether the node belongs to Flower's simulation engine, and so to a researcher and to no hospital."""
    return "partition-id" in context.node_config


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


def agreed_settings(context: Context) -> Settings:
    """Return the settings of the run, after checking that this hospital accepts them.

    Raises
    ------
    SettingError
        If the run config or the node config holds something unknown. A pin with a misspelt name would protect
        nobody.
    SumError
        If the run's ``aggregation``, ``execution``, ``scaling`` or ``k`` is not what the node config insists on.
    """
    settings, node = Settings.from_config(context.run_config), context.node_config
    for key in node:
        if key not in KEYS:
            raise SettingError(
                f"The node config of site '{site_name(context)}' has an unknown key '{key}'. {near_matches(key, KEYS)}"
            )
    for key in ("aggregation", "execution", "scaling"):
        asked = getattr(settings, key)
        if node.get(key, asked) != asked:
            raise SumError(
                f"Site '{site_name(context)}' refuses the {key} '{asked}': its node config insists on '{node[key]}'. "
                f"Start the run with {key}={node[key]}, or change the node config if the hospital agrees."
            )
    least_k = _count(context, "k", 0)
    if settings.aggregation == "k-secure" and 0 < settings.k < least_k:
        raise SumError(
            f"Site '{site_name(context)}' refuses k={settings.k}: its node config insists on at least {least_k}. "
            "Start the run with a larger k, or with k=0 for the number of sites."
        )
    return settings


def check_extremes_agreed(context: Context) -> None:
    """Check that the run scales by extremes and that the hospital has agreed to disclose its own.

    Raises
    ------
    SettingError
        If not. The smallest and the largest cell of a column are cells of single patients.
    """
    agreed = is_simulated(context) or "scaling" in context.node_config
    if not agreed or agreed_settings(context).scaling != "minmax":
        raise SettingError(
            f"Site '{site_name(context)}' does not disclose the smallest and largest cell of its columns: they are "
            "single patients' values. Choose scaling=standard; or, if the hospital agrees, start the run with "
            "scaling=minmax and write it into the site's node config too."
        )


def least_sites(context: Context) -> int:
    """Return the fewest sites in a sum: what the run says, or more if the hospital asks for more."""
    return max(Settings.from_config(context.run_config).min_sites, _count(context, "min-sites", 0))


def least_rows(context: Context) -> int:
    """Return the fewest rows of this site that a landmark may be the mean of, and that a run may train on.

    1 for a simulated site, which has no patients.
    """
    return _count(context, "min-cluster", 1 if is_simulated(context) else LEAST_ROWS)


def least_blur(context: Context) -> int:
    """Return at how many rows next to the margin this site makes each cutting plane random, at the least.

    0 for a simulated site; the paper's cutting planes have none.
    """
    return _count(context, "blur", 0 if is_simulated(context) else 1)


def _count(context: Context, key: str, default: int) -> int:
    value = context.node_config.get(key, default)
    try:
        return int(str(value))
    except ValueError:
        raise SettingError(
            f"The node config of site '{site_name(context)}' says {key}={value}, but it must be a whole number."
        ) from None

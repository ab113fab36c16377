"""Where a site's table comes from: the hospital's own node config, or, in a simulation, the data set.

The coordinator never decides which file a hospital reads. Only a node of Flower's simulation engine, which
has a ``partition-id`` and no table of its own, takes its rows from the data set that the run names.
"""

import importlib
from collections.abc import Hashable
from pathlib import Path
from types import ModuleType
from typing import cast

from flwr.app import Context

from clients.table.cache import cache_folder, read_through_cache
from clients.table.table import LABEL, Table
from flower_pansvm.errors import TableError


def table_identity(context: Context) -> Hashable:
    """Return what tells one site's table from another's, and from what it was before its file was changed."""
    node = context.node_config
    if "data" in node:
        status = Path(str(node["data"])).stat() if Path(str(node["data"])).is_file() else None
        return str(node["data"]), node.get("label"), status and (status.st_mtime_ns, status.st_size)
    run = context.run_config
    choice = tuple(run.get(key) for key in ("data", "label", "split", "seed", "data-dir"))
    return node.get("num-partitions"), node.get("partition-id"), choice


def open_table(context: Context) -> Table:
    """Read the table of the site that a context belongs to.

    Its node config holds ``data``, the path of the table, and optionally ``label``, the name of the label column, and
    ``cache``, the folder for a copy of a large table; or ``partition-id`` and ``num-partitions`` if Flower simulates
    the site.
    """
    node = context.node_config
    if "data" in node:
        label = str(node.get("label") or "") or None
        return read_through_cache(Path(str(node["data"])), label, cache_folder(context))
    if "partition-id" not in node:
        raise TableError(
            "This site's node config names no table. Start the SuperNode with "
            '--node-config \'data="/path/to/table.csv" label="COLUMN" name="SITE"\'.'
        )
    number, sites = (int(cast(int, node[key])) for key in ("partition-id", "num-partitions"))
    return cast(Table, _simulated().table_of_node(context.run_config, number, sites))


def label_place(context: Context) -> str:
    """Return which column of which file a site's labels are from, for errors; the file without its folder."""
    node = context.node_config
    if "data" in node:
        return f"column '{node.get('label') or LABEL}' of '{Path(str(node['data'])).name}'"
    return str(_simulated().label_place_of_node(context.run_config, int(cast(int, node["partition-id"]))))


def _simulated() -> ModuleType:
    """Return the module that makes the tables of simulated sites.

    The one arrow against the rule that clients do not know the simulations, taken by simulated sites only: a hospital
    has `data` in its node config and never gets here. The name is fixed, not the coordinator's, and the module is in no
    bundle: it is the one that is installed where the simulation runs.
    """
    try:
        return importlib.import_module("simulations.data.sites")
    except ModuleNotFoundError as error:
        raise TableError(
            f"A simulated site's rows need the package {error.name}, which is not installed. Where it runs: "
            "pip install 'flower-pansvm[simulation]'."
        ) from None

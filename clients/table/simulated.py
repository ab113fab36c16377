"""Simulated sites: where they get what hospitals have themselves, their tables, and which rows are for what."""

from collections.abc import Hashable, Mapping
from typing import Any, Protocol, cast

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from clients.hospital import Hospital, SimulatedContext, hospital_of
from clients.table.table import Table
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.schema import class_names
from flower_pansvm.systems.common import SchemaBroadcast
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar


class SimulatedTables(Protocol):
    """What a simulation knows of its sites; the module ``simulations.data.sites`` is one."""

    def table_of_node(self, config: Mapping[str, Scalar], site: int, sites: int, /) -> Table:
        """Return the table of one of so many sites, from 0, of a run."""

    def stamp_of_node(self, config: Mapping[str, Scalar], site: int, /) -> Any:
        """Return a value that changes with the site's table."""

    def label_place_of_node(self, config: Mapping[str, Scalar], site: int, /) -> str:
        """Return where a site's labels are from, for errors."""

    def labels_of_run(self, config: Mapping[str, Scalar], /) -> tuple[str, ...]:
        """Return the labels that all sites know of, as hospitals would agree on them; none if they are too many."""

    def split_of_node(
        self,
        config: Mapping[str, Scalar],
        site: int,
        classes: Any,
        patients: Any,
        fraction: float,
        seed: int,
        /,
    ) -> Any:
        """Return the split of a site's rows, as a `clients.ledger.lasting_split.LastingSplit`."""


def simulated_identity(hospital: Hospital, schema: TableSchema | None) -> Hashable:
    """Return the identity of a simulated site's table, which changes with it."""
    run, (site, sites) = hospital.terms.config, cast(tuple[int, int], hospital.partition)
    keys = ("data", "label", "split", "seed", "data-dir", "drop")
    choice = *(run.get(key) for key in keys), schema and (schema.digest, schema.reading)
    return site, sites, simulated_tables().stamp_of_node(run, site), choice


def simulated_split(hospital: Hospital, table: Table, patients: Ints, broadcast: SchemaBroadcast) -> Any:
    """Return the split of a simulated site's rows, as above; ``patients``, shape (rows,), has each row's patient."""
    names = class_names(cast(NDArray[np.str_], table.labels), broadcast.positive_labels)
    config, (site, _) = hospital.terms.config, cast(tuple[int, int], hospital.partition)
    tables = simulated_tables()
    return tables.split_of_node(config, site, names, patients, broadcast.test_fraction, broadcast.seed)


def simulated_nodes(sites: int) -> list[dict[str, Scalar]]:
    """Return the node config of each of so many simulated sites."""
    return [{"partition-id": site, "num-partitions": sites} for site in range(sites)]


def simulated_hospitals(sites: int, config: Mapping[str, Scalar]) -> list[Hospital]:
    """Return each of so many simulated sites as it begins a run with a run config."""
    nodes = enumerate(simulated_nodes(sites))
    return [hospital_of(SimulatedContext(0, site, node, RecordDict(), dict(config))) for site, node in nodes]


_of_this_process: list[SimulatedTables] = []


def use_tables(tables: SimulatedTables) -> None:
    """Have the simulated sites of this process take their tables from here."""
    _of_this_process[:] = [tables]


def simulated_tables() -> SimulatedTables:
    """Return the tables of this process' simulated sites; TableError if nobody has said where they are from."""
    if not _of_this_process:
        raise TableError(
            "This process simulates a site, and knows no tables of simulated sites. Simulate with the ClientApp "
            "simulations.app, or with one of flower_pansvm.clientapp."
        )
    return _of_this_process[0]

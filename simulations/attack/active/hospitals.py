"""Hospitals in this process, as `pansvm hospital init` and `accept` set them up, and a coordinator that plays false."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from flwr.app import Context, Message, RecordDict
from threadpoolctl import ThreadpoolController

from clients.deployment.hospital import accept, make_hospital
from clients.hospital import hospital_of
from clients.ledger.epochs import enter_run
from clients.node.node_config import read_node_config
from clients.rows import link_own_table
from clients.site import Site
from clients.table.table import LABEL
from flower_pansvm import records
from flower_pansvm.systems.common import SCHEMA, SchemaBroadcast
from flower_pansvm.tasks import Broadcast, Task
from flower_pansvm.terms import Scalar
from simulations.app import app
from simulations.attack.active.registry import variables
from simulations.attack.copies import SiteRecords, records_of
from simulations.engines.in_process import COORDINATOR, InProcessGrid
from simulations.trial import agree
from strategies.deployment.coordinator import Coordinator
from strategies.federation.federation import Federation
from strategies.settings import Settings, settings_from
from strategies.steps.joining import join

Q = TypeVar("Q")
A = TypeVar("A")
Told = Mapping[Broadcast[Any], Any]

COLUMNS = tuple(f"x{number}" for number in range(13))
RANGES = "".join(f"columns.{name}.range = [0, 1]\n" for name in COLUMNS)
THREADS = ThreadpoolController()
"""The thread pools of the libraries, which takes long to find out."""

UNCHECKED = 1e100
"""What this coordinator takes sums to be off by: it does not stop at a strange one."""

ADDRESS, PORT = "localhost:8443", 8443
"""Nothing listens there: hospitals and coordinator are in this process."""


def drawn_table(rows: int, name: str) -> pd.DataFrame:
    """Return a hospital's table of drawn rows; one with more rows begins with those of one with fewer."""
    generator = np.random.default_rng(list(name.encode()))
    cells = pd.DataFrame(generator.uniform(size=(rows, len(COLUMNS))), columns=list(COLUMNS))
    return cells.assign(**{LABEL: (cells["x0"] + cells["x1"] > 1).astype(int)})


def account_of(home: Path) -> AbstractContextManager[object]:
    """Return a ``with`` block in which this process is in the account of the machine that has this state folder."""
    return variables({"XDG_STATE_HOME": str(home)})


class OwnAccounts(InProcessGrid):
    """A grid whose hospitals have an account of the machine each: its state folder is theirs while they answer."""

    def __init__(self, homes: Mapping[str, Path], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._homes = dict(enumerate(homes.values(), start=COORDINATOR + 1))
        self._one_at_a_time_lock = Lock()

    def _answer(self, number: str, message: Message) -> Message:
        with self._one_at_a_time_lock, account_of(self._homes[message.metadata.dst_node_id]):
            return super()._answer(number, message)

    def states(self) -> list[RecordDict]:
        """Return what Flower keeps of each hospital, and hands on to the series' next run."""
        return [context.state for context in self._contexts.values()]


class Hospitals:
    """The hospitals of one study, with all pins that are recommended.

    Parameters
    ----------
    folder : Path
        Folder to make, for hospitals and coordinator.
    rows : mapping of str to int or DataFrame
        How many rows each hospital's table has, or the table, by the hospital's name.
    settings : mapping
        Settings of the study's runs besides the recommended ones. The hospitals agree to the sums that the runs need.
    classes : int
        Classes that the schema file lists; all rows are of the first two.
    test_fraction : float
        Share of the rows that each hospital keeps for evaluation.
    epsilon : mapping of str to float
        Budget of hospitals that have another one than 1.
    earlier : Hospitals or None
        An earlier study; hospitals of the same name are the same, with their tables and accounts.

    Attributes
    ----------
    nodes : dict of str to dict
        The node config of each hospital, by its name.
    homes : dict of str to Path
        Where each hospital's account keeps state.
    settings : Settings
        Settings of the study's runs.
    columns : tuple of str
        Of all tables.
    classes : int
        As above.
    """

    def __init__(
        self,
        folder: Path,
        rows: Mapping[str, int | pd.DataFrame],
        settings: Mapping[str, Scalar] | None = None,
        *,
        classes: int = 2,
        test_fraction: float = 0.0,
        epsilon: Mapping[str, float] | None = None,
        earlier: "Hospitals | None" = None,
    ) -> None:
        folder.mkdir(parents=True)
        frames = [table for table in rows.values() if isinstance(table, pd.DataFrame)]
        self.columns = tuple(frames[0].columns.drop(LABEL)) if frames else COLUMNS
        columns = (
            RANGES if self.columns == COLUMNS else "".join(f"[columns.'{one}']\n" for one in self.columns)
        )
        schema = f"classes = {list(range(classes))}\n{columns}"
        (folder / "schema.toml").write_text(schema, encoding="utf-8")
        self.homes = {name: folder / f"{name}-account" for name in rows}
        tables = {name: folder / f"{name}.csv" for name in rows}
        for name, count in rows.items():
            table = drawn_table(count, name) if isinstance(count, int) else count
            table.to_csv(tables[name], index=False)
        if earlier is not None:
            for name in rows.keys() & earlier.nodes.keys():
                self.homes[name], tables[name] = earlier.homes[name], Path(str(earlier.nodes[name]["data"]))
        made = []
        for name, file in tables.items():
            budget = (epsilon or {}).get(name, 1.0)
            with account_of(self.homes[name]):
                made.append(
                    make_hospital(
                        folder / name, name, str(file), epsilon=budget, test_fraction=test_fraction
                    )[1]
                )
        coordinator = Coordinator.make(folder / "coordinator", ADDRESS, PORT)
        agreed = {"test-fraction": test_fraction, **(settings or {})}
        invitation = coordinator.invite(made, agreed, folder / "schema.toml")
        for name in rows:
            with account_of(self.homes[name]):
                accept(folder / name, coordinator.folder / "invitation.json", invitation.code)
                agree(folder / name, invitation)
        self.nodes: dict[str, dict[str, Scalar]] = {name: read_node_config(folder / name) for name in rows}
        self.settings: Settings = settings_from(invitation.settings)
        self.classes = classes

    def grid(self, run_id: int = 1, settings: Settings | None = None) -> OwnAccounts:
        """Return a grid of the hospitals in a new run, with the study's settings or others."""
        config = dict((settings or self.settings).run_config)
        return OwnAccounts(self.homes, app, list(self.nodes.values()), config, run_id)

    def schema(self) -> SchemaBroadcast:
        """Return the broadcast of columns and classes, of a run without folds."""
        return replace(schema_broadcast(self.settings, self.classes), columns=self.columns)

    def records(self) -> list[SiteRecords]:
        """Return the true records of the hospitals beside what systems see of them: what only this attacker has."""
        told: Told = {SCHEMA: self.schema()}
        return [self.exact(name, told, lambda site, _: records_of(site), None) for name in self.nodes]

    def copy_of(self, name: str) -> pd.DataFrame:
        """Return what systems see of a hospital's table: cells, and labels as numbers; errors as in `exact`."""
        table = self.exact(name, {}, lambda site, _: site.table(), None)
        return pd.DataFrame(table.X).assign(label=np.array(table.labels, dtype=np.int64))

    def coordinator(self, run_id: int = 1) -> "FalseCoordinator":
        """Return a coordinator that begins a new run with them."""
        return FalseCoordinator(self.grid(run_id), self.settings, self.classes)

    def exact(self, name: str, told: Told, work: Callable[[Site, Q], Any], question: Q) -> Any:
        """Return what a hospital's work finds before any noise is added, which nobody but this attacker gets to see.

        PanSVMError if the hospital refuses to be told or asked that.
        """
        context = Context(1, 2, dict(self.nodes[name]), RecordDict(), dict(self.settings.run_config))
        content = RecordDict()
        for broadcast, message in told.items():
            records.write(content, f"broadcast.{broadcast.name}", message)
        # With one thread, as in the grid: the number of threads is one more thing on which rounding depends.
        with account_of(self.homes[name]), THREADS.limit(limits=1):
            site = Site.of(hospital_of(context), self.settings.level)
            link_own_table(site)
            enter_run(site)
            site.keep_broadcasts(content)
            return work(site, question)


class Unchecked(Federation):
    """The hospitals as a coordinator sees them that tells them other folds and columns than it has agreed with them."""

    @staticmethod
    def lengths(schema: object, folds: int) -> dict[str, int]:  # noqa: ARG004
        """Return no length of what a site may send."""
        return {}


class FalseCoordinator:
    """A coordinator that asks by hand, and takes whatever it opens.

    Parameters
    ----------
    grid : OwnAccounts
        The hospitals.
    settings : Settings
        Settings of the run.
    classes : int
        Classes that the hospitals list.

    Attributes
    ----------
    federation : Federation
        The hospitals as the project's own coordinator sees them.
    """

    def __init__(self, grid: OwnAccounts, settings: Settings, classes: int) -> None:
        self.grid, self.settings, self._classes = grid, settings, classes
        self.federation = Unchecked(grid, settings)

    def join(self) -> None:
        """Have all hospitals join, and tell them the schema."""
        join(self.federation, self.settings, class_names(self._classes))

    def tell(self, told: Told) -> None:
        """Tell the hospitals what else they have to know; it travels with the next question."""
        for broadcast, message in told.items():
            self.federation.broadcast(broadcast, message)

    def ask(self, task: Task[Q, A], question: Q) -> A:
        """Return the sum over the hospitals."""
        return self.federation.secure_sum(task, question, dict.fromkeys(task.summed, UNCHECKED))


def schema_broadcast(settings: Settings, classes: int = 2) -> SchemaBroadcast:
    """Return the broadcast of columns and of so many classes."""
    return SchemaBroadcast(COLUMNS, class_names(classes), (), settings.test_fraction, 0, settings.seed)


def class_names(classes: int) -> tuple[str, ...]:
    """Return the names of so many classes."""
    return tuple(map(str, range(classes)))

"""Hospitals in this process, as of `pansvm hospital init` and `accept`, and a malicious coordinator."""

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
from clients.ledger.tables import link_own_table
from clients.node.node_config import read_node_config
from clients.rows import true_table
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
Broadcasts = Mapping[Broadcast[Any], Any]

COLUMNS = tuple(f"x{index}" for index in range(13))
RANGES = "".join(f"columns.{name}.range = [0, 1]\n" for name in COLUMNS)
THREADS = ThreadpoolController()
"""The thread pools of the libraries, found once: the search is slow."""

ADDRESS, PORT = "localhost:8443", 8443
"""Unused: hospitals and coordinator are in this process."""


def drawn_table(rows: int, name: str) -> pd.DataFrame:
    """Return a hospital's synthetic table; its first rows do not depend on their number."""
    generator = np.random.default_rng(list(name.encode()))
    cells = pd.DataFrame(generator.uniform(size=(rows, len(COLUMNS))), columns=list(COLUMNS))
    return cells.assign(**{LABEL: (cells["x0"] + cells["x1"] > 1).astype(int)})


def account_of(home: Path) -> AbstractContextManager[object]:
    """Return a ``with`` block in which this process has the account with this state folder."""
    return variables({"XDG_STATE_HOME": str(home)})


class OwnAccounts(InProcessGrid):
    """A grid whose hospitals have an account each: they answer with its state folder."""

    def __init__(self, homes: Mapping[str, Path], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._homes = dict(enumerate(homes.values(), start=COORDINATOR + 1))
        self._one_at_a_time_lock = Lock()

    def _answer(self, message_id: str, message: Message) -> Message:
        with self._one_at_a_time_lock, account_of(self._homes[message.metadata.dst_node_id]):
            return super()._answer(message_id, message)

    def states(self) -> list[RecordDict]:
        """Return the state of each hospital that Flower passes to the series' next run."""
        return [context.state for context in self._contexts.values()]


class Hospitals:
    """The hospitals of one study, with all recommended pins.

    Parameters
    ----------
    folder : Path
        Folder to make, for hospitals and coordinator.
    rows : mapping of str to int or DataFrame
        Number of rows of each hospital's table, or the table, by the hospital's name.
    settings : mapping
        Settings of the study's runs, added to the recommended ones. The hospitals agree to the level.
    classes : int
        Classes in the schema file; all rows are of the first two.
    test_fraction : float
        Share of the rows that each hospital keeps for evaluation.
    epsilon : mapping of str to float
        Budgets by hospital, by default 1.
    earlier : Hospitals or None
        An earlier study; hospitals of the same name keep their tables and accounts.

    Attributes
    ----------
    nodes : dict of str to dict
        The node config of each hospital, by its name.
    homes : dict of str to Path
        The state folder of each hospital's account.
    settings : Settings
        Settings of the study's runs.
    columns : tuple of str
        Columns of all tables.
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
        sections = "".join(f"[columns.'{column}']\n" for column in self.columns)
        schema = f"classes = {list(range(classes))}\n{RANGES if self.columns == COLUMNS else sections}"
        (folder / "schema.toml").write_text(schema, encoding="utf-8")
        self.homes = {name: folder / f"{name}-account" for name in rows}
        tables = {name: folder / f"{name}.csv" for name in rows}
        for name, count in rows.items():
            table = drawn_table(count, name) if isinstance(count, int) else count
            table.to_csv(tables[name], index=False)
        if earlier is not None:
            for name in rows.keys() & earlier.nodes.keys():
                self.homes[name], tables[name] = earlier.homes[name], Path(str(earlier.nodes[name]["data"]))
        registrations = []
        for name, file in tables.items():
            budget = (epsilon or {}).get(name, 1.0)
            with account_of(self.homes[name]):
                registrations.append(
                    make_hospital(
                        folder / name, name, str(file), epsilon=budget, test_fraction=test_fraction
                    )[1]
                )
        coordinator = Coordinator.make(folder / "coordinator", ADDRESS, PORT)
        agreed = {"test-fraction": test_fraction, **(settings or {})}
        invitation = coordinator.invite(registrations, agreed, folder / "schema.toml")
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
        """Return the hospitals' true records and those that systems see, for comparison only."""
        broadcasts: Broadcasts = {SCHEMA: self.schema()}
        return [self.exact(name, broadcasts, lambda site, _: records_of(site), None) for name in self.nodes]

    def copy_of(self, name: str) -> pd.DataFrame:
        """Return a hospital's table as systems see it, with labels as numbers; errors as in `exact`."""
        table = self.exact(name, {}, lambda site, _: site.table(), None)
        return pd.DataFrame(table.X).assign(label=np.array(table.labels, dtype=np.int64))

    def coordinator(self, run_id: int = 1) -> "FalseCoordinator":
        """Return a coordinator of a new run."""
        return FalseCoordinator(self.grid(run_id), self.settings, self.classes)

    def exact(self, name: str, broadcasts: Broadcasts, work: Callable[[Site, Q], Any], question: Q) -> Any:
        """Return the result of a hospital's work before any noise, for comparison only.

        PanSVMError if the hospital refuses broadcasts or question.
        """
        context = Context(1, 2, dict(self.nodes[name]), RecordDict(), dict(self.settings.run_config))
        content = RecordDict()
        for broadcast, message in broadcasts.items():
            records.write(content, f"broadcast.{broadcast.name}", message)
        # With one thread, as in the grid: rounding depends on the number of threads.
        with account_of(self.homes[name]), THREADS.limit(limits=1):
            site = Site.of(hospital_of(context), self.settings.level)
            link_own_table(site, true_table(site))
            enter_run(site)
            site.keep_broadcasts(content)
            return work(site, question)


class Unchecked(Federation):
    """A federation for a coordinator that accepts any sum: its questions contradict what it has agreed on."""

    check = staticmethod(lambda *_: None)


class FalseCoordinator:
    """A coordinator that sends requests one by one, and accepts any reply."""

    def __init__(self, grid: OwnAccounts, settings: Settings, classes: int) -> None:
        self.grid, self.settings, self._classes = grid, settings, classes
        self.federation = Unchecked(grid, settings)

    def join(self) -> None:
        """Have all hospitals join, and broadcast the schema."""
        join(self.federation, self.settings, class_names(self._classes))

    def broadcast(self, broadcasts: Broadcasts) -> None:
        """Send broadcasts, with the next request."""
        for broadcast, message in broadcasts.items():
            self.federation.broadcast(broadcast, message)

    def ask(self, task: Task[Q, A], question: Q) -> A:
        """Request a sum over the hospitals."""
        return self.federation.secure_sum(task, question)


def schema_broadcast(settings: Settings, classes: int = 2) -> SchemaBroadcast:
    """Return the broadcast of the columns and ``classes`` classes."""
    return SchemaBroadcast(COLUMNS, class_names(classes), (), settings.test_fraction, 0, settings.seed)


def class_names(classes: int) -> tuple[str, ...]:
    """Return the names of ``classes`` classes."""
    return tuple(map(str, range(classes)))

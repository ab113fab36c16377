"""Hospitals in this process, as `pansvm hospital init` and `accept` set them up, and a coordinator that plays false."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from flwr.app import Context, RecordDict
from threadpoolctl import threadpool_limits

from clients.app import app
from clients.gate import broadcasts
from clients.site import Site
from clients.table.table import LABEL
from flower_pansvm import records
from flower_pansvm.tasks.joining import JOIN, SCHEMA, JoinAnswer, JoinQuestion, SchemaBroadcast
from flower_pansvm.tasks.summing import PublicKeys
from flower_pansvm.tasks.task import Broadcast, Task
from flower_pansvm.terms import Scalar
from simulations.deployment.coordinator import Coordinator
from simulations.deployment.hospital import accept, make_hospital
from simulations.deployment.node_config import read_node_config
from simulations.deployment.trial import agree
from simulations.engines.in_process import InProcessGrid
from strategies.federation.envelope import Contact
from strategies.federation.federation import Federation
from strategies.registry import all_strategies
from strategies.settings import Settings, settings_from

Q = TypeVar("Q")
A = TypeVar("A")
Told = Mapping[Broadcast[Any], object]

COLUMNS = tuple(f"x{number}" for number in range(13))
CLASSES = ("0", "1")
SCHEMA_FILE = "classes = [0, 1]\n" + "".join(f"columns.{name}.range = [0, 1]\n" for name in COLUMNS)
ADDRESS, PORT = "localhost:8443", 8443
"""Nothing listens there: hospitals and coordinator are in this process."""


def drawn_table(rows: int, seed: int) -> pd.DataFrame:
    """Return a table with rows that are drawn; one of more rows begins with those of one of fewer."""
    generator = np.random.default_rng(seed)
    cells = pd.DataFrame(generator.uniform(size=(rows, len(COLUMNS))), columns=list(COLUMNS))
    return cells.assign(**{LABEL: (cells["x0"] + cells["x1"] > 1).astype(int)})


class Hospitals:
    """The hospitals of one study.

    Parameters
    ----------
    folder : Path
        Folder of the study; hospitals and coordinator have folders in it.
    rows : mapping of str to int
        Rows of each hospital's table, by its name.
    settings : mapping
        Settings of the study's runs besides the recommended ones. The hospitals agree to what the runs need.
    test_fraction : float
        Share of the rows that each hospital keeps for evaluation.
    epsilon : mapping of str to float
        Budget of a hospital that has another one than 1.

    Attributes
    ----------
    nodes : dict of str to dict
        The node config of each hospital, by its name.
    settings : Settings
        Settings of the study's runs.
    """

    def __init__(
        self,
        folder: Path,
        rows: Mapping[str, int],
        settings: Mapping[str, Scalar] | None = None,
        *,
        test_fraction: float = 0.0,
        epsilon: Mapping[str, float] | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        schema = folder / "schema.toml"
        schema.write_text(SCHEMA_FILE, encoding="utf-8")
        made = []
        for number, (name, count) in enumerate(rows.items()):
            table = folder / f"{name}.csv"
            drawn_table(count, number).to_csv(table, index=False)
            budget = (epsilon or {}).get(name, 1.0)
            made.append(
                make_hospital(
                    folder / name, name, str(table), epsilon=budget, test_fraction=test_fraction
                )[1]
            )
        coordinator = Coordinator.make(folder / "coordinator", ADDRESS, PORT)
        agreed = {"test-fraction": test_fraction, **(settings or {})}
        invitation = coordinator.invite(made, agreed, schema)
        for name in rows:
            accept(folder / name, coordinator.folder / "invitation.json", invitation.code)
            agree(folder / name, invitation)
        self.nodes: dict[str, dict[str, Scalar]] = {name: read_node_config(folder / name) for name in rows}
        self.settings: Settings = settings_from(invitation.settings)

    def grid(self, run_id: int = 1) -> InProcessGrid:
        """Return a grid of the hospitals in a new run; their node ids are 2, 3, … in the order of their names here."""
        return InProcessGrid(app, list(self.nodes.values()), dict(self.settings.run_config), run_id)

    def coordinator(self, run_id: int = 1) -> "FalseCoordinator":
        """Return a coordinator that begins a new run with them."""
        return FalseCoordinator(self.grid(run_id), self.settings)

    def exact(self, name: str, told: Told, work: Callable[[Site, Q], A], question: Q) -> A:
        """Return what a hospital's work finds before any noise is added, which nobody but this attacker gets to see.

        PanSVMError if the hospital refuses to be told or asked that.
        """
        context = Context(1, 2, dict(self.nodes[name]), RecordDict(), dict(self.settings.run_config))
        content = RecordDict()
        for broadcast, message in told.items():
            records.write(content, f"broadcast.{broadcast.name}", message)
        broadcasts.keep(context, content)
        # As a hospital's grid does in this process: the number of threads would be one more thing that rounds.
        with threadpool_limits(limits=1):
            return work(Site(context), question)


class FalseCoordinator:
    """A coordinator that asks by hand, and takes whatever it opens.

    Parameters
    ----------
    grid : InProcessGrid
        The hospitals.
    settings : Settings
        What they are told of the run's settings.

    Attributes
    ----------
    federation : Federation
        The hospitals as the project's own coordinator sees them.
    """

    def __init__(self, grid: InProcessGrid, settings: Settings) -> None:
        strategy = all_strategies()[settings.strategy](settings)
        self.settings = settings
        self.federation = strategy.federation = Federation(grid, settings, strategy)

    def join(self, classes: tuple[str, ...] = CLASSES, promise: str = "charged") -> dict[str, JoinAnswer]:
        """Have all hospitals join, tell them the schema with classes of the coordinator's choice, and return replies."""
        answers = self.federation.collect(JOIN, JoinQuestion((), CLASSES, promise))
        self.federation.enrol(
            {
                answer.name: Contact(
                    node, PublicKeys(answer.public_key, answer.published, answer.signature), answer.version
                )
                for node, answer in answers.items()
            }
        )
        columns = next(iter(answers.values())).columns
        self.federation.broadcast(SCHEMA, schema_broadcast(self.settings, columns, classes))
        return {answer.name: answer for answer in answers.values()}

    def tell(self, told: Told) -> None:
        """Tell the hospitals what else they have to know; it travels with the next question."""
        for broadcast, message in told.items():
            self.federation.broadcast(broadcast, message)

    def ask(self, task: Task[Q, A], question: Q) -> A:
        """Return the sum over the hospitals."""
        return self.federation.secure_sum(task, question, dict.fromkeys(task.summed, np.inf))


def schema_broadcast(
    settings: Settings, columns: tuple[str, ...] = COLUMNS, classes: tuple[str, ...] = CLASSES
) -> SchemaBroadcast:
    """Return the broadcast of columns and classes."""
    return SchemaBroadcast(columns, classes, (), settings.test_fraction, 0, settings.seed)

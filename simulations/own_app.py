"""The ClientApp for a Flower app of the user's own, whose simulated sites get their rows from a function."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable, Mod

from clients.app import TASKS, app_of_tasks
from clients.hospital import SimulatedContext, is_simulated
from clients.ledger.lasting_split import LastingSplit
from clients.policy import SIMULATED_KEYS
from clients.table.file import checked_frame
from clients.table.form import TableForm
from clients.table.opening import digest
from clients.table.reading import label_of, table_from_frame
from clients.table.simulated import use_tables
from clients.table.sources.function import as_frame, call
from clients.table.table import Table
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from simulations.data import sites
from simulations.data.datasets import agreed_rows
from strategies.own_app import own_keys

Rows = Callable[[Context], Any]

ARRAY_MODS = ("LocalDpMod", "adaptiveclipping_mod", "fixedclipping_mod")
"""Flower's mods that rewrite the arrays of a reply."""

_EXAMPLE = "partition-id=0 num-partitions=3"

_context: ContextVar[Context] = ContextVar("the context of the current request")


def client_app(data: Rows, mods: Sequence[Mod] = (), *, label: str = "") -> ClientApp:
    """Return a ClientApp that trains with the plugin's strategies on rows of the app's own.

    Its settings are the keys under ``pansvm.`` of the app's run config; it ignores all others.

    Parameters
    ----------
    data : callable
        Function of Flower's context of a simulated node, with ``partition-id`` in its ``node_config`` and the app's
        whole run config. Returns the node's rows: a DataFrame with a label column, ``(X, y)`` or ``(X, y, names)``;
        the same rows in every call of a run.
    mods : sequence
        Flower mods. They may read messages. A mod that fails, or changes a message or its reply, is refused by name;
        Flower's own mods that rewrite arrays are refused at once.
    label : str
        Label column of a DataFrame, unless the run config has ``pansvm.label``; by default the schema file's, or
        ``label``.

    Returns
    -------
    ClientApp
        An app with all tasks; other handlers may be added, which get Flower's context as it is.

    Raises
    ------
    SettingError
        If ``data`` is not callable, or a mod rewrites arrays.
    """
    if not callable(data):
        raise SettingError(
            f"data is {type(data).__name__}, not a function. Give a function that returns a node's rows: data=my_rows."
        )
    for mod in map(_name_of, mods):
        if mod in ARRAY_MODS:
            raise SettingError(
                f"{mod} rewrites the arrays of a reply, which are exact or masked numbers here. Leave it out; for "
                "differential privacy use dp-svm, or another level of the setting 'privacy'."
            )
    return app_of_tasks([*map(_Unchanged, mods), _OwnSettings(_Tables(data, label))])


def _name_of(mod: Mod) -> str:
    """Return the name of a mod, a function or a callable object."""
    return getattr(mod, "__name__", type(mod).__name__)


@dataclass(frozen=True)
class _Unchanged:
    """A mod around another: replies with an error that names the other if it fails or changes a message."""

    mod: Mod

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        original, contents = copy.deepcopy(message.content), []

        def call_app(request: Message, context: Context) -> Message:
            if request.content != original:
                raise SettingError("it changed the request")
            contents.append(_content_of(reply := call_next(request, context)))
            return reply

        try:
            reply = self.mod(message, context, call_app)
            if contents != [_content_of(reply)]:
                raise SettingError("it changed the reply" if contents else "it replied itself")
        except Exception as error:
            # On a real node its text could hold data of somebody else.
            text = f": {error}" if is_simulated(context) else " (its text is in the node's log)"
            why = str(error) if isinstance(error, SettingError) else f"{type(error).__name__}{text}"
            if not is_simulated(context):
                logger.error("%s", printable(f"{_name_of(self.mod)}: {error}"))
            text = f"The mod {_name_of(self.mod)} failed: {why}. Correct it, or leave it out of mods."
            return Message(Error(SettingError.code, printable(text)), reply_to=message)
        return reply


def _content_of(reply: Message) -> tuple[RecordDict | None, int]:
    """Return a copy of a reply's content, or the code of its error."""
    return (copy.deepcopy(reply.content), 0) if reply.has_content() else (None, reply.error.code)


@dataclass(frozen=True)
class _OwnSettings:
    """A mod that passes on the plugin's part of the run config, with the app's tables; the state stays the context's.

    A real SuperNode that runs the app is a simulated site, too: a hospital's node runs the installed package.
    """

    tables: "_Tables"

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        category, _, name = message.metadata.message_type.partition(".")
        if name not in TASKS or TASKS[name].category != category:
            return call_next(message, context)  # for a handler of the app's own
        # Flower's workers get a copy of the app: imports there register nothing.
        use_tables(self.tables)
        if not is_simulated(context):
            logger.warning(
                "the app's own rows count as a researcher's: no policy and no ledger protects them"
            )
        if not context.node_config.keys() >= set(SIMULATED_KEYS):
            keys = " and ".join(SIMULATED_KEYS)
            text = f'The node config needs {keys}. Start the SuperNode with --node-config "{_EXAMPLE}".'
            return Message(Error(SettingError.code, text), reply_to=message)
        # Other keys of the node config are the app's.
        node, config = {key: context.node_config[key] for key in SIMULATED_KEYS}, own_keys(context.run_config)
        plugin_context = SimulatedContext(context.run_id, context.node_id, node, context.state, config)
        token = _context.set(context)
        try:
            return call_next(message, plugin_context)
        finally:
            _context.reset(token)


_read: dict[tuple[int, int, int], Table] = {}
"""This process's tables of the latest run, whose only function Flower copies for each message if it is a lambda."""


def _form() -> TableForm:
    """Return the format of the app's tables: the schema file's, if the run config names one."""
    schema = own_keys(_context.get().run_config).get("schema")
    return TableForm.of({}, TableSchema.read(Path(str(schema))) if schema else None)


@dataclass(frozen=True)
class _Tables:
    """The tables of simulated sites (`clients.table.simulated.SimulatedTables`) from a function."""

    rows: Rows
    label: str

    @property
    def name(self) -> str:
        """The function's name, for errors."""
        return getattr(self.rows, "__name__", "data")

    @property
    def _label_column(self) -> str:
        """The label column of a frame: the run config's, the app's, or the schema file's."""
        return label_of(
            _form().schema, str(own_keys(_context.get().run_config).get("label", "")) or self.label
        )

    def _read(self) -> Table:
        try:
            return self._table()
        except PanSVMError as error:
            if is_simulated(_context.get()):
                raise
            # The rows of a real node may be somebody else's: what they are like stays in its log.
            logger.error("%s", printable(error.with_detail()))
            node = _context.get().node_config["partition-id"]
            raise type(error)(f"The node with partition-id={node}: {error} Its log says more.") from None

    def _table(self) -> Table:
        context = copy.copy(_context.get())
        context.node_config, context.run_config = dict(context.node_config), dict(context.run_config)
        context.state = RecordDict()
        form, label = _form(), self._label_column
        frame = as_frame(call(self.rows, self.name, context, logged=True), self.name, label)
        table = table_from_frame(checked_frame(frame, self.name, form), label, self.name, form)
        return agreed_rows(table, form, self.name)

    def table_of_node(self, config: Mapping[str, Scalar], site: int, count: int) -> Table:  # noqa: ARG002
        """Return the site's table; TableError if the function fails or returns no table."""
        key = _context.get().run_id, site, count
        if key not in _read:
            if any(run != key[0] for run, *_ in _read):
                _read.clear()
            _read[key] = self._read()
        return _read[key]

    def stamp_of_node(self, config: Mapping[str, Scalar], site: int) -> str:
        """Return a digest of the table: a changed table is refused."""
        count = int(_context.get().node_config["num-partitions"])
        return digest(self.table_of_node(config, site, count)).hex()

    def label_place_of_node(self, config: Mapping[str, Scalar], site: int) -> str:  # noqa: ARG002
        """Return the source of a site's labels, for errors."""
        return f"column '{self._label_column}' of the function {self.name}"

    def labels_of_run(self, config: Mapping[str, Scalar]) -> tuple[str, ...]:  # noqa: ARG002
        """Return no labels: those of other sites are unknown here."""
        return ()

    def split_of_node(
        self, config: Mapping[str, Scalar], site: int, classes: Any, patients: Any, fraction: float, seed: int
    ) -> LastingSplit:
        """Return the split into rows for evaluation and folds."""
        return sites.split_of_node({**config, "split": "iid"}, site, classes, patients, fraction, seed)

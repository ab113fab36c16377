"""A site as its tasks see it: its table, what the coordinator has broadcast, and its own small state.

Everything here can be rebuilt when the process is new: keys and broadcasts are in ``context.state``, which a hospital
keeps in a file (:mod:`clients.gate.replay_guard`); tables and mapped rows are read and computed again when this
process has not kept them.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from flwr.app import Context
from numpy.typing import NDArray

from clients import broadcasts
from clients.cache import Cache, cached, cached_tables
from clients.classes import check_listed, log_left_out, rows_with_classes
from clients.ledger.budget import link_table
from clients.ledger.lasting_split import key_of, lasting_split
from clients.membership import Participation
from clients.policy import agreed_terms, is_simulated, least_rows, policy_of, site_name
from clients.rows import Rows, Split, fold_numbers, test_rows
from clients.state_folder import state_folder
from clients.table.schema_file import schema_of
from clients.table.source import (
    keep_perturbed,
    label_column,
    open_table,
    table_identity,
    table_version,
)
from clients.table.table import Table, align
from flower_pansvm import records
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError, TableError
from flower_pansvm.records import Value
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema, class_names
from flower_pansvm.systems.common import LAYOUT, NO_FOLD, SCALING, SCHEMA, LayoutBroadcast, SchemaBroadcast
from flower_pansvm.tasks import MOST_ROWS, Broadcast
from flower_pansvm.terms import MIN_CLUSTER, Terms

M = TypeVar("M")

MOST_NUMBERS = 2**28
"""Most numbers in a site's answer, two gigabytes: a few bytes of a request must not ask for more."""


class Site:
    """One site during one message, perhaps about a secure sum; its outbox holds sealed notes to other sites by name."""

    def __init__(self, context: Context, level: str, participation: Participation | None = None) -> None:
        self.context = context
        self.level = level
        self.name = site_name(context)
        self.participation = participation
        self.policy = policy_of(context)
        self.simulated = is_simulated(context)
        self.least_rows = least_rows(context)
        self.state = context.state
        self.outbox: dict[str, bytes] = {}

    def told(self, broadcast: Broadcast[M]) -> M:
        """Return a broadcast, all of whose numbers are finite or missing cells; a process reads the same one only once.

        FederationError if they are not, or this site has not received it.
        """

        def read() -> M:
            message = records.read(self.state, broadcasts.PREFIX + broadcast.name, broadcast.message)
            for value in records.values_of(message).values():
                if not isinstance(value, np.ndarray | float):
                    continue
                finite = np.isfinite(value) | (np.isnan(value) & broadcast.cells)
                if not finite.all():
                    raise FederationError(
                        f"Site '{self.name}' was told a number that is not finite. {NOT_FOLLOWED}"
                    )
            return message

        return cast(M, cached((broadcast.message, self.digest_of(broadcast)), read))

    def digest_of(self, broadcast: Broadcast[Any]) -> str:
        """Return the digest of a broadcast; raises FederationError if this site has not received it."""
        known = records.get_one(self.state, broadcasts.DIGESTS, broadcast.name)
        if known is None:
            raise FederationError(
                f"Site '{self.name}' has not received the broadcast '{broadcast.name}'. It joined too late or its node "
                "was started again during the run; start the run again."
            )
        return cast(str, known)

    def table(self) -> Table:
        """Return the whole table that the level shows: the true one, or at `perturbed` its copy, which is all there is.

        Raises
        ------
        TableError
            If it cannot be read, or there can be no copy of it.
        FederationError
            If it is no more what it was when the run began. Sums before a change and after it would differ in the rows
            that have changed.
        """
        table = self._true_table()
        return cast(Table, self.cached(("copy",), lambda: self._copy(table))) if self.perturbed else table

    def link_table(self) -> None:
        """Find the ledger of a hospital's table as the site joins a run; BudgetError if there is none, or another's."""
        folder = state_folder(self.context)
        if folder is not None:
            link_table(folder, self._true_table())

    @property
    def terms(self) -> Terms:
        """The terms of the run, after checking that the hospital accepts them."""
        return agreed_terms(self.context)

    @property
    def perturbed(self) -> bool:
        """Whether the site's systems see the perturbed copy of its table."""
        return self.level == "perturbed"

    def _copy(self, table: Table) -> Table:
        from clients.perturb import PerturbedTerms, perturbed_table  # noqa: PLC0415 - other levels need none

        terms = PerturbedTerms(self.terms.noise, least_rows(self.context, MIN_CLUSTER))
        label, version = label_column(self.context), str(self.kept("table"))

        def keep(settled: str, make: Callable[[], Table]) -> Table:
            about = [version, label, str(terms.noise), settled]
            return keep_perturbed(self.context, table.X.size, about, make)

        return perturbed_table(
            *(table, label, schema_of(self.context), terms),
            *(key_of(self.context), keep),
        )

    def _true_table(self) -> Table:
        table = cast(Table, self.cached(("table",), self._read_table))
        version = self.cached(("table version",), lambda: table_version(self.context, table))
        refusal = "to go on: its table has changed since the run began. Put back, it can go on; as it is now it cannot"
        self.settle("table", version, refusal)
        return table

    def _read_table(self) -> Table:
        before = table_identity(self.context)
        table = open_table(self.context)
        if table_identity(self.context) != before:
            raise TableError(
                f"The table of site '{self.name}' was changed while it was read. Leave it as it is while a run goes "
                "on, and start a new run."
            )
        return table

    def labels(self) -> NDArray[np.str_]:
        """Return the label of each row of the table, shape (rows,)."""
        return cast(NDArray[np.str_], self.table().labels)

    def first(self, what: str, value: Value) -> Value:
        """Return the first value of something in a run, which this one becomes if there is none yet."""
        if not records.has(self.state, f"first.{what}"):
            records.put(self.state, f"first.{what}", {"value": value})
        return self.kept(what)

    def settle(self, what: str, value: Value, refusal: str) -> None:
        """Keep the first value of something in a run; any other is a FederationError, which says what and why."""
        if self.first(what, value) != value:
            raise FederationError(f"Site '{self.name}' refuses {refusal}. Start a new run.")

    def kept(self, what: str) -> Value:
        """Return what :meth:`first` or :meth:`settle` has kept."""
        values = records.get(self.state, f"first.{what}")
        if not values:
            raise FederationError(f"Site '{self.name}' lacks '{what}' of this run. Start the run again.")
        return cast(Value, values["value"])

    def schema(self) -> Schema:
        """Return the common columns and classes."""
        told = self.told(SCHEMA)
        return Schema(told.columns, told.classes, told.positive_labels)

    def layout(self) -> LayoutBroadcast:
        """Return which sites hold which columns; a second layout in a run is a FederationError."""
        self.settle(
            LAYOUT.name, self.digest_of(LAYOUT), "a second layout: another site could claim its columns"
        )
        return self.told(LAYOUT)

    def block_number(self) -> int:
        """Return the number of this site's column block; FederationError if the layout does not have the site."""
        told = self.layout()
        if self.name not in told.sites or len(told.blocks) != len(told.sites):
            raise FederationError(f"Site '{self.name}' is missing in the run's layout. {NOT_FOLLOWED}")
        return int(told.blocks[told.sites.index(self.name)])

    def column_block(self) -> tuple[str, ...]:
        """Return the names of the sites that hold the same columns as this one, itself among them."""
        own, told = self.block_number(), self.layout()
        return tuple(name for name, block in zip(told.sites, told.blocks, strict=True) if block == own)

    def own_columns(self) -> Bools:
        """Return which of the schema's columns this site has: all of them in a run without a layout."""
        columns = self.schema().columns
        if records.get_one(self.state, broadcasts.DIGESTS, LAYOUT.name) is None:
            return np.ones(len(columns), dtype=np.bool_)
        own: Bools = self.layout().columns == self.block_number()
        if len(own) != len(columns):
            raise FederationError(f"Site '{self.name}' was not told the block of each column. {NOT_FOLLOWED}")
        return own

    def train(self) -> Rows:
        """Return the rows the site trains on."""
        return self._split().train

    def test(self) -> Rows:
        """Return the rows the site keeps for evaluation."""
        return self._split().test

    def folds(self) -> Ints:
        """Return the fold of each training row, shape (rows,); `NO_FOLD` where the run has no folds.

        A fold with fewer rows than the hospital's ``min-cluster`` is a TableError: sums with and without it would be
        about these few patients.
        """
        told = self.told(SCHEMA)
        key = ("folds", self.digest_of(SCHEMA), self.least_rows)
        return cast(Ints, self.cached(key, lambda: self._deal(told.folds)))

    def scaled(self, X: Floats, number: int = 0) -> Floats:
        """Return rows filled and scaled by one of the scalings, shape (rows, features)."""
        return self.scaling(number).transform(X)

    def scaling(self, number: int) -> Scaling:
        """Return one of the scalings that the coordinator has broadcast; FederationError if it does not fit."""
        told = self.told(SCALING)
        sizes = {(len(told.fill), len(self.schema().columns))}
        fits = {told.fill.shape, told.shift.shape, told.scale.shape} == sizes and 0 <= number < len(told.fill)
        self.check_told(fits and bool((told.scale > 0).all()), "scalings")
        return Scaling(told.fill[number], told.shift[number], told.scale[number])

    def check_told(self, fits: bool, what: str) -> None:
        """Check that something that was broadcast fits the run; FederationError if not."""
        if not fits:
            raise FederationError(
                f"Site '{self.name}' was told {what} that do not fit its columns, or cannot be used. {NOT_FOLLOWED}"
            )

    def check_size(self, numbers: float) -> None:
        """Check that a request asks for no more numbers than a site gives at once, before room is made for them."""
        if not 0 <= numbers <= MOST_NUMBERS:
            raise SettingError(
                f"Site '{self.name}' was asked for more than {MOST_NUMBERS} numbers at once, or for less than none. "
                "Use fewer landmarks, points per round trip or folds."
            )

    def _split(self) -> Split:
        told = self.told(SCHEMA)
        key = ("split", self.digest_of(SCHEMA), self.own_columns().tobytes(), self.least_rows)
        split = cast(Split, self.cached(key, lambda: self._make_split(told)))
        self.log_left_out(split.left_out)
        return split

    def log_left_out(self, labels: NDArray[np.str_]) -> None:
        """Tell the hospital's own log which rows have no part in the run; once, and not in each message's process."""
        if len(labels) > 0 and not records.has(self.state, "left-out-logged"):
            records.put(self.state, "left-out-logged", {})
            schema = self.schema()
            log_left_out(self.context, labels, [*schema.classes, *schema.positive_labels])

    def _make_split(self, told: SchemaBroadcast) -> Split:
        schema, labels, folder = self.schema(), self.labels(), state_folder(self.context)
        if len(labels) > MOST_ROWS:
            raise TableError(
                f"Site '{self.name}' has more rows than a site may have, {MOST_ROWS}. Split the table."
            )
        classes = schema.indices(labels)
        known = (classes >= 0) & rows_with_classes(self.context, labels, schema.positive_labels)
        # Only a researcher may know how a model does on the true records: the same ones as at every level.
        true = Site(self.context, "exact") if self.perturbed and folder is None else self
        # Among all rows, so that it does not depend on which classes other sites name.
        places = np.zeros(len(labels), dtype=np.int64)
        if folder is None:
            kept = test_rows(
                class_names(true.labels(), schema.positive_labels), told.test_fraction, told.seed
            )
            dealt = classes[known & ~kept]
            places[known & ~kept] = fold_numbers(dealt, len(dealt), told.seed)
        else:
            check_listed(self.context, schema.classes, schema.positive_labels)
            kept, digests = lasting_split(folder, self._true_table(), told.test_fraction)
            dealt = np.flatnonzero(~kept)
            places[dealt[np.lexsort((digests[dealt], labels[dealt]))]] = np.arange(len(dealt))
        true_classes = schema.indices(true.labels())
        train, test = known & ~kept, kept & (known if true is self else true_classes >= 0)
        left, least = int(np.count_nonzero(train)), self.least_rows
        # At dp a refusal must not tell how many there are.
        if left < least and self.level != "dp":
            raise TableError(
                f"Site '{self.name}' has too few rows: it trains on at least {least}, its min-cluster. Lower "
                "test-fraction, or min-cluster in the site's node config if the hospital agrees.",
                detail=f"It would train on {left} rows.",
            )
        of_train = Rows(self._cells(train), classes[train])
        of_test = Rows(true._cells(test), true_classes[test])
        return Split(of_train, of_test, labels[~known], places[train])

    def _cells(self, rows: Bools) -> Floats:
        """Return the cells of some of the table's rows, in the site's columns of the schema."""
        table, own = self.table(), self.own_columns()
        columns = [column for column, has in zip(self.schema().columns, own, strict=True) if has]
        return align(replace(table, X=table.X[rows]), columns).X

    def _deal(self, folds: int) -> Ints:
        places = self._split().places
        if folds == 0:
            return np.full(len(places), NO_FOLD)
        least = self.least_rows
        numbers = places % folds if folds <= len(places) else np.empty(0, dtype=np.int64)
        fewest = int(np.bincount(numbers, minlength=folds).min()) if len(numbers) else 0
        if fewest < least:
            raise TableError(
                f"Site '{self.name}' has too few rows for {folds} folds: it wants at least {least} in each, its "
                "min-cluster. Lower cv-folds, or min-cluster in the site's node config if the hospital agrees.",
                detail=f"Of {len(places)} training rows, a fold would have {fewest}.",
            )
        return numbers

    def cached(self, key: tuple[Hashable, ...], make: Callable[[], Any], kept: Cache = cached_tables) -> Any:
        """Return what this process keeps of the table as the level shows it; made the first time."""
        seen = self.level if not self.perturbed else f"{self.level} {self.terms.noise}"
        return kept((table_identity(self.context), seen, self.policy.classes, *key), make)

"""A site as its tasks see it: a hospital's rows at one level, and what the coordinator has broadcast.

Everything here can be rebuilt when the process is new: keys and broadcasts are in the hospital's ``state``, which is
kept in a file (:mod:`clients.gate.replay_guard`); tables and mapped rows are read and computed again when this process
has not kept them.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

import numpy as np

from clients.cache import Cache, cached, cached_tables
from clients.hospital import BROADCAST, DIGESTS, Hospital
from clients.membership import Participation
from clients.rows import Rows, Split, split_rows, table_at, table_key
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import LAYOUT, SCHEMA, LayoutBroadcast
from flower_pansvm.tasks import Broadcast

M = TypeVar("M")
V = TypeVar("V")

LARGEST_BROADCAST = 1e30
"""The largest number in a broadcast: with larger ones arithmetic would fail at some cells, and tell which."""

MOST_NUMBERS = 2**28
"""Most numbers in a site's answer, two gigabytes: a few bytes of a request must not ask for more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Site(Hospital):
    """A hospital during one message, at the level at which it answers."""

    level: str  # determines the table that the system sees
    # In the secure sum that the message is about, if it is about one.
    participation: Participation | None = None
    outbox: dict[str, bytes] = field(default_factory=dict)  # sealed notes to other sites, by name

    @classmethod
    def of(cls, hospital: Hospital, level: str, participation: Participation | None = None) -> Self:
        """Return the site of a hospital, as a system sees it at a level."""
        return cls(**vars(hospital), level=level, participation=participation)

    def get_broadcast(self, broadcast: Broadcast[M]) -> M:
        """Return a broadcast, of numbers up to `LARGEST_BROADCAST` or missing cells; a process reads it only once.

        FederationError if they are not, or this site has not received it.
        """

        def read() -> M:
            message = records.read(self.state, BROADCAST + broadcast.name, broadcast.message)
            for value in records.values_of(message).values():
                if not isinstance(value, np.ndarray | float):
                    continue
                if not ((np.abs(value) <= LARGEST_BROADCAST) | (np.isnan(value) & broadcast.cells)).all():
                    raise FederationError(
                        f"Site '{self.name}' received a number that is not finite or too large. {NOT_FOLLOWED}"
                    )
            return message

        return cached((broadcast.message, self.digest_of(broadcast)), read)

    def digest_of(self, broadcast: Broadcast[Any]) -> str:
        """Return the digest of a broadcast; raises FederationError if this site has not received it."""
        digest = records.get_one(self.state, DIGESTS, broadcast.name)
        if digest is None:
            raise FederationError(
                f"Site '{self.name}' has not received the broadcast '{broadcast.name}'. It joined too late or its node "
                "was started again during the run; start the run again."
            )
        return cast(str, digest)

    def table(self) -> Table:
        """Return the whole table that the level shows; raises as `clients.rows.table_at` does."""
        return table_at(self, self.level)

    def schema(self) -> Schema:
        """Return the common columns and classes."""
        broadcast = self.get_broadcast(SCHEMA)
        return Schema(broadcast.columns, broadcast.classes, broadcast.positive_labels)

    def layout(self) -> LayoutBroadcast:
        """Return the sites' columns; a second layout in a run is a FederationError."""
        self.require_same(
            LAYOUT.name, self.digest_of(LAYOUT), "a second layout: another site could claim its columns"
        )
        return self.get_broadcast(LAYOUT)

    def own_columns(self) -> Bools:
        """Return the mask of the schema's columns that this site has: all of them in a run without a layout."""
        columns = len(self.schema().columns)
        if records.get_one(self.state, DIGESTS, LAYOUT.name) is None:
            return np.ones(columns, dtype=np.bool_)
        from clients.column_blocks import own_columns  # noqa: PLC0415 - few runs have a layout

        return own_columns(self.layout(), self.name, columns)

    def train(self) -> Rows:
        """Return the rows the site trains on."""
        return self.split().train

    def test(self) -> Rows:
        """Return the rows the site keeps for evaluation."""
        return self.split().test

    def check_size(self, numbers: float) -> None:
        """Check, before room is made, that a request asks for no more numbers than a site gives; else SettingError."""
        if not 0 <= numbers <= MOST_NUMBERS:
            raise SettingError(
                f"Site '{self.name}' refuses a request for more than {MOST_NUMBERS} numbers, or below 0. Use fewer "
                "landmarks, points per round trip or folds."
            )

    def split(self) -> Split:
        """Return the table that the level shows, split; raises as `clients.rows.split_rows` does."""
        broadcast, own_columns = self.get_broadcast(SCHEMA), self.own_columns()
        key = ("split", self.digest_of(SCHEMA), own_columns.tobytes(), self.least_patients)
        split = self.cached(key, lambda: split_rows(self, self.level, broadcast, own_columns))
        if len(split.left_out):
            from clients.labels_told import log_left_out_rows  # noqa: PLC0415 - of most tables no row is

            log_left_out_rows(self, split.left_out, [*broadcast.classes, *broadcast.positive_labels])
        return split

    def cached(self, key: tuple[Hashable, ...], make: Callable[[], V], cache: Cache = cached_tables) -> V:
        """Return a value that this process keeps of the table as the level shows it; made the first time."""
        return cache((table_key(self, self.level), *key), make)

"""How a site's table is written, and what becomes of its columns: a node config, a run or a command says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from flower_pansvm.printable import plain_name
from flower_pansvm.reading_options import ReadingOptions, listed, said_of_reading
from flower_pansvm.table_schema import TableSchema


@dataclass(frozen=True)
class TableForm(ReadingOptions):
    """The form of a table."""

    drop: tuple[str, ...] = ()  # columns to leave out; each must be there
    schema: TableSchema | None = None  # what all sites have agreed on of their columns

    @classmethod
    def of(cls, said: Mapping[str, object], schema: TableSchema | None) -> Self:
        """Read the options by their keys, and ``drop`` (a list); what is not said is as the schema file has it.

        SettingError if an option cannot work.
        """
        drop = tuple(filter(None, map(plain_name, listed(str(said.get("drop") or "")))))
        usual = dict(schema.reading) if schema else {}
        return cls(**{**usual, **said_of_reading(said)}, drop=drop, schema=schema)


AS_IT_IS = TableForm()
"""The form of a table of which nothing is said."""

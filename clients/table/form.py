"""The form of a site's table, and the use of its columns, from a node config, a run or a command."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from flower_pansvm.labels import plain_name
from flower_pansvm.lists import split_list
from flower_pansvm.reading_options import ReadingOptions, said_of_reading
from flower_pansvm.table_schema import NUMBER, TableColumn, TableSchema

PLAIN = json.dumps(["", "", "", NUMBER, (), (), ""])
"""What `TableForm.readings` would say of a column of plain numbers."""


@dataclass(frozen=True)
class TableForm(ReadingOptions):
    """The form of a table."""

    drop: tuple[str, ...] = ()  # columns to leave out; each must be there
    schema: TableSchema | None = None  # what all sites have agreed on of their columns

    @classmethod
    def of(cls, options: Mapping[str, object], schema: TableSchema | None) -> Self:
        """Read the options by their keys, and ``drop`` (a list); the schema file has the defaults.

        SettingError if an option cannot work.
        """
        drop = tuple(filter(None, map(plain_name, split_list(str(options.get("drop") or "")))))
        usual = dict(schema.reading) if schema else {}
        return cls(**{**usual, **said_of_reading(options)}, drop=drop, schema=schema)

    def readings(self, columns: Iterable[str]) -> dict[str, str]:
        """Return how the cells of each column are read, without columns that are read as plain numbers.

        A coordinator may send other schema files. With each that takes another code for missing, a record that has it
        would change sides, if it has no id, and get one more copy. A decimal comma, or a blank between thousands, says
        how the file is written: read otherwise, a cell is the same number or an error. 1,234 is either of two numbers
        where commas or points group thousands.
        """
        grouped = self.thousands in (",", ".")
        options = self.missing, self.decimal.replace(".", "") * grouped, self.thousands * grouped

        def reading_of(column: TableColumn) -> str:
            return json.dumps([*options, column.kind, column.categories, column.missing, column.below_limit])

        described = self.schema.columns if self.schema else ()
        by_feature = {feature: column for column in described for feature in column.features}
        readings = {name: reading_of(by_feature.get(name, TableColumn(name))) for name in columns}
        return {name: text for name, text in readings.items() if text != PLAIN}


AS_IT_IS = TableForm()
"""The default form."""


def nearest_text(name: str, columns: Iterable[str]) -> str:
    """Return the columns with the names most like another, whatever the case; for an error's detail."""
    by_small = {column.casefold(): column for column in columns}
    close = difflib.get_close_matches(name.casefold(), by_small, n=3, cutoff=0.0)
    return f"The nearest column names are {', '.join(repr(by_small[match]) for match in close)}."

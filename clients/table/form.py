"""How a site's table is written, and what becomes of its columns: a node config, a run or a command says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from flower_pansvm.errors import SettingError
from flower_pansvm.table_schema import TableSchema

WORDS = {"tab": "\t", "semicolon": ";", "comma": ",", "blank": " "}
"""Separators that are hard to write as they are."""


@dataclass(frozen=True)
class TableForm:
    """The form of a table.

    Parameters
    ----------
    separator : str
        What stands between the fields of a CSV file; empty for a comma, or for a tab in a ``.tsv`` file.
    decimal : str
        A point, or a comma: what a number has before its decimals where it is text.
    drop : tuple of str
        Columns to leave out; each must be there.
    schema : TableSchema or None
        What all sites have agreed on of their columns.
    """

    separator: str = ""
    decimal: str = "."
    drop: tuple[str, ...] = ()
    schema: TableSchema | None = None

    @classmethod
    def of(cls, said: Mapping[str, object], schema: TableSchema | None) -> Self:
        """Read ``separator``, ``decimal`` and ``drop`` (by commas); SettingError if one cannot work."""
        separator, decimal, drop = (str(said.get(key) or "") for key in ("separator", "decimal", "drop"))
        separator = WORDS.get(separator.lower(), separator)
        if len(separator) > 1 or separator in ('"', "\r", "\n"):
            raise SettingError(
                f"The separator of a CSV file has to be one character, or one of the words {', '.join(WORDS)}."
            )
        if decimal not in ("", ".", ","):
            raise SettingError("'decimal' has to be a point or a comma: decimal=','.")
        names = tuple(name.strip() for name in drop.split(",") if name.strip())
        return cls(separator, decimal or ".", names, schema)


AS_IT_IS = TableForm()
"""The form of a table of which nothing is said."""

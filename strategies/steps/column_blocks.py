"""Column blocks: the columns of each site in a federation whose sites hold different columns; sites may share one."""

from collections.abc import Mapping, Sequence

import numpy as np

from flower_pansvm.errors import TableError
from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import LayoutBroadcast
from strategies.steps.schema import common_schema


def schema_by_columns(
    columns: Mapping[str, Sequence[str]],
    classes: Mapping[str, Sequence[str]],
    positive_labels: Sequence[str],
) -> Schema:
    """Return the schema of all column blocks together, in the order of the first site of each by name.

    Parameters
    ----------
    columns, classes : mapping of site name to sequence of str
        Columns and classes of each site; two sites have the same columns, in any order, or none in common.
    positive_labels : sequence of str
        Labels that count as positive.

    Raises
    ------
    TableError
        If two sites share a part of their columns only, or as :func:`strategies.steps.schema.common_schema`.
    """
    blocks: dict[frozenset[str], str] = {}
    for site in sorted(columns):
        block = frozenset(columns[site])
        for earlier, owner in blocks.items():
            if earlier != block and earlier & block:
                shared, other = min(earlier & block), min(earlier ^ block)
                raise TableError(
                    f"Sites '{owner}' and '{site}' both have the column '{shared}', but only one has '{other}'. Two "
                    "sites must have the same columns, or none in common: remove the shared column at one of them, or "
                    "give the same column the same name. Name a column of row ids in the node config as row-id."
                )
        blocks.setdefault(block, site)
    ordered = [column for owner in blocks.values() for column in columns[owner]]
    return common_schema(dict.fromkeys(columns, ordered), classes, positive_labels)


def layout_of(columns: Mapping[str, Sequence[str]], schema: Schema) -> LayoutBroadcast:
    """Return the block of each site and of each column; blocks are numbered in the schema's order."""
    numbers: dict[frozenset[str], int] = {}
    blocks = [frozenset(names) for names in columns.values()]
    by_column = {column: block for block in blocks for column in block}
    for column in schema.columns:
        numbers.setdefault(by_column[column], len(numbers))
    return LayoutBroadcast(
        sites=tuple(columns),
        blocks=np.array([numbers[block] for block in blocks]),
        columns=np.array([numbers[by_column[column]] for column in schema.columns]),
    )

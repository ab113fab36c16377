"""Columns of a federation in which sites hold other columns: each site's are a column block, which others may share."""

from collections.abc import Mapping, Sequence

import numpy as np

from flower_pansvm.errors import TableError
from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import LayoutBroadcast
from strategies.steps.schema import common_schema


def schema_by_columns(
    columns: Mapping[str, Sequence[str]],
    classes: Mapping[str, Sequence[str]],
    positive_labels: Sequence[str] = (),
) -> Schema:
    """Return the schema of all column blocks together, in the order of the first site of each by name.

    Parameters
    ----------
    columns, classes : mapping of site name to sequence of str
        What each site has; of two sites either the same columns, in any order, or none in common.
    positive_labels : sequence of str
        Labels that count as positive.

    Raises
    ------
    TableError
        If two sites have some columns in common and others not; or the classes are as in
        :func:`strategies.steps.schema.common_schema`.
    """
    blocks: dict[frozenset[str], str] = {}
    for site in sorted(columns):
        own = frozenset(columns[site])
        for block, owner in blocks.items():
            if block != own and block & own:
                shared, other = min(block & own), min(block ^ own)
                raise TableError(
                    f"Sites '{owner}' and '{site}' both have the column '{shared}', but only one has '{other}'. Sites "
                    "have the same columns, or none in common: take out what is there twice, or name columns that "
                    "hold the same alike. A column of row ids is named in the node config as row-id."
                )
        blocks.setdefault(own, site)
    everything = [column for owner in blocks.values() for column in columns[owner]]
    return common_schema(dict.fromkeys(columns, everything), classes, positive_labels)


def layout_of(columns: Mapping[str, Sequence[str]], schema: Schema) -> LayoutBroadcast:
    """Return which site has which block of the schema's columns; blocks are numbered in the schema's order."""
    numbers: dict[frozenset[str], int] = {}
    first = {own[0]: frozenset(own) for own in columns.values()}
    by_column = {column: own for own in first.values() for column in own}
    for column in schema.columns:
        numbers.setdefault(by_column[column], len(numbers))
    return LayoutBroadcast(
        sites=tuple(columns),
        blocks=np.array([numbers[frozenset(own)] for own in columns.values()]),
        columns=np.array([numbers[by_column[column]] for column in schema.columns]),
    )

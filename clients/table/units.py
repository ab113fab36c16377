"""Whether a column is in another unit than the schema file says.

The unit of most cells of a column is a fact about the records without noise. So the hospital's own commands check it,
before it connects; a site that answers a coordinator never does.
"""

import numpy as np

from clients.table.table import Table
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import NUMBER, TableSchema


def check_units(table: Table, schema: TableSchema | None, name: str) -> None:
    """Check that not most numbers of a column are outside of the schema's range, as they are in another unit.

    ``name`` is what the table was read from. The TableError names the column.
    """
    for column in schema.columns if schema else ():
        if column.kind != NUMBER or column.ends is None:
            continue
        cells = table.X[:, table.columns.index(column.name)]
        outside = np.count_nonzero(column.outside(cells))
        if outside > np.count_nonzero(~np.isnan(cells)) / 2:
            unit = f" in {column.unit}" if column.unit else ""
            raise TableError(
                f"Most numbers in column '{column.name}' of '{name}' are outside of the range that the schema file "
                f"gives, {column.ends[0]:g} to {column.ends[1]:g}{unit}. Are they in another unit? Convert them, or "
                "correct the schema file at all sites."
            )

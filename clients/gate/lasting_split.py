"""Which rows a hospital with a budget trains on, and which it keeps for evaluation: the same in every run.

The two have a budget each, so no row may change sides. A row's side follows from its cells and a key in the ledger, and
from nothing that a coordinator says.
"""

import hmac

import numpy as np
from numpy.typing import NDArray

from clients.cache import cached
from clients.gate.budget import Ledger, check_joined, read_ledger
from clients.gate.classes import allowed_rows, check_listed
from clients.gate.state_folder import state_folder
from clients.gate.tables import KnownTables, tables_home
from clients.rows import Rows
from clients.site import Site
from clients.table.source import table_identity
from clients.table.table import Table, align
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.tasks.joining import SCHEMA
from flower_pansvm.tasks.limits import MOST_ROWS


def lasting_split(site: Site) -> tuple[Rows, Rows]:
    """Return the training and the test rows; of a simulated site, those that every strategy has.

    Raises
    ------
    SettingError
        If the run is to keep another share of the rows for evaluation than the hospital has settled on, or has classes
        that the hospital does not list.
    BudgetError
        If there is no ledger, or the site has not joined the run with it.
    TableError
        If there are more rows than sums can hold.
    """
    folder = state_folder(site.context)
    if folder is None:
        return site.train(), site.test()
    check_joined(site.context, ledger := read_ledger(folder))
    table, told = site.table(), site.told(SCHEMA)
    check_listed(site.context, told.classes, told.positive_labels)
    if told.test_fraction != ledger.test_fraction:
        raise SettingError(
            f"Site '{site.name}' keeps the same {ledger.test_fraction:g} of its rows for evaluation in all runs. Start "
            f"the run with test-fraction={ledger.test_fraction:g}."
        )
    if len(table.X) > MOST_ROWS:
        raise TableError(
            f"Site '{site.name}' has more rows than a site may have, {MOST_ROWS}. Split the table."
        )
    classes = str(site.context.node_config.get("classes"))
    key = ("lasting split", table_identity(site.context), site.digest_of(SCHEMA), ledger.key, classes)
    train, test = cached(key, lambda: _split(site, table, ledger))
    return train, test


def _split(site: Site, table: Table, ledger: Ledger) -> tuple[Rows, Rows]:
    schema, labels = site.schema(), site.labels()
    classes = schema.indices(labels)
    known = (classes >= 0) & allowed_rows(site.context, labels, schema.positive_labels)
    site.log_left_out(labels[~known])
    X, kept = align(table, schema.columns).X, _kept(table, ledger)
    train, test = (Rows(X[rows], classes[rows]) for rows in (known & ~kept, known & kept))
    return train, test


def _kept(table: Table, ledger: Ledger) -> NDArray[np.bool_]:
    """Return which rows are kept for evaluation: equal rows are on the same side, whatever columns were added."""
    place = {tag: index for index, tag in enumerate(KnownTables(tables_home(), table).columns)}
    order, key = [place[tag] for tag in sorted(ledger.columns)], bytes.fromhex(ledger.key)
    # One way to write a zero, and one for a missing cell.
    cells = np.where(np.isnan(table.X[:, order]), np.nan, table.X[:, order] + 0.0).astype("<f8")
    digests = b"".join(hmac.digest(key, row.tobytes(), "sha256")[:8] for row in cells)
    return np.frombuffer(digests, dtype="<u8") < ledger.test_fraction * 2.0**64

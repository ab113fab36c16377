"""Which of the account's ledgers belongs to a table: told by its rows, whatever file or folder they come from.

All ledgers are in one place of the account, a folder each: what was spent (:mod:`clients.ledger.ledger`), and the
smallest digests of the rows. The digest of a cell is AES-256 of its column's name and of its number in single
precision. That of a row is the sum over some columns: all; each one, two and three of the seven columns with the most
values; each one, two and three of four groups of columns; the row id, unless it counts up. So rows may be sorted
otherwise, added, removed or corrected, and columns be added, removed, renamed or computed otherwise, as long as some of
these are left in which nearly all rows differ: of the file, and not only of the columns that a study has. One sketch
has no names, for a file in which all are new. What it does not notice: a file without such ids in which most
measurements have other cells; one in which all have other names and some other cells, and none has another number in
each row; less than a thirtieth of a large table; and a table under another account. Where all rows look alike, other
patients' tables count as it; so do those with the same column of numbers of which each row has another, unless it is a
counter.

The key is a file beside the ledgers. Without it a digest tells nothing. Whoever has both can try guesses: whether a few
cells that they can write down are in a row. So the place is for the account alone, as the table is.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from clients.hospital import Hospital
from clients.ledger.home import read_own, tables_home, write_own
from clients.ledger.lasting_split import BLOCK_ROWS, Digests, cell_digests, digests_of_ids
from clients.ledger.ledger import BEHIND, LINK_FILE, Ledger, ledger_in, read_link, write_ledger
from clients.state_folder import locked_state, read_checked, state_folder, write_checked
from clients.table.opening import open_table
from clients.table.table import Table
from flower_pansvm.errors import BudgetError
from flower_pansvm.files import sync

Counts = NDArray[Any]  # of rows
Sketch = dict[str, Digests]  # the smallest digests, in order, by those of some columns' names, in order

KEY_FILE, ROWS_FILE = "key", "rows.json"
WHOLE, PARTS = TABLE = "whole", "parts"  # sketches of all columns that a table has had, and of some of them
WHOLE_FILE = "file", PARTS  # of all columns of its file, and of some, which count as some of a table's
NAMELESS = ""  # the sketch that is of no columns by name
VARIED, SMALLEST = 7, 256

SHARE, FEWEST = 0.25, 8
"""How much of the smaller one two tables have in common at the least to count as one; and, of some columns only, how
many digests."""

ONCE = 0.97
"""Share of the digests that only one row has, at the least: by fewer, rows of other patients would be found, too."""

OTHER_PATIENTS = (
    "The schema file names another patient-id than when the table was first used, or one of both names none: rows that "
    "were kept for evaluation would be trained on. Put the schema file back as it was. If it was wrong, as patients "
    "have several rows, its operator can end this table's budget: pansvm budget --help"
)
LACKS = (
    "The table lacks columns, or the row ids, that it had when it was first asked, or their cells are read otherwise, "
    "and rows that were kept for evaluation would be trained on. Put the columns back, and in the schema file and node "
    "config kinds, categories, 'missing', 'below-limit', 'decimal' and 'thousands'; columns may be added. If that "
    "cannot be, its operator can end this table's budget, and its perturbed copy if it has one: pansvm budget --help"
)


class KnownTables:
    """The account's ledgers, to compare one table with. Whoever looks at rows holds the lock of the place.

    Parameters
    ----------
    home : Path
        The account's place of ledgers, :func:`clients.ledger.home.tables_home`.
    table : Table
        The table.
    kinds : tuple of str
        Which sketches it is compared by: those of tables, or of files.

    Attributes
    ----------
    columns : list of str
        Digests of the names of its columns.

    Raises
    ------
    BudgetError
        If the key is lost or damaged; later, if the digests of a ledger's rows are: it may be the one of this table.
    """

    def __init__(self, home: Path, table: Table, kinds: tuple[str, ...] = TABLE) -> None:
        self._home, self._X, self._kinds = home, table.X, kinds
        file = home / KEY_FILE
        if not file.exists() and not any(home.glob(f"*/{ROWS_FILE}")):
            write_checked(file, {"key": secrets.token_hex(32)})
        try:
            key = bytes.fromhex(read_checked(file)["key"])
            # Equal cells have equal digests, and that is wanted here: each block is for itself.
            self._cipher = Cipher(algorithms.AES256(key), modes.ECB())
        except (FileNotFoundError, ValueError, KeyError):
            raise _damaged(file, "all of pansvm/tables") from None
        tags = [hmac.digest(key, name.encode(), "sha256")[:8].hex() for name in (*table.columns, "")]
        *self.columns, by_id = tags
        self._cells = dict(zip(self.columns, self._X.T, strict=True))
        self._ids = [by_id] if table.ids is not None and not counts_up(_last_numbers(table.ids)) else []
        if table.ids is not None and self._ids:
            self._cells[by_id] = (digests_of_ids(table.ids) >> np.uint64(34)).astype("<u4").view("<f4")
        self._sketch: Sketch = {}
        self._telling: set[str] = set()

    def alike(self) -> list[str]:
        """Return the names of the ledgers whose table has a noticeable share of its rows in common with this one."""
        known = {folder.name: _read(folder) for folder in sorted(self._home.glob("[0-9a-f]*/"))}
        self._make_sketches(key for ledger in known.values() for kind in self._kinds for key in ledger[kind])
        return [name for name, ledger in known.items() if self._is_this_tables(ledger)]

    def add(self, folder: Path) -> None:
        """Add the rows to those that a ledger is found by: all that its table ever had."""
        known = (
            _read(folder) if (folder / ROWS_FILE).exists() else {kind: {} for kind in {*TABLE, *WHOLE_FILE}}
        )
        written = _as_lists(known)
        whole = " ".join(sorted(self.columns))
        if whole not in known[self._kinds[0]]:
            known[self._kinds[0]][whole] = np.empty(0, np.uint64)
            known[PARTS] = dict.fromkeys(self._column_sets(), np.empty(0, np.uint64)) | known[PARTS]
        known[PARTS] = dict.fromkeys(self._ids, np.empty(0, np.uint64)) | known[PARTS]
        for kind in self._kinds:
            self._make_sketches(known[kind])
            for key, before in [*known[kind].items()]:
                if kind != PARTS or key in self._telling or key not in self._sketch:
                    known[kind][key] = np.union1d(before, self._sketch.get(key, before))[:SMALLEST]
                else:
                    del known[kind][key]
        # Most runs add nothing, and a disk takes longer to write than all else here.
        if (lists := _as_lists(known)) != written:
            write_own(folder / ROWS_FILE, lists)

    def _column_sets(self) -> list[str]:
        """Return the sets of columns that have a sketch besides that of all; counters are in none."""
        values = np.array(
            [0 if counts_up(cells) else len(np.unique(cells)) for cells in self._X[:BLOCK_ROWS].T]
        )
        varied = [[self.columns[index]] for index in np.argsort(values)[::-1][:VARIED] if values[index]]
        told = [tag for tag, many in zip(self.columns, values, strict=True) if many]
        quarters = [[tag for tag in told if int(tag, 16) % 4 == rest] for rest in range(4)]
        sets = (c for units in (varied, quarters) for size in (1, 2, 3) for c in combinations(units, size))
        return [NAMELESS, *(" ".join(sorted(chain(*c))) for c in sets if any(c))]

    def _nameless(self, block: slice) -> list[Digests]:
        """Return digests of rows, and of each cell of columns in which all rows differ, whatever columns are called."""
        of = [cell_digests(self._cipher, 0, cells) for cells in self._X[block].T]
        return [np.add.reduce(of), *(of[index] for index in self._unique_columns)]

    @cached_property
    def _unique_columns(self) -> list[int]:
        """The columns in which all rows differ, but for counters, by index; as far as the first rows tell."""
        there = [cells[~np.isnan(cells)] for cells in self._X[:BLOCK_ROWS].T]
        differ = [len(np.unique(cells)) >= ONCE * len(cells) and not counts_up(cells) for cells in there]
        return np.flatnonzero(differ).tolist()

    def _is_this_tables(self, known: dict[str, Sketch]) -> bool:
        """Tell whether a ledger is this table's, by all columns or by some in which hardly two rows are equal."""
        return any(
            _common_share(self._sketch[key], sketch, FEWEST if kind == PARTS else 1) >= SHARE
            for kind in self._kinds
            for key, sketch in known[kind].items()
            if key in (self._telling if kind == PARTS else self._sketch)
        )

    def _make_sketches(self, wanted: Iterable[str]) -> None:
        """Make the sketches of some columns each, if the table has them and they are not made yet."""
        new = {key: key.split() for key in wanted if key not in self._sketch}
        new = {key: tags for key, tags in new.items() if self._cells.keys() >= set(tags)}
        sketches = {key: (np.empty(0, np.uint64), np.empty(0)) for key in new}
        for start in range(0, len(self._X) if new else 0, BLOCK_ROWS):
            block, tags = slice(start, start + BLOCK_ROWS), set().union(*new.values())
            of = {tag: cell_digests(self._cipher, int(tag, 16), self._cells[tag][block]) for tag in tags}
            for key, columns in new.items():
                rows = [np.add.reduce([of[tag] for tag in columns])] if columns else self._nameless(block)
                sketches[key] = _smallest(*sketches[key], np.concatenate(rows))
        self._telling |= {
            key
            for key, (_, counts) in sketches.items()
            if np.count_nonzero(counts == 1) >= ONCE * len(counts)
        }
        self._sketch |= {key: digests for key, (digests, _) in sketches.items()}


def counts_up(cells: NDArray[np.float64]) -> bool:
    """Tell whether each row has another whole number, so near to the others' that tables of other patients have many.

    As row numbers are, some of which may be gone.
    """
    reach = np.max(cells, initial=-np.inf) - np.min(cells, initial=np.inf)
    near = reach < 2 * len(cells) / SHARE and np.array_equal(cells, np.rint(cells))
    return bool(near and len(np.unique(cells)) >= ONCE * len(cells))


def _last_numbers(ids: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the last number in each id, NaN without one: 17 of P17 and of 2024-17."""
    found = (re.search(r"(\d{1,7})\D*$", text) for text in ids.tolist())
    return np.array([float(match[1]) if match else np.nan for match in found])


def _smallest(digests: Digests, counts: Counts, more: Digests) -> tuple[Digests, Counts]:
    """Return the smallest digests after more rows, in order, and how many rows have each."""
    if len(digests) == SMALLEST:
        more = more[more <= digests[-1]]
    union, inverse = np.unique(np.concatenate([digests, more]), return_inverse=True)
    rows = np.bincount(inverse, np.concatenate([counts, np.ones(len(more))]), len(union))
    return union[:SMALLEST], rows[:SMALLEST]


def _common_share(sketch: Digests, known: Digests, fewest: int) -> float:
    """Return the share of the smaller one of two tables that is in the other, as far as both sketches reach."""
    limit = min((s[-1] for s in (sketch, known) if len(s) == SMALLEST), default=np.uint64(2**64 - 1))
    both = np.count_nonzero(np.isin(sketch, known))
    fewer = min(np.count_nonzero(s <= limit) for s in (sketch, known))
    return both / fewer if both >= fewest else 0.0


def _read(folder: Path) -> dict[str, Sketch]:
    """Return the sketches of a ledger's rows."""
    try:
        content = read_own(folder / ROWS_FILE)
    except (FileNotFoundError, ValueError):
        raise _damaged(folder / ROWS_FILE, "the folder of that file") from None
    return {
        kind: {some: np.array(digests, np.uint64) for some, digests in sketches.items()}
        for kind, sketches in content.items()
    }


def _as_lists(known: dict[str, Sketch]) -> dict[str, dict[str, list[int]]]:
    """Return sketches as a ledger's file has them."""
    return {kind: {some: one.tolist() for some, one in known[kind].items()} for kind in known}


def link_table(
    folder: Path,
    table: Table,
    whole_file: Callable[[], Table] | None = None,
    joins: bool = True,
    version: str = "as it was",
) -> Ledger:
    """Return the ledger of a state folder after checking that it is this table's; the first time, find or make it.

    The first run that is joined, and no check before, settles by which columns or ids records are told apart.

    A coordinator chooses which columns of the file its schema file has. Were a ledger found by these only, a study with
    others had a new budget, and a second copy of labels and codes; so it is found by the whole file, too: of each
    ``version``, as in a year all rows may have come and gone.

    Raises
    ------
    BudgetError
        If there is none, it is another table's, or rows would change between training and evaluation.
    """
    # Read before the lock is taken, for which all runs of this account wait.
    whole = whole_file() if whole_file and read_link(folder).version != version else None
    with locked_state(home := tables_home()):
        link, known = read_link(folder), [KnownTables(home, table)]
        if whole is not None:
            known.append(KnownTables(home, whole, WHOLE_FILE))
        alike = sorted({name for tables in known[: 1 if link.table else 2] for name in tables.alike()})
        if link.table and link.table not in alike:
            ledger_in(home / link.table)
            raise BudgetError(
                "The rows of the table are not those of the ledger that this state folder belongs to. Put the table "
                "back. A table of other patients needs another hospital folder, with an identity of its own (pansvm "
                "hospital init): by this identity other hospitals would take its ledger for an older copy."
            )
        if len(alike) > 1:
            raise BudgetError(
                "The table has rows of two tables that have a ledger each, and what is asked of it would have to be "
                "charged to both. Take part with one of these tables at a time."
            )
        name = next(iter(alike), "") or _new_ledger(home, known, link.test_fraction)
        ledger = ledger_in(home / name)
        if ledger.missed or ledger.copies < link.copies:
            raise BudgetError(BEHIND)
        if link.test_fraction != ledger.test_fraction:
            raise BudgetError(
                f"The table has a ledger already, which keeps {ledger.test_fraction:g} of the rows for evaluation, and "
                f"this state folder wants {link.test_fraction:g}. Begin again, as its operator, with: pansvm budget "
                f"--new STATE_FOLDER --test-fraction {ledger.test_fraction:g}",
                detail=f"The state folder is {folder}.",
            )
        columns = {name: table.readings.get(name, "") for name in table.columns}
        by_ids, by_patients = table.ids is not None, table.patients is not None
        lacks = not by_ids if ledger.by_ids else not columns.items() >= ledger.columns.items()
        others = by_patients != ledger.by_patients or ledger.patient_id not in ("", table.patient_id)
        # With a copy of all columns, an order of records by fewer would tell true cells.
        lasting = ledger.charges or not ledger.ended or (lacks and ledger.copy)
        if ledger.joined and (lacks or others) and lasting:
            raise BudgetError(OTHER_PATIENTS if others else LACKS)
        before = ledger
        if lacks or others or not ledger.joined:
            ledger = replace(ledger, columns=columns, by_ids=by_ids, by_patients=by_patients)
        if joins:
            ledger = replace(ledger, patient_id=table.patient_id, joined=True)
        if ledger != before:
            write_ledger(home / name, ledger)
        for tables in known:
            tables.add(home / name)
        if (new := replace(link, table=name, version=version)) != link:
            write_checked(folder / LINK_FILE, asdict(new))
    return ledger


def link_own_table(hospital: Hospital, table: Table, joins: bool = True) -> None:
    """Find the ledger of a hospital's true table as it joins a run, or before; BudgetError as :func:`link_table`.

    With ``joins`` it settles for good how records are told apart: at the first answer about rows, and not before. A
    ledger that a person ends, or its copy, is another one for the next run: FederationError in this one.
    """
    if not hospital.simulated:
        version = str(hospital.remembered("table"))
        whole_file = partial(open_table, hospital, whole_file=True)
        ledger = link_table(state_folder(hospital), table, whole_file, joins, version)
        mark = hashlib.sha256(f"{ledger.key} {len(ledger.copies_ended)}".encode()).hexdigest()
        hospital.require_same("ledger", mark, "to go on: the ledger of its table was ended during the run")


def _new_ledger(home: Path, known: list[KnownTables], test_fraction: float) -> str:
    """Make the ledger of a table that has none, and return the name of its folder, which gets it when all is there."""
    name = secrets.token_hex(16)
    (unfinished := home / f".{name}").mkdir(mode=0o700)
    write_ledger(unfinished, Ledger(test_fraction, secrets.token_hex(32)))
    for tables in known:
        tables.add(unfinished)
    unfinished.rename(home / name)
    sync(home)
    return name


def _damaged(file: Path, with_it: str) -> BudgetError:
    return BudgetError(
        "A file by which the ledgers of all hospitals of this account are found is lost, damaged or from another "
        "ledger's folder, so that it is not known what was spent of this table. Put it back from a backup, with all of "
        f"pansvm/tables. If there is none, delete {with_it}: the tables whose ledgers are in it count as spent, until "
        "the operator of each ends its budget (pansvm budget --help); the others go on.",
        detail=f"The file is {file}.",
    )

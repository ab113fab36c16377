"""Which of the account's ledgers belongs to a table: told by its rows, whatever file or folder they come from.

All ledgers are in one place of the account, a folder each: what was spent (:mod:`clients.gate.budget`), and a *sketch*
of the rows. The digest of a cell is AES-256 of its column's name and of its number in single precision; that of a row
is the sum over its columns. The columns fall into four groups by a digest of their names, and for each combination of
groups the sketch has the smallest digests of all rows. So rows may be sorted otherwise, added, removed or corrected;
and columns may be sorted otherwise, added, or renamed and removed as long as groups are left in which hardly two rows
are equal. What it does not notice: a table in which nearly all cells are written in another way, less than a hundredth
of a large table, and a table under another account. Tables with few different rows count as one if they look alike.

The key is a file beside the ledgers. Without it a digest tells nothing. Whoever has both can try guesses: whether a row
that they can write down is in the table. So the place is for the account alone, as the table is.
"""

import hmac
import os
import secrets
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from clients.gate.state_folder import is_private, read_checked, replace_file, write_checked
from clients.table.table import Table
from flower_pansvm.errors import BudgetError

Digests = NDArray[np.uint64]
Sketch = dict[str, Digests]  # of each combination of groups, such as "013": the smallest digests, in order

KEY_FILE, ROWS_FILE = "key", "rows.json"
GROUPS, SMALLEST, BLOCK_ROWS = 4, 1024, 2**16

SHARE, FEWEST = 0.2, 3
"""How much of the smaller one, and how many digests, two tables have in common at the least to count as one."""

DIFFERENT = 0.98
"""Share of the rows that must differ in some of the columns, or else rows of other patients would be equal there."""


def tables_home() -> Path:
    """Return the place of this account's ledgers, made if it is not there; BudgetError if it cannot be used."""
    state = Path(os.path.expanduser(os.environ.get("XDG_STATE_HOME") or "~/.local/state"))
    home = state / "pansvm" / "tables"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = is_private(home) and os.access(home, os.W_OK)
    except OSError:
        usable = False
    if not usable:
        raise BudgetError(
            "The place of the ledgers, pansvm/tables in the account's state folder, cannot be used. It has to belong "
            "to the SuperNode's account and be closed to others (chmod 700), and the SuperNode has to be allowed to "
            "write there (systemd: ReadWritePaths).",
            detail=f"It is {home}.",
        )
    return home


class KnownTables:
    """The account's ledgers, to compare one table with. Whoever makes it holds the lock of the place.

    Parameters
    ----------
    home : Path
        What :func:`tables_home` returns.
    table : Table
        The table.

    Attributes
    ----------
    columns : tuple of str
        Digests of the names of its columns.

    Raises
    ------
    BudgetError
        If the key is lost or damaged; later, if a sketch is: it may be the one of this table.
    """

    def __init__(self, home: Path, table: Table) -> None:
        self.home, self._X = home, table.X
        file = home / KEY_FILE
        if not file.exists() and not any(home.glob(f"*/{ROWS_FILE}")):
            replace_file(file, secrets.token_hex(32))
        try:
            key = bytes.fromhex(file.read_text(encoding="utf-8"))
            # Each block is a digest of its own, so that equal cells have to be equal here: no mode hides that.
            self._cipher = Cipher(algorithms.AES256(key), modes.ECB())
        except (OSError, ValueError):
            raise _damaged(file) from None
        self.columns = tuple(hmac.digest(key, name.encode(), "sha256")[:8].hex() for name in table.columns)
        self._sketches: dict[tuple[str, ...], tuple[Sketch, set[str]]] = {}

    def alike(self) -> list[str]:
        """Return the names of the ledgers whose table has a noticeable share of its rows in common with this one."""
        folders = sorted(self.home.glob("[0-9a-f]*/"))
        return [one.name for one in folders if any(self._is_alike(*sketch) for sketch in _read(one).items())]

    def add(self, folder: Path) -> None:
        """Add the rows to those that a ledger is found by: all that its table ever had."""
        known = _read(folder) if (folder / ROWS_FILE).exists() else {}
        own = tuple(sorted(self.columns))
        now, _ = self._sketch(own)
        before = known.get(own, now)
        known[own] = {name: np.union1d(before[name], now[name])[:SMALLEST] for name in now}
        lists = {
            " ".join(tags): {name: rows.tolist() for name, rows in one.items()} for tags, one in known.items()
        }
        write_checked(folder / ROWS_FILE, lists)

    def _is_alike(self, columns: tuple[str, ...], known: Sketch) -> bool:
        """Tell whether this table's rows are those of a sketch, in the columns that it was made of."""
        own, telling = self._sketch(columns)
        whole = max(known, key=len, default="")
        return any(
            _share(own[name], known[name]) >= SHARE for name in own if name in telling or name == whole
        )

    def _sketch(self, columns: tuple[str, ...]) -> tuple[Sketch, set[str]]:
        """Return the sketch of the rows, of the groups of these columns that the table has, and the telling names."""
        if columns not in self._sketches:
            self._sketches[columns] = self._make_sketch(columns)
        return self._sketches[columns]

    def _make_sketch(self, columns: tuple[str, ...]) -> tuple[Sketch, set[str]]:
        place = {tag: index for index, tag in enumerate(self.columns)}
        groups = {
            str(group): [tag for tag in columns if int(tag, 16) % GROUPS == group] for group in range(GROUPS)
        }
        groups = {group: tags for group, tags in groups.items() if tags and place.keys() >= set(tags)}
        names = [""]
        for group in groups:
            names += [name + group for name in names]
        found = {name: (np.empty(0, np.uint64), np.empty(0)) for name in names[1:]}
        for start in range(0, len(self._X), BLOCK_ROWS):
            block = self._X[start : start + BLOCK_ROWS]
            rows = {"": np.zeros(len(block), np.uint64)}
            for group, tags in groups.items():
                digests = sum(self._digests(tag, block[:, place[tag]]) for tag in tags)
                rows |= {name + group: one + digests for name, one in rows.items()}
            found = {name: _smallest(*found[name], rows[name]) for name in found}
        telling = {name for name, (one, counts) in found.items() if len(one) >= DIFFERENT * counts.sum()}
        return {name: one for name, (one, _) in found.items()}, telling

    def _digests(self, tag: str, cells: NDArray[np.float64]) -> Digests:
        """Return the digests of some cells of a column, shape (rows,)."""
        blocks = np.empty((len(cells), 2), "<u8")
        with np.errstate(over="ignore"):
            # One way to write a zero, and one for a missing cell.
            single = np.where(np.isnan(cells), np.nan, cells + 0.0).astype("<f4")
        blocks[:, 0], blocks[:, 1] = single.view("<u4"), int(tag, 16)
        return np.frombuffer(self._cipher.encryptor().update(blocks.tobytes()), "<u8")[::2]


def _smallest(
    digests: Digests, counts: NDArray[np.float64], more: Digests
) -> tuple[Digests, NDArray[np.float64]]:
    """Return the smallest digests after more rows, in order, and how many rows have each."""
    if len(digests) == SMALLEST:
        more = more[more <= digests[-1]]
    found, place = np.unique(np.concatenate([digests, more]), return_inverse=True)
    counts = np.bincount(place, np.concatenate([counts, np.ones(len(more))]), len(found))
    return found[:SMALLEST], counts[:SMALLEST]


def _share(own: Digests, known: Digests) -> float:
    """Return which share of the smaller one of two tables is in the other one, as far as both sketches reach."""
    limit = min((one[-1] for one in (own, known) if len(one) == SMALLEST), default=np.uint64(2**64 - 1))
    both = np.count_nonzero(np.isin(own, known))
    fewer = min(np.count_nonzero(one <= limit) for one in (own, known))
    return both / fewer if both >= FEWEST else 0.0


def _read(folder: Path) -> dict[tuple[str, ...], Sketch]:
    """Return the sketch of a ledger's rows, for each set of columns that its table has had."""
    try:
        content = read_checked(folder / ROWS_FILE)
    except (OSError, ValueError):
        raise _damaged(folder / ROWS_FILE) from None
    return {
        tuple(tags.split()): {name: np.array(rows, np.uint64) for name, rows in one.items()}
        for tags, one in content.items()
    }


def _damaged(file: Path) -> BudgetError:
    return BudgetError(
        "A file by which the account's ledgers are found is lost or damaged, so that it is not known what was spent of "
        "this table. Put it back from a backup, with all of pansvm/tables.",
        detail=f"The file is {file}.",
    )

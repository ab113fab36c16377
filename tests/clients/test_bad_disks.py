"""A disk that is full, fails or has no locks: nothing is spent twice, and nobody is told to delete a ledger."""

import contextlib
import errno
import fcntl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clients.budget import end_ledger, new_ledger
from clients.gate.replay_guard import turn
from clients.ledger import tables
from clients.ledger.home import tables_home
from clients.ledger.ledger import LEDGER_FILE, read_ledger, read_link
from clients.ledger.tables import KEY_FILE, ROWS_FILE, link_table
from clients.table.table import Table
from flower_pansvm.errors import BudgetError, SettingError
from tests.contexts import context_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a state folder in which a person has begun a ledger."""
    new_ledger(tmp_path / "state", 0.2)
    return tmp_path / "state"


@pytest.fixture
def whole() -> Table:
    """Return a file's table: a column of few codes, and measurements."""
    draw = np.random.default_rng(0)
    X = np.column_stack([draw.integers(0, 3, 60).astype(float), draw.normal(size=(60, 2))])
    return Table(columns=("code", "dose", "time"), X=X, labels=None)


@contextlib.contextmanager
def unreadable(name: str) -> Iterator[None]:
    """Let files of a name be there, and no read of them succeed, in a ``with`` block."""
    read = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path.name == name:
            raise OSError(errno.EIO, "Input/output error")
        return read(path)

    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(Path, "read_bytes", failing)
        disk.setattr(Path, "read_text", lambda path, encoding: failing(path).decode(encoding))
        yield


def test_a_ledger_that_cannot_be_read_now_keeps_its_key(folder: Path, whole: Table) -> None:
    """With another one each record would have a second copy; such a file is root's, or on a disk that fails."""
    ledger = link_table(folder, whole)
    with unreadable(LEDGER_FILE), pytest.raises(OSError, match="Input/output"):
        end_ledger(folder)
    assert read_ledger(folder) == ledger


@pytest.mark.parametrize("name", [KEY_FILE, ROWS_FILE])
def test_nobody_is_told_to_delete_what_cannot_be_read_now(name: str, folder: Path, whole: Table) -> None:
    link_table(folder, whole)
    with unreadable(name), pytest.raises(OSError, match="Input/output"):
        link_table(folder, whole)


def test_a_ledger_that_was_just_begun_as_the_disk_was_full_is_found_by_the_next_study(
    folder: Path, whole: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its file: it has other columns. With a ledger of its own, both would refuse the table for good."""

    def study(*columns: str) -> None:
        X = whole.X[:, [whole.columns.index(name) for name in columns]]
        link_table(folder, replace(whole, columns=columns, X=X), lambda: whole)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    begin = tables._new_ledger
    with monkeypatch.context() as disk:

        def begun(*arguments: object) -> str:
            name = begin(*arguments)  # type: ignore[arg-type]
            disk.setattr(tables, "write_ledger", full)
            return name

        disk.setattr(tables, "_new_ledger", begun)
        with pytest.raises(OSError, match="space"):
            study("code")
    study("dose", "time")
    assert [path.name for path in tables_home().glob("[0-9a-f]*/")] == [read_link(folder).table]


def test_where_no_file_can_be_locked_the_first_message_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    context = context_of({"name": "ward", "data": "none.csv", "state": str(folder)}, aggregation="ring")
    with pytest.raises(SettingError, match=r"without locks .* Put all on a disk"), turn(context):
        pytest.fail("it went on")


def test_a_full_disk_is_not_told_as_a_folder_of_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(BudgetError, match=r"pansvm/tables .* cannot be used \(No space left on device\)"):
        tables_home()

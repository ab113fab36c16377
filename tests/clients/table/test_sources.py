"""Sources of tables: the same rows from each, and errors that show neither cells nor passwords."""

import builtins
import datetime
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.table.file import SOURCES, read_frame
from clients.table.form import TableForm
from clients.table.reading import read_table
from tests.clients.conftest import refusal

COLUMNS = ["age", "dose", "smoker", "label"]
ROWS = [(63, 1.5, True, "yes"), (41, None, False, "no"), (70, -2.25, True, "no")]


def write_sqlite(folder: Path) -> Path:
    with sqlite3.connect(folder / "ward.db") as connection:
        connection.execute("CREATE TABLE ward (age INTEGER, dose REAL, smoker INTEGER, label TEXT)")
        connection.executemany("INSERT INTO ward VALUES (?, ?, ?, ?)", ROWS)
    connection.close()
    return query(folder, f"sqlite:///{folder / 'ward.db'}", "SELECT age, dose, smoker, label FROM ward")


def query(folder: Path, url: str, text: str) -> Path:
    path = folder / "ward.sql"
    path.write_text(f"-- url: {url}\n{text}\n")
    return path


def workbook(*sheets: list[Any]) -> Any:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
    book = openpyxl.Workbook()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        for row in rows:
            sheet.append(row)
    return book


WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: pd.DataFrame(ROWS, columns=COLUMNS).to_csv(path, index=False),
    "parquet": lambda path: pd.DataFrame(ROWS, columns=COLUMNS).to_parquet(path),
    "xlsx": lambda path: workbook([COLUMNS, *ROWS]).save(path),
    "sql": lambda path: write_sqlite(path.parent),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_rows_from_every_source(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](tmp_path / f"ward.{kind}")
    table = read_table(tmp_path / f"ward.{kind}")
    assert table.columns == ("age", "dose", "smoker")
    order = np.argsort(table.X[:, 0])
    np.testing.assert_array_equal(table.X[order], [[41, np.nan, 0], [63, 1.5, 1], [70, -2.25, 1]])
    assert table.labels[order].tolist() == ["no", "yes", "no"]


def test_every_source_is_listed_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.split(".", maxsplit=1)[0] in ("pyarrow", "openpyxl", "sqlalchemy"):
            raise ModuleNotFoundError(name=name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    for suffix, extra in ((".parquet", "parquet"), (".xlsx", "excel"), (".sql", "sql")):
        path = tmp_path / f"ward{suffix}"
        path.write_text("-- url: sqlite://\nSELECT 1")
        assert f"pip install '.[{extra}]'" in refusal(read_table, path)
    assert set(SOURCES) == {".csv", ".tsv", ".parquet", ".xlsx", ".sql", ".libsvm", ".svm"}


@pytest.mark.parametrize(("name", "said"), [("a.csv", {"separator": "tab"}), ("a.tsv", {})])
def test_tabs(tmp_path: Path, name: str, said: dict[str, str]) -> None:
    (tmp_path / name).write_text("age\tdose\tlabel\n63\t1.5\ta\n41\t\tb\n")
    table = read_table(tmp_path / name, form=TableForm.of(said, None))
    np.testing.assert_array_equal(table.X, [[63, 1.5], [41, np.nan]])


def test_a_named_index_of_parquet_is_a_column_and_a_nameless_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"age": [1, 2], "label": ["a", "b"]}, index=pd.Index([17, 4], name="dose"))
    frame.to_parquet(path)
    assert read_table(path).X.tolist() == [[17, 1], [4, 2]]
    frame.set_index(["age", "label"], append=True).to_parquet(path)
    assert sorted(read_frame(path).columns) == ["age", "dose", "label"]
    frame.rename_axis(None).to_parquet(path)
    assert list(read_frame(path).columns) == ["age", "label"]


def test_excel_with_empty_rows_and_columns_around(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = workbook([["age", "label"], [63, 1], [None, None], [41, 0]], [])
    book.worksheets[0]["D9"] = None
    book.save(path)
    table = read_table(path)
    assert table.X.tolist() == [[63], [41]]
    assert table.labels.tolist() == ["1", "0"]


HEAD = ["age", "label"]


@pytest.mark.parametrize(
    ("sheets", "told"),
    [
        ([[HEAD, [4711, 1]], [["more"]]], "2 sheets that hold something"),
        ([[]], "0 sheets"),
        ([[HEAD, ["=1+4711", 1]]], "formulas whose results are not in the file"),
        *(
            ([[HEAD, [cell, 1]]], "column 'age', data row 1")
            for cell in (datetime.date(1947, 1, 1), "#DIV/0!")
        ),
        ([[["age", None], [4711, 1]]], "name of column 2 is empty"),
        (None, "cannot be read as an Excel workbook"),
    ],
)
def test_excel_that_cannot_be_used(tmp_path: Path, sheets: list[Any] | None, told: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"4711") if sheets is None else workbook(*sheets).save(path)
    assert told in refusal(read_table, path)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM ward",
        "-- url: nonsense\nSELECT 1",
        "-- url: nodb://user:s4711t@host/ward\nSELECT 1",
        "-- url: mysql+oursql4711x://user:pw@host/ward\nSELECT 1",
        "-- url: sqlite:////no/such/4711.db\nSELECT 1",
        "-- url: sqlite://\nSELECT * FROM ward",
        "-- url: sqlite://\nSELECT 4711 AS",
        "-- url: sqlite://\nCREATE TABLE a4711 (x)",
        "-- url: sqlite://\nSELECT 1 AS age; SELECT 2",
        "-- url: sqlite://\n",
        "-- url: sqlite://\nSELECT 1 AS age WHERE 0",
        "-- url: postgresql+psycopg://u:s4711t@127.0.0.1:9/ward\nSELECT 1",
        "-- url: oracle+oracledb://u:s4711t@127.0.0.1:9/ward\nSELECT 1",
    ],
)
def test_a_query_that_cannot_be_asked(write: Callable[..., Path], text: str) -> None:
    refusal(read_table, write(text, "ward.sql"))


def test_whatever_a_driver_raises_is_told_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("cryptography is needed for the password s4711t")

    monkeypatch.setattr(sqlalchemy, "create_engine", fail)
    assert "(RuntimeError)" in refusal(
        read_table, query(tmp_path, "mysql+pymysql://u:s4711t@host/ward", "SELECT 1")
    )


def test_a_query_changes_nothing_and_its_rows_have_one_order(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path)
    first = read_table(path)
    backward = query(tmp_path, f"sqlite:///{tmp_path / 'ward.db'}", "SELECT * FROM ward ORDER BY age DESC")
    np.testing.assert_array_equal(read_table(backward).X, first.X)
    deleting = query(tmp_path, f"sqlite:///{tmp_path / 'ward.db'}", "DELETE FROM ward RETURNING *")
    np.testing.assert_array_equal(read_table(deleting).X, first.X)
    assert len(read_table(backward).X) == 3


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a PostgreSQL server on loopback, as another user if this one is root, which it refuses."""
    server = shutil.which("postgres")
    if server is None or shutil.which("initdb") is None:
        pytest.skip("no PostgreSQL server (initdb, postgres) is installed")
    pytest.importorskip("psycopg", reason="psycopg, which the tests' extra brings, is not installed")
    as_other: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    folder = Path(tmp_path_factory.mktemp("postgres"))
    data, password = folder / "data", folder / "password"
    data.mkdir(mode=0o700)
    password.write_text("s3cret-4711")
    if as_other:
        os.chown(data, 65534, 65534)
        password.chmod(0o644)
        for parent in [folder, *folder.parents][:4]:
            if parent.stat().st_uid == 0 and parent != Path("/tmp"):
                parent.chmod(parent.stat().st_mode | 0o011)
    init = ["initdb", "-D", str(data), "-U", "reader", "--auth=scram-sha-256", f"--pwfile={password}"]
    done = subprocess.run(init, capture_output=True, text=True, check=False, cwd="/", **as_other)
    if done.returncode:
        pytest.skip(f"initdb does not work here: {done.stderr.strip().splitlines()[-1:]}")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    listening = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
    command = [server, "-D", str(data), "-p", str(port), *listening]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **as_other)
    try:
        deadline = time.monotonic() + 120
        while "ready to accept connections" not in (folder / "log").read_text():
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"postgresql+psycopg://reader:{{password}}@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.slow
def test_a_table_in_postgresql(postgres: str, tmp_path: Path) -> None:
    import sqlalchemy  # noqa: PLC0415

    url = postgres.format(password="s3cret-4711")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text("CREATE TABLE ward (age int, dose numeric(8, 3), smoker boolean, label text)")
        )
        for row in ROWS:
            values = dict(zip(COLUMNS, row, strict=True))
            insert = sqlalchemy.text("INSERT INTO ward VALUES (:age, :dose, :smoker, :label)")
            connection.execute(insert, values)
    engine.dispose()
    expected = read_table(write_sqlite(tmp_path))
    found = read_table(query(tmp_path, url, "SELECT * FROM ward"))
    np.testing.assert_array_equal(np.sort(found.X, axis=0), np.sort(expected.X, axis=0))
    assert found.columns == expected.columns
    assert len(read_table(query(tmp_path, url, "SELECT * FROM ward WHERE label LIKE '%o'")).X) == 2
    # Nothing that a query does is kept.
    read_table(query(tmp_path, url, "DELETE FROM ward RETURNING *"))
    assert len(read_table(query(tmp_path, url, "SELECT * FROM ward")).X) == 3
    # A password that is wrong, a table that is not there: neither password nor cell is told.
    wrong = refusal(read_table, query(tmp_path, postgres.format(password="wr0ng-4711"), "SELECT * FROM ward"))
    assert "OperationalError" in wrong
    assert "SQLSTATE 42P01" in refusal(read_table, query(tmp_path, url, "SELECT * FROM beds_4711"))
    assert "SQLSTATE 22P02" in refusal(read_table, query(tmp_path, url, "SELECT label::int FROM ward"))
    assert "s3cret" not in wrong

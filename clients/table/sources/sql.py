"""SQL: a query of any database that SQLAlchemy knows, in a file that begins with the line ``-- url: …``.

No text of the database's, which may quote cells, and no part of the URL, which may hold a password, gets into an error.
"""

import re
from pathlib import Path

import pandas as pd

from clients.table.form import TableForm
from flower_pansvm.errors import TableError, install

URL = re.compile(r"\s*--\s*url:[ \t]*(\S+)[ \t]*$", re.MULTILINE)

EXAMPLE = "-- url: postgresql+psycopg://reader@db.hospital.example/ward"


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:  # noqa: ARG001
    """Query the database and return the rows, sorted. Nothing is committed, but some databases need no commit.

    Databases return rows in any order, and the split for test rows depends on it. So they are sorted by their cells, as
    text. TableError if there is no URL or no answer, or a package is not installed.
    """
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    url_line = URL.match(text)
    if url_line is None:
        raise TableError(
            f"'{name}' does not say which database to ask. Begin it with a line such as '{EXAMPLE}', and write the "
            "query below."
        )
    try:
        import sqlalchemy  # noqa: PLC0415 - a hospital without a database does without
    except ModuleNotFoundError:
        raise TableError(f"To read '{name}', the package sqlalchemy is needed: {install('sql')}.") from None
    try:
        engine = sqlalchemy.create_engine(url_line[1], poolclass=sqlalchemy.NullPool)
        if engine.dialect.name == "sqlite":
            # It would make a new, empty one.
            _check_file(engine.url.database, name)
        # As it stands: neither a colon nor a percent sign begins the name of a parameter.
        query = text[url_line.end() :]
        if "format" in engine.dialect.paramstyle:
            query = query.replace("%", "%%")
        with engine.connect() as connection:
            result = connection.exec_driver_sql(query)
            columns = list(result.keys())
            rows = sorted(map(tuple, result), key=lambda row: tuple(map(str, row)))
    except ModuleNotFoundError as error:
        raise TableError(
            f"To read '{name}', the driver {error.name} is needed, which its URL names: pip install {error.name}."
        ) from None
    except TableError:
        raise
    except Exception as error:  # a driver may raise anything, whose text may hold URL or cells
        raise TableError(
            f"The database of '{name}' has not answered its query ({_kind(error)}). Is the URL right, does the "
            "database run, may this account read it without being asked for a password, and does the query work in "
            "the database's own program? It has to be one SELECT."
        ) from None
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _check_file(database: str | None, name: str) -> None:
    if database and not Path(database).is_file():
        raise TableError(
            f"There is no SQLite file where '{name}' says. Check the path in its URL; an absolute one has four "
            "slashes: sqlite:////path/to/file.db."
        )


def _kind(error: Exception) -> str:
    """Return the class of an error, and the code that the SQL standard gives it, which holds no data."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return type(error).__name__ + (f", SQLSTATE {state}" if state else "")

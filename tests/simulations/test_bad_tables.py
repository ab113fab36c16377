"""Bad inputs as people bring them, and what becomes of each: a clear error, handled, or warned; never silently wrong.

A row of the table is what is written, what is typed, and what a person is told. `ERROR` ends with exit code 1 and one
paragraph, `HANDLED` with 0 and the right answer, `WARNED` with 3 and a paragraph that says what to look at.
"""

import gzip
import re
import shlex
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.table_schema import TableSchema
from strategies.steps.feature_maps import fit_map
from tests.simulations.conftest import Run

ERROR, HANDLED, WARNED = "error", "handled", "warned"
CODES = {ERROR: 1, HANDLED: 0, WARNED: 3}

GOOD = "age,sex,label\n" + "".join(f"{40 + 7 * n % 31},{n % 2},{n // 3 % 2}\n" for n in range(40))
SCHEMA = """
label = "label"
classes = ["0", "1"]
patient-id = "mrn"
[columns.age]
range = [0, 120]
missing = [-9]
[columns.sex]
kind = "category"
categories = ["f", "m"]
"""
RAW = "mrn,age,sex,label\n" + "".join(
    f"P{n},{40 + 7 * n % 31},{'fm'[n % 2]},{n // 3 % 2}\n" for n in range(40)
)
RUN = "run --engine in-process --out out --sites 3 --set landmarks=8 --data"
CHECK, PREDICT = "check", "predict model.npz"
RAW_CHECK = "check ward.csv --schema schema.toml"


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def rows(*pairs: str) -> str:
    return "".join(f"{pair}\n" for pair in pairs)


def csv(*rows: str) -> bytes:
    return "\n".join([*rows, ""]).encode()


ROWS = 60
AGE = [40 + 7 * n % 31 for n in range(ROWS)]
LABEL = [n // 3 % 2 for n in range(ROWS)]
LEVELS = [round(1.5 + 0.37 * (n * n % 23) + 0.01 * n, 2) for n in range(ROWS)]


def ward(**more: Any) -> pd.DataFrame:
    """Return a sound table, with further or other columns."""
    return pd.DataFrame(
        {"age": AGE, "crp": LEVELS, "label": LABEL} | {key: list(own) for key, own in more.items()}
    )


def with_cells(*cells: Any) -> list[Any]:
    """Return the column crp with its first cells exchanged."""
    return [*cells, *LEVELS[len(cells) :]]


def as_csv(frame: pd.DataFrame, **options: Any) -> str:
    return frame.to_csv(index=False, **options)


def parquet(**more: Any) -> Callable[[Path], None]:
    return lambda folder: ward(**more).to_parquet(folder / "ward.parquet")


def excel(*sheets: tuple[str, pd.DataFrame]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
        with pd.ExcelWriter(folder / "ward.xlsx") as writer:
            for name, frame in sheets:
                frame.to_excel(writer, sheet_name=name, index=False)

    return write


def merged(where: str) -> Callable[[Path], None]:
    """Return what writes a sheet with a title above the table, some merged cells, and a style in its last row."""

    def write(folder: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
        book = openpyxl.Workbook()
        sheet = book.active
        for row in [["Ward 7"], [*ward()], *ward().to_numpy().tolist()]:
            sheet.append(row)
        sheet.merge_cells(where)
        sheet.cell(2**20, 2**14).font = openpyxl.styles.Font(bold=True)
        book.save(folder / "ward.xlsx")

    return write


def arrow(note: str = "", **more: pyarrow.Array) -> Callable[[Path], None]:
    """Return what writes Parquet by itself, with further columns, and a note for pandas."""

    def write(folder: Path) -> None:
        table = pyarrow.Table.from_pandas(ward())
        for name, column in more.items():
            table = table.append_column(name, column)
        if note:
            table = table.replace_schema_metadata({"pandas": note})
        pyarrow.parquet.write_table(table, folder / "ward.parquet")

    return write


def database(folder: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra 'sql' is not installed")
    with sqlite3.connect(folder / "ward.db") as connection:
        ward(note=[b"\x00\xff"] * ROWS).to_sql("ward", connection, index=False)
    connection.close()
    (folder / "ward.sql").write_text(f"-- url: sqlite:///{folder}/ward.db\nSELECT * FROM ward")


THOUSANDS = [f"{n}.{n:03d}" if n % 2 else str(n) for n in range(101, 101 + ROWS)]
LAB_SCHEMA = "label = 'label'\n[columns.age]\n[columns.crp]\n"
WIDE = ",".join(f"g{n}" for n in range(5000))
Content = pd.DataFrame | str | bytes | dict[str, str | bytes] | Callable[[Path], None]

# What is written into ward.csv, or into the file that the key names, or by a function of the folder; what is typed; the
# outcome; what is said.
INPUTS: dict[str, tuple[Content, str, str, str]] = {
    # The file.
    "no such file": ({}, f"{CHECK} nowhere.csv", ERROR, "no file 'nowhere.csv'"),
    "no such file to train on": ({}, f"{RUN} nowhere.csv", ERROR, "no file 'nowhere.csv'"),
    "a folder": ({"ward.csv/inside": "x"}, f"{CHECK} ward.csv", ERROR, "IsADirectoryError"),
    "empty": ("", f"{CHECK} ward.csv", ERROR, "is empty"),
    "names and no rows": ("age,label\n", f"{CHECK} ward.csv", ERROR, "has no rows"),
    "old Excel": ({"ward.xls": b"\xd0\xcf\x11\xe0"}, f"{CHECK} ward.xls", ERROR, r"a spreadsheet; save it as \.xlsx"),
    "old Excel to train on": ({"ward.xls": b"\xd0"}, f"{RUN} ward.xls", ERROR, "'ward.xls' is of an unknown kind"),
    "LibreOffice": ({"ward.ods": b"PK"}, f"{CHECK} ward.ods", ERROR, "a spreadsheet"),
    "SPSS": ({"ward.sav": b"$FL2"}, f"{CHECK} ward.sav", ERROR, "of a statistics program; export CSV"),
    "PDF": ({"ward.pdf": b"%PDF"}, f"{CHECK} ward.pdf", ERROR, "no table; export CSV"),
    "text with an ending of its own": ({"ward.txt": GOOD}, f"{CHECK} ward.txt", ERROR, "give it the ending .csv"),
    "no ending": ({"ward": GOOD}, f"{CHECK} ward", ERROR, "'ward' is of an unknown kind"),
    "a database without a query": ({"ward.db": b"SQLite"}, f"{CHECK} ward.db", ERROR, "write its URL and query"),
    "Excel named CSV": (b"PK\x03\x04\xff\xfe", f"{CHECK} ward.csv", ERROR, "ZIP archive, such as an Excel workbook"),
    "Parquet named CSV": (b"PAR1\xff\xfe", f"{CHECK} ward.csv", ERROR, "Parquet with another ending"),
    "compressed, named CSV": (gzip.compress(b"age,label\n"), f"{CHECK} ward.csv", ERROR, "the ending .gz"),
    "UTF-16": (GOOD.encode("utf-16"), f"{CHECK} ward.csv", HANDLED, "fits"),
    "Latin 1": ("größe,label\n1,2\n".encode("latin-1"), f"{CHECK} ward.csv", ERROR, "encoding=cp1252"),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + GOOD.encode(), f"{CHECK} ward.csv", HANDLED, "fits"),
    "Windows line ends": (GOOD.replace("\n", "\r\n"), f"{CHECK} ward.csv", HANDLED, "fits"),
    "an ending in capitals": ({"WARD.CSV": GOOD}, f"{CHECK} WARD.CSV", HANDLED, "fits"),
    "cut off while copied": ({"a.csv.gz": gzip.compress(GOOD.encode())[:-9]}, f"{CHECK} a.csv.gz", ERROR, "copied"),
    "not gzip": ({"a.csv.gz": GOOD}, f"{CHECK} a.csv.gz", ERROR, "BadGzipFile"),
    "not Parquet": ({"a.parquet": GOOD}, f"{CHECK} a.parquet", ERROR, "cannot be read as Parquet"),
    "not Excel": ({"a.xlsx": GOOD}, f"{CHECK} a.xlsx", ERROR, "cannot be read as an Excel|openpyxl is needed"),
    "not LIBSVM": ({"a.svm": GOOD}, f"{CHECK} a.svm", ERROR, "not proper LIBSVM text"),
    "a query without a database": ({"a.sql": "SELECT 1"}, f"{CHECK} a.sql", ERROR, "which database to ask"),
    "a URL that is none": ({"a.sql": "-- url: ward\nSELECT 1"}, f"{CHECK} a.sql", ERROR, "ArgumentError"),
    "SQLite that is not there": ({"a.sql": "-- url: sqlite:///x.db\nSELECT 1"}, f"{CHECK} a.sql", ERROR, "no SQLite"),
    "a database without a driver": (
        {"a.sql": "-- url: oracle+oracledb://u:pass4711@h/w\nSELECT 1"}, f"{CHECK} a.sql", ERROR, "driver oracledb",
    ),
    "a query that is wrong": ({"a.sql": "-- url: sqlite://\nSELEKT 1"}, f"{CHECK} a.sql", ERROR, "OperationalError"),
    "a query that is no question": ({"a.sql": "-- url: sqlite://\nDROP TABLE a"}, f"{CHECK} a.sql", ERROR, "SELECT"),
    "a query with a colon and a percent sign": (
        {"a.sql": "-- url: sqlite://\nSELECT 5 AS age, ' :x %' = '%(x)s' AS b, 1 AS label UNION SELECT 6, 0, 0"},
        f"{CHECK} a.sql", WARNED, "'b' is constant",
    ),
    # How it is written.
    "semicolons": (GOOD.replace(",", ";"), f"{CHECK} ward.csv", ERROR, "--separator"),
    "semicolons, said so": (GOOD.replace(",", ";"), f"{CHECK} ward.csv --separator semicolon", HANDLED, "fits"),
    "commas where semicolons were said": (GOOD, f"{CHECK} ward.csv --separator ';'", ERROR, "something else"),
    "a separator of two characters": (GOOD, f"{CHECK} ward.csv --separator '::'", ERROR, "single character"),
    "a decimal that is none": (GOOD, f"{CHECK} ward.csv --decimal ';'", ERROR, "a point or a comma"),
    "decimal commas": (changed(GOOD, "47,", '"47,5",'), f"{CHECK} ward.csv", ERROR, "'age', data row 2.*decimal=comma"),
    "decimal commas, said so": (
        changed(GOOD, "47,", '"47,5",'), f"{CHECK} ward.csv --decimal ,", HANDLED, "fits",
    ),
    "points among decimal commas": (
        changed(GOOD, "47,", "4.711,"), f"{CHECK} ward.csv --decimal ,", ERROR, "column 'age', data row 2",
    ),
    "a thousands separator": (changed(GOOD, "47,", '"4,711",'), f"{CHECK} ward.csv", ERROR, "data row 2"),
    "a row that is too long": (changed(GOOD, "47,", "47,9,"), f"{CHECK} ward.csv", ERROR, "Data row 2 has 4 fields"),
    "a row that is too short": (GOOD + "50,1\n", f"{CHECK} ward.csv", ERROR, "Data row 41 has 2 fields"),
    "a quote that is never closed": (changed(GOOD, "47,", '"47,'), f"{CHECK} ward.csv", ERROR, "double quote"),
    # Names of columns.
    "no row of names": ("47,0,1\n48,1,0\n", f"{CHECK} ward.csv", ERROR, "name of column 1 is empty or a number"),
    "a column without a name": (changed(GOOD, "sex", ""), f"{CHECK} ward.csv", ERROR, "name of column 2 is empty"),
    "two columns of one name": (changed(GOOD, "sex", "age"), f"{CHECK} ward.csv", ERROR, "more than one column 'age'"),
    "no label column": (changed(GOOD, "label", "outcome"), f"{CHECK} ward.csv", ERROR, "names are .*'outcome'"),
    "a misspelt label column": (GOOD, f"{CHECK} ward.csv --label LABLE", ERROR, "names are 'label'"),
    "no feature": ("label\n0\n1\n", f"{CHECK} ward.csv", ERROR, "no feature columns"),
    "a column to drop that is not there": (GOOD, f"{CHECK} ward.csv --drop Sex", ERROR, "no column 'Sex' to drop"),
    # Cells.
    "text": (changed(GOOD, "47,", "fourty,"), f"{CHECK} ward.csv", ERROR, "column 'age', data row 2"),
    "text to train on": (changed(GOOD, "47,", "fourty,"), f"{RUN} ward.csv", ERROR, "column 'age', data row 2"),
    "below the limit of detection": (changed(GOOD, "47,", "<5,"), f"{CHECK} ward.csv", ERROR, "data row 2"),
    "a date": (changed(GOOD, "47,", "2014-03-11,"), f"{CHECK} ward.csv", ERROR, "text or a date"),
    "digits with underscores": (changed(GOOD, "47,", "4_7,"), f"{CHECK} ward.csv", ERROR, "data row 2"),
    "infinity": (changed(GOOD, "47,", "inf,"), f"{CHECK} ward.csv", ERROR, "infinite number"),
    "a number beyond all": (changed(GOOD, "47,", "1e400,"), f"{CHECK} ward.csv", ERROR, "infinite number"),
    "a huge number": (changed(GOOD, "47,", "4.7e30,"), f"{RUN} ward.csv", ERROR, "'ward.csv'.*column 'age'.*too large"),
    "question marks": (changed(GOOD, "47,", "?,"), f"{CHECK} ward.csv", HANDLED, "fits"),
    "NA in all ways": (
        changed(changed(GOOD, "47,", "NA,"), "54,", "nan,"), f"{CHECK} ward.csv", HANDLED, "fits",
    ),
    "numbers in quotes": (changed(GOOD, "47,", '" 47 ",'), f"{CHECK} ward.csv", HANDLED, "fits"),
    # What is in it.
    "a code for missing": (
        "chol,b,label\n" + "".join(f"{0 if n < 4 else 200 + n},{n % 3},{n % 2}\n" for n in range(40)),
        f"{CHECK} ward.csv", WARNED, "'chol' holds 0 in 4 rows",
    ),
    "a constant column": (re.sub(r",[01],", ",1,", GOOD), f"{CHECK} ward.csv", WARNED, "'sex' is constant"),
    "an empty column": (re.sub(r",[01],", ",,", GOOD), f"{CHECK} ward.csv", WARNED, "'sex' is empty"),
    "a running number": (
        "no,age,label\n" + "".join(f"{n},{40 + 7 * n % 31},{n // 3 % 2}\n" for n in range(40)),
        f"{CHECK} ward.csv", WARNED, "'no' looks like one that says who",
    ),
    "the label once more": (
        "age,copy,label\n" + "".join(f"{40 + 7 * n % 31},{n // 3 % 2},{n // 3 % 2}\n" for n in range(40)),
        f"{CHECK} ward.csv", WARNED, "told from column 'copy' alone",
    ),
    "rows twice": (GOOD + "".join(GOOD.splitlines(True)[1:5]), f"{CHECK} ward.csv", WARNED, "rows are the same as"),
    "a column that is nearly empty": (
        ward(seen=[1.5, 2.5, *[None] * (ROWS - 2)]), "check ward.csv", WARNED, "'seen' is empty in nearly all",
    ),
    "a running number from somewhere": (
        ward(case=[7_000_000 + 37 * n for n in range(ROWS)]), "check ward.csv", WARNED, "'case' looks like one that",
    ),
    "numbers called an id": (
        ward(patientID=[n * n % 977 for n in range(ROWS)]), "check ward.csv", WARNED, "'patientID' looks like one that",
    ),
    "texts that say who": (ward(who=[f"P{n:04d}x" for n in range(ROWS)]), "check ward.csv", ERROR, "'who' looks like"),
    "dates as texts": (
        ward(seen=[f"2014-03-{n % 28 + 1:02d}" for n in range(ROWS)]), "check ward.csv", ERROR, "'seen' looks like one",
    ),
    "another code for missing": (
        ward(lab=[-999.0, -999.0, *np.linspace(1, 9, ROWS - 2)]), "check ward.csv", WARNED, "'lab' holds -999 in 2",
    ),
    "the label as a number": (
        ward(death=[3.5 * one + 1 for one in LABEL]), "check ward.csv", WARNED, "can be told from column 'death' alone",
    ),
    "the label in words": (
        ward(outcome=[("discharged", "died")[one] for one in LABEL]),
        "check ward.csv", ERROR, "label can be told from column 'outcome'",
    ),
    "doubts for a program": (ward(a=[1] * ROWS), "check ward.csv --json", WARNED, r'"level": "warning"'),
    # Labels.
    "a label that is missing": (changed(GOOD, "47,1,0", "47,1,"), f"{CHECK} ward.csv", ERROR, "without a label"),
    "labels that are measurements": (
        "age,label\n" + rows(*(f"{n},{n + 0.5}" for n in range(40))), f"{CHECK} ward.csv", ERROR, "not hold classes",
    ),
    "labels that are names": (
        "age,label\n" + rows(*(f"{n},Patient {n}" for n in range(40))), f"{RUN} ward.csv", ERROR, "not hold classes",
    ),
    "two spellings of a label": (
        "age,label\n" + rows(*(f"{n % 17},{('yes', 'Yes', 'no')[n % 3]}" for n in range(40))),
        f"{CHECK} ward.csv", ERROR, "differ only",
    ),
    "a rare misspelt label": (
        "age,label\n" + rows("3,malingnant", *(f"{n % 17},{('malignant', 'benign')[n % 2]}" for n in range(40))),
        f"{CHECK} ward.csv", WARNED, "a typing error. The first is in data row 1",
    ),
    "one class": (re.sub(r",[01]\n", ",1\n", GOOD), f"{CHECK} ward.csv", WARNED, "one class only"),
    "one class everywhere": (re.sub(r",[01]\n", ",1\n", GOOD), f"{RUN} ward.csv", ERROR, "a classifier needs two"),
    "positive labels that nobody has": (GOOD, f"{RUN} ward.csv --positive 7", ERROR, "has the label '7'"),
    # The schema file.
    "no schema file": (RAW, "check ward.csv --schema none.toml", ERROR, "'none.toml' cannot be read"),
    "a table as schema file": (RAW, "check ward.csv --schema ward.csv", ERROR, "'ward.csv' is no schema file"),
    "a schema with an unknown key": (
        {"ward.csv": RAW, "s.toml": "lables = 'a'\n" + SCHEMA}, "check ward.csv --schema s.toml", ERROR, "mean 'label'",
    ),
    "all as the schema says": (RAW, RAW_CHECK, HANDLED, "fits"),
    "a column that the schema has": (changed(RAW, ",age,", ",Age,"), RAW_CHECK, ERROR, "no column 'age'.*are 'Age'"),
    "a category that it has not": (changed(RAW, ",m,", ",x,"), RAW_CHECK, ERROR, "'sex' that are none of the schema's"),
    "a category in capitals": (changed(RAW, ",m,", ",M ,"), RAW_CHECK, HANDLED, "fits"),
    "its code for missing": (changed(RAW, ",47,", ",-9.0,"), RAW_CHECK, HANDLED, "fits"),
    "another unit": (re.sub(r",(\d\d),", r",\g<1>0,", RAW), RAW_CHECK, ERROR, "Are they in another unit"),
    "one number out of range": (changed(RAW, ",47,", ",470,"), RAW_CHECK, WARNED, "0 to 120: 1 of 40"),
    "a label that it has not": (changed(RAW, ",47,m,0", ",47,m,2"), RAW_CHECK, WARNED, "none of the schema's classes"),
    "a label that it has not, to train on": (
        changed(RAW, ",47,m,0", ",47,m,2"), f"{RUN} ward.csv --schema schema.toml", ERROR, "no classes of the schema",
    ),
    "categories without a schema": (RAW, f"{RUN} ward.csv --drop mrn", ERROR, "pansvm check"),
    "a schema that is to replace a file": (GOOD, "schema ward.csv --out ward.csv", ERROR, "a file ward.csv already"),
    "a schema that is new": (GOOD, "schema ward.csv --out new.toml", HANDLED, "check ward.csv --schema new.toml"),
    "a schema into no folder": (GOOD, "schema ward.csv --out no/where.toml", ERROR, "cannot be written"),
    # Predictions.
    "a raw table": (RAW, f"{PREDICT} ward.csv --id mrn", HANDLED, "^mrn,prediction,decision\nP0,"),
    "columns that are not needed": (
        RAW.replace("mrn,", "junk,").replace("P", "4.7 mg, or 'so'".replace(",", ";")), f"{PREDICT} ward.csv", HANDLED,
        "does not need column 'junk'",
    ),
    "no labels": (re.sub(r",\w+\n", "\n", RAW), f"{PREDICT} ward.csv", HANDLED, "prediction,decision"),
    "labels of another question": (re.sub(r",[01]\n", ",ill\n", RAW), f"{PREDICT} ward.csv", WARNED, "no class of"),
    "labels of another question, dropped": (
        re.sub(r",[01]\n", ",ill\n", RAW), f"{PREDICT} ward.csv --drop label", HANDLED, "prediction",
    ),
    "labels spelt otherwise": (
        re.sub(r",([01])\n", lambda one: (",no\n", ",YES\n")[int(one[1])], RAW), f"{PREDICT} ward.csv", HANDLED,
        "accuracy",
    ),
    "no column of ids": (RAW, f"{PREDICT} ward.csv --id MRN", ERROR, "no column 'MRN'.*are 'mrn'"),
    "a column that the model needs": (RAW.replace("sex", "gender"), f"{PREDICT} ward.csv", ERROR, "no column 'sex'"),
    "text in a column that it needs": (changed(RAW, ",47,", ",old,"), f"{PREDICT} ward.csv", WARNED, "data row 2"),
    "a category that it does not know": (changed(RAW, ",m,", ",x,"), f"{PREDICT} ward.csv", WARNED, "Column 'sex'"),
    "predictions as Excel": (RAW, f"{PREDICT} ward.csv --out p.xlsx", HANDLED, "accuracy|openpyxl is needed"),
    "predictions as Parquet": (RAW, f"{PREDICT} ward.csv --out p.parquet", ERROR, "ends in .csv or .xlsx"),
    "predictions as packed CSV": (RAW, f"{PREDICT} ward.csv --out p.csv.gz", HANDLED, "accuracy"),
    "ids called prediction": (
        changed(RAW, "mrn", "prediction"), f"{PREDICT} ward.csv --id prediction", HANDLED,
        "^prediction,prediction,decision\nP0,",
    ),
    "ids called decision": (
        changed(RAW, "mrn", "decision"), f"{PREDICT} ward.csv --id decision", HANDLED,
        "^decision,prediction,decision\nP0,",
    ),
    "ids called in another form": (
        changed(RAW, "mrn", "Fall\u00a0\u00fc"), f"{PREDICT} ward.csv --id 'Fall u\u0308'", HANDLED,
        "Fall \u00fc,prediction",
    ),
    "thousands of new patients": (
        changed(changed(RAW, ",47,", ",1.047,"), ",54,", ",1.054,"), f"{PREDICT} ward.csv", HANDLED,
        "Of column 'age' nobody knows",
    ),
    "rows without a cell among new patients": (
        changed(RAW, "P3,", ",,,\nP3,"), f"{PREDICT} ward.csv", HANDLED, "1 rows without any cell have no prediction",
    ),
    "a table as model": (RAW, "predict ward.csv ward.csv", ERROR, "ward.csv cannot be read as a model"),
    "no model": (RAW, "predict none.npz ward.csv", ERROR, "no model file"),
    # Text among numbers.
    "one cell below the limit": (
        ward(crp=with_cells("<5")), "check ward.csv", ERROR, r"1 of 60 cells.*below-limit = .half",
    ),
    "a word of its own, once": (
        ward(crp=with_cells("4711x")),
        "check ward.csv", ERROR, "1 are something else, the first in data row 1|numbers with a unit",
    ),
    "a word that is known": (
        ward(crp=with_cells("unknown", "n.d.")), "check ward.csv", ERROR, r'missing = \["n.d.", "unknown"\]',
    ),
    "words and limits": (
        ward(crp=with_cells("<5", "unknown", "4711y")),
        "check ward.csv", ERROR, "below-limit.*missing =.*something else, the first in data row 3",
    ),
    "percentages": (
        ward(crp=[f"{n}%" for n in range(ROWS)]), "check ward.csv --drop age", ERROR, "with a percent sign",
    ),
    "units in cells": (
        ward(crp=[f"{n % 9} mg/l" for n in range(ROWS)]), "check ward.csv", ERROR, "numbers with a unit",
    ),
    "thousands unsaid, in quotes": (
        ward(crp=[f"{n % 9 + 1},000" for n in range(ROWS)]), "check ward.csv", ERROR, "thousands=comma",
    ),
    "points of thousands among whole numbers": (
        ward(crp=THOUSANDS), "check ward.csv", WARNED, "may be thousands or decimals.*thousands=none",
    ),
    "decimal commas, schema": (
        as_csv(ward(), sep=";", decimal=","),
        "schema ward.csv --separator semicolon", ERROR, "--decimal comma.*column 'crp'",
    ),
    "commas of thousands among whole numbers": (
        as_csv(ward(crp=[one.replace(".", ",") for one in THOUSANDS]), sep=";"),
        "check ward.csv --separator ; --decimal ,", WARNED, "may be thousands or decimals",
    ),
    "points that are no thousands, said so": (
        ward(crp=[f"{n % 9 + 1}.{n % 7}00" for n in range(ROWS)]), "check ward.csv --thousands none", HANDLED, "fits",
    ),
    "three decimals of a laboratory": (
        ward(crp=[f"{0.217 * n:.3f}" for n in range(ROWS)]), "check ward.csv", HANDLED, "fits",
    ),
    "thousands and decimals alike": (ward(), "check ward.csv --thousands .", ERROR, "the same character"),
    "codes with zeros among numbers": (
        ward(ward=[("01", "1", "12")[n % 3] for n in range(ROWS)]),
        "check ward.csv", WARNED, "'ward' is written as codes are",
    ),
    "codes with decimals among numbers": (
        ward(icd=[("250.0", "250.00", "401.9")[n % 3] for n in range(ROWS)]),
        "check ward.csv", WARNED, "'icd' is written as codes are",
    ),
    "dates typed": (
        parquet(seen=pd.date_range("2024-01-01", periods=ROWS)), "check ward.parquet", ERROR, "'seen' looks like",
    ),
    "times": (
        parquet(stay=[pd.Timedelta(hours=n) for n in range(ROWS)]), "check ward.parquet", ERROR, "text or a date",
    ),
    "decimals of a database": (
        parquet(crp=[Decimal(str(one)) for one in LEVELS]), "check ward.parquet", HANDLED, "fits",
    ),
    "truth values": (ward(smoker=[n % 5 < 2 for n in range(ROWS)]), "check ward.csv", HANDLED, "fits"),
    "truth values and words": (
        ward(smoker=[("TRUE", "no")[n % 2] for n in range(ROWS)]),
        "check ward.csv", ERROR, "'smoker' holds text.*yes/no",
    ),
    "a minus that is none": (ward(crp=with_cells("\u22125")), "check ward.csv", ERROR, "data row 1"),
    "an error of Excel": (ward(crp=with_cells("#DIV/0!")), "check ward.csv", ERROR, r'missing = \["#div/0!"\]'),
    # Cells that are no single thing.
    "lists in Parquet": (parquet(genes=[[1, 2], [3]] * 30), "check ward.parquet", ERROR, "column 'genes'"),
    "lists in Parquet, run": (parquet(genes=[[1, 2], [3]] * 30), f"{RUN} ward.parquet", ERROR, "column 'genes'"),
    "lists in Parquet, dropped": (
        parquet(genes=[[1, 2], [3]] * 30), "check ward.parquet --drop genes", HANDLED, "fits",
    ),
    "lists in Parquet, schema": (
        parquet(genes=[[n, 2] for n in range(ROWS)]), "schema ward.parquet", HANDLED, '"genes",  # ',
    ),
    "structs in Parquet": (
        parquet(visit=[{"ward": n % 3} for n in range(ROWS)]), "check ward.parquet", ERROR, "column 'visit'",
    ),
    "labels that are lists": (parquet(label=[[0], [1]] * 30), "check ward.parquet", ERROR, "does not hold classes"),
    "bytes of a database": (database, "check ward.sql", ERROR, "column 'note'"),
    # Names of columns.
    "a comma in a name": (
        ward().rename(columns={"crp": "crp, mg/l"}).assign(x="text"),
        "check ward.csv --drop x --drop '\"crp, mg/l\"'", HANDLED, "fits",
    ),
    "a comma in a name, not quoted": (
        ward().rename(columns={"crp": "crp, mg/l"}), "check ward.csv --drop 'crp, mg/l'", ERROR, "double quotes",
    ),
    "a quote that is not closed": (ward(), "check ward.csv --drop '\"crp'", ERROR, "is not written right"),
    "several columns by commas": (ward(x="t" * ROWS, y="u" * ROWS), "check ward.csv --drop x,y", HANDLED, "fits"),
    "a column dropped from a run": (ward(x=["text"] * ROWS), f"{RUN} ward.csv --drop x", HANDLED, "accuracy"),
    "a label with a comma": (
        ward(label=[("Diabetes, type 2", "none of it")[n // 3 % 2] for n in range(ROWS)]),
        f"{RUN} ward.csv --positive '\"Diabetes, type 2\"'", HANDLED, "accuracy",
    ),
    "two labels, one with a comma": (
        ward(label=[("Diabetes, type 2", "T1", "no")[n // 3 % 3] for n in range(ROWS)]),
        f"{RUN} ward.csv --positive T1 --positive '\"Diabetes, type 2\"'", HANDLED, "accuracy",
    ),
    "a name that is too long": (
        ward().rename(columns={"crp": "x" * 501}), "check ward.csv", ERROR, "longer than 500 characters",
    ),
    "a name that nobody sees": (ward().rename(columns={"crp": "cr\u200bp"}), "check ward.csv", ERROR, r"U\+200B"),
    "the same name composed and not": (
        ward().rename(columns={"crp": "\u00fc", "age": "u\u0308"}), "check ward.csv", ERROR, "same name",
    ),
    "a label column in another form": (
        ward().rename(columns={"label": "Ausga\u0308nge"}), "check ward.csv --label Ausgänge", HANDLED, "fits",
    ),
    "a name like a control": (ward().rename(columns={"crp": "a\x1b[2Jb"}), f"{RUN} ward.csv", ERROR, r"U\+001B"),
    # How a file is written.
    "semicolons and a comma in a name": (
        as_csv(ward().rename(columns={"crp": "crp, mg"}), sep=";"), "check ward.csv", ERROR, "--separator semicolon",
    ),
    "bars": (as_csv(ward(), sep="|"), "check ward.csv", ERROR, "most likely by"),
    "the wrong encoding": (
        "age,label\nä,1\n".encode(), "check ward.csv --encoding ascii", ERROR, "not text in ascii",
    ),
    "UTF-16 without a mark": (as_csv(ward()).encode("utf-16-le"), "check ward.csv", ERROR, "utf-16-le"),
    "UTF-16 without a mark, said so": (
        as_csv(ward()).encode("utf-16-le"), "check ward.csv --encoding utf-16-le", HANDLED, "fits",
    ),
    "all rows skipped": (ward(), "check ward.csv --skip-rows 99", ERROR, "no row of column names"),
    "a title": ("Ward 7\n" + as_csv(ward()), "check ward.csv", ERROR, "skip-rows|more or fewer fields"),
    "a footer": (as_csv(ward()) + "Total 60\n", "check ward.csv", ERROR, "skip-footer"),
    "a footer as wide as the table": (as_csv(ward()) + "Total,60,\n", "check ward.csv", ERROR, "skip-footer=1"),
    "two sheets": (excel(("Patients", ward()), ("Notes", ward())), "check ward.xlsx", ERROR, "'Patients', 'Notes'"),
    "two sheets, one named": (
        excel(("Patients", ward()), ("Notes", ward())), "check ward.xlsx --sheet Patients", HANDLED, "fits",
    ),
    "a sheet that is not there": (
        excel(("Patients", ward()), ("Notes", ward())), "check ward.xlsx --sheet patients", ERROR, "0 sheets",
    ),
    "merged cells in the table": (merged("A3:A5"), "check ward.xlsx --skip-rows 1", ERROR, "merged cells.*A3:A5"),
    "a merged title, and a style in the last row": (
        merged("A1:C1"), "check ward.xlsx --skip-rows 1", HANDLED, "fits",
    ),
    "a note for pandas that is none": (arrow("{"), "check ward.parquet", ERROR, "JSONDecodeError.*note for pandas"),
    "a note for pandas about other columns": (
        arrow('{"index_columns": ["x"], "columns": [], "column_indexes": []}'), "check ward.parquet", ERROR, "KeyError",
    ),
    "a day that no calendar has": (
        arrow(seen=pyarrow.array([2**30] * ROWS, pyarrow.date32())), "check ward.parquet", ERROR, "of a kind",
    ),
    "texts that are no UTF-8": (
        arrow(who=pyarrow.array([b"\xff4711"] * ROWS).cast("string", safe=False)),
        "check ward.parquet", ERROR, "a text is not UTF-8",
    ),
    "one wrong index of LIBSVM": (
        {"ward.svm": "1 1:2\n-1 999999999:4\n"}, "check ward.svm", ERROR, "2 rows and 999999999 columns are .*GB",
    ),
    "five thousand columns": (
        f"{WIDE},label\n" + "".join(f"{','.join(['7'] * 5000)},{n % 2}\n" for n in range(9)),
        "check ward.csv", WARNED, "5000 columns, 'g0', .*4995 more: each is constant",
    ),
    # Labels.
    "labels 1 and 01": (
        ward(label=[("1", "01", "0")[n % 3] for n in range(ROWS)]), "check ward.csv", ERROR, "differ only",
    ),
    "labels none and mild": (
        ward(label=[("none", "mild")[n // 3 % 2] for n in range(ROWS)]),
        "check ward.csv", WARNED, "called as missing cells",
    ),
    "labels NA that are a class": (
        {
            "ward.csv": as_csv(ward(label=[("NA", "EU")[n // 3 % 2] for n in range(ROWS)])),
            "s.toml": "classes = ['NA', 'EU']\n" + LAB_SCHEMA,
        },
        "check ward.csv --schema s.toml", HANDLED, "fits",
    ),
    # What a run says.
    "a running number of a sorted table": (
        ward(label=sorted(LABEL)).reset_index().rename(columns={"index": "Unnamed: 0"}),
        f"{RUN} ward.csv", HANDLED, "Warning: ward.csv: Column 'Unnamed: 0' looks like",
    ),
    "many doubts": (
        ward(a=[1] * ROWS, b=[None] * ROWS, c=range(ROWS), d=LABEL),
        f"{RUN} ward.csv", HANDLED, "(Warning: [^\n]*\n){2}Warning: ward.csv: [0-9]+ more warnings; 'pansvm check'",
    ),
    # The schema file.
    "codes of a schema that are one number": (
        {
            "ward.csv": as_csv(ward(x=[("01", "1")[n % 2] for n in range(ROWS)])),
            "s.toml": "[columns.age]\n[columns.x]\nkind = 'category'\ncategories = ['01', '1']\n",
        },
        "check ward.csv --schema s.toml", HANDLED, "fits",
    ),
    "a column called sep=": (
        csv("sep=x,label", *(f"{n % 9},{n // 3 % 2}" for n in range(ROWS))), "check ward.csv", HANDLED, "fits",
    ),
    "days as whole numbers": (
        ward(seen=[20240300 + n % 28 + 1 for n in range(ROWS)]), "check ward.csv", WARNED, "'seen' looks like",
    ),
    "missing codes of SAS": (ward(crp=with_cells(".A", ".B")), "check ward.csv", ERROR, "2 are something else"),
    "missing by the command line": (
        ward(crp=with_cells("lost", "gone")), "check ward.csv --missing lost,gone", HANDLED, "fits",
    ),
    "missing by the schema file": (
        {
            "ward.csv": as_csv(ward(crp=with_cells("lost"))),
            "s.toml": LAB_SCHEMA + "[reading]\nmissing = ['lost', 'k. A.']\n",
        },
        "check ward.csv --schema s.toml", HANDLED, "fits",
    ),
}  # fmt: skip


@pytest.fixture
def _folder(tmp_path: Path) -> None:
    """Write a schema file, and a model that remembers it."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    table = TableSchema.read(tmp_path / "schema.toml")
    model = PanSVC.from_parts(
        Schema(table.features, ("0", "1"), table=table.text),
        Scaling(np.array([50.0, 0.5, 0.5]), np.array([50.0, 0, 0]), np.array([10.0, 1, 1])),
        fit_map(Kernel("linear"), np.eye(3)),
        np.array([[1.0, 0.5, -0.5, 0.0]]),
    )
    model.save(tmp_path / "model.npz")


def write(content: Content, folder: Path) -> None:
    if callable(content):
        content(folder)
        return
    if isinstance(content, pd.DataFrame):
        content = as_csv(content)
    for file, text in (content if isinstance(content, dict) else {"ward.csv": content}).items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("name", INPUTS)
def test_bad_input(name: str, pansvm: Run, tmp_path: Path) -> None:
    content, command, outcome, told = INPUTS[name]
    write(content, tmp_path)
    code, out, err = pansvm(*shlex.split(command))
    said = out + err
    assert code == CODES[outcome], said
    assert re.search(told, said, re.DOTALL), said
    assert "Traceback" not in said
    assert "4711" not in said
    if outcome == ERROR:
        assert "Error: " in said
        assert not (tmp_path / "out" / "model.npz").exists()

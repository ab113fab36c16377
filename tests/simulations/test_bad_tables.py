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
from tests.command_line import Run

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
PREDICT = "predict model.npz ward.csv"
RAW_CHECK = "check ward.csv --schema schema.toml"


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def csv(*rows: str) -> bytes:
    return "\n".join([*rows, ""]).encode()


ROWS = 60
AGE = [40 + 7 * n % 31 for n in range(ROWS)]
LABEL = [n // 3 % 2 for n in range(ROWS)]
LEVELS = [round(1.5 + 0.37 * (n * n % 23) + 0.01 * n, 2) for n in range(ROWS)]


def ward(**more: Any) -> pd.DataFrame:
    """Return a sound table, with further or other columns; the cells of a column that is too short come again."""
    columns = {"age": AGE, "crp": LEVELS, "label": LABEL} | more
    return pd.DataFrame({key: [own[n % len(own)] for n in range(ROWS)] for key, own in columns.items()})


def with_cells(*cells: Any) -> list[Any]:
    """Return the column crp with its first cells exchanged."""
    return [*cells, *LEVELS[len(cells) :]]


def as_csv(frame: pd.DataFrame, **options: Any) -> str:
    return frame.to_csv(index=False, **options)


def parquet(**more: Any) -> dict[str, bytes]:
    return {"ward.parquet": ward(**more).to_parquet()}


def arrow(note: str = "", **more: pyarrow.Array) -> dict[str, bytes]:
    """Return Parquet that pandas has not written, with further columns, and a note for pandas."""
    table = pyarrow.Table.from_pandas(ward())
    for name, column in more.items():
        table = table.append_column(name, column)
    if note:
        table = table.replace_schema_metadata({"pandas": note})
    written = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, written)
    return {"ward.parquet": written.getvalue().to_pybytes()}


def excel(*titles: str, merged: str = "") -> Callable[[Path], str]:
    """Return what writes sheets; where cells are merged, there is a line above the table and a style far below, too."""

    def write(folder: Path) -> str:
        openpyxl = pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title in titles:
            sheet = book.create_sheet(title)
            for row in [*[["Ward 7"]] * bool(merged), [*ward()], *ward().to_numpy().tolist()]:
                sheet.append(row)
            if merged:
                sheet.merge_cells(merged)
                sheet.cell(2**20, 2**14).font = openpyxl.styles.Font(bold=True)
        book.save(folder / "ward.xlsx")
        return "ward.xlsx"

    return write


def database(folder: Path) -> str:
    pytest.importorskip("sqlalchemy", reason="the extra 'sql' is not installed")
    with sqlite3.connect(folder / "ward.db") as connection:
        ward(note=[b"\x00\xff"]).to_sql("ward", connection, index=False)
    connection.close()
    (folder / "ward.sql").write_text(f"-- url: sqlite:///{folder}/ward.db\nSELECT * FROM ward")
    return "ward.sql"


THOUSANDS = [f"{n}.{n:03d}" if n % 2 else str(n) for n in range(101, 101 + ROWS)]
LAB_SCHEMA = "label = 'label'\n[columns.age]\n[columns.crp]\n"
Content = pd.DataFrame | str | bytes | dict[str, str | bytes] | Callable[[Path], str]

# What is written into ward.csv, or into the file that the key names, or by a function of the folder; and what
# 'pansvm check' says of it.
REFUSED: dict[str, tuple[Content, str]] = {
    # The file.
    "empty": ("", "is empty"),
    "names and no rows": ("age,label\n", "has no rows"),
    "old Excel": ({"ward.xls": b"\xd0\xcf\x11\xe0"}, r"a spreadsheet; save it as \.xlsx"),
    "LibreOffice": ({"ward.ods": b"PK"}, "a spreadsheet"),
    "SPSS": ({"ward.sav": b"$FL2"}, "of a statistics program; export CSV"),
    "PDF": ({"ward.pdf": b"%PDF"}, "no table; export CSV"),
    "text with an ending of its own": ({"ward.txt": GOOD}, "give it the ending .csv"),
    "no ending": ({"ward": GOOD}, "'ward' is of an unknown kind"),
    "a database without a query": ({"ward.db": b"SQLite"}, "write its URL and query"),
    "Excel named CSV": (b"PK\x03\x04\xff\xfe", "ZIP archive, such as an Excel workbook"),
    "Parquet named CSV": (b"PAR1\xff\xfe", "Parquet with another ending"),
    "compressed, named CSV": (gzip.compress(b"age,label\n"), "the ending .gz"),
    "Latin 1": ("größe,label\n1,2\n".encode("latin-1"), "encoding=cp1252"),
    "cut off while copied": ({"a.csv.gz": gzip.compress(GOOD.encode())[:-9]}, "copied"),
    "not gzip": ({"a.csv.gz": GOOD}, "BadGzipFile"),
    "not Parquet": ({"a.parquet": GOOD}, "cannot be read as Parquet"),
    "not Excel": ({"a.xlsx": GOOD}, "cannot be read as an Excel|openpyxl is needed"),
    "not LIBSVM": ({"a.svm": GOOD}, "not proper LIBSVM text"),
    "a query without a database": ({"a.sql": "SELECT 1"}, "which database to ask"),
    "a URL that is none": ({"a.sql": "-- url: ward\nSELECT 1"}, "ArgumentError"),
    "SQLite that is not there": ({"a.sql": "-- url: sqlite:///x.db\nSELECT 1"}, "no SQLite"),
    "a database without a driver": ({"a.sql": "-- url: oracle+oracledb://u:pass4711@h/w\nSELECT 1"}, "driver oracledb"),
    "a query that is wrong": ({"a.sql": "-- url: sqlite://\nSELEKT 1"}, "OperationalError"),
    "a query that is no question": ({"a.sql": "-- url: sqlite://\nDROP TABLE a"}, "SELECT"),
    # How it is written.
    "semicolons": (GOOD.replace(",", ";"), "--separator"),
    "decimal commas": (changed(GOOD, "47,", '"47,5",'), "'age', data row 2.*decimal=comma"),
    "a row that is too long": (changed(GOOD, "47,", "47,9,"), "Data row 2 has 4 fields"),
    "a row that is too short": (GOOD + "50,1\n", "Data row 41 has 2 fields"),
    "a quote that is never closed": (changed(GOOD, "47,", '"47,'), "double quote"),
    # Names of columns.
    "no row of names": ("47,0,1\n48,1,0\n", "name of column 1 is empty or a number"),
    "a column without a name": (changed(GOOD, "sex", ""), "name of column 2 is empty"),
    "two columns of one name": (changed(GOOD, "sex", "age"), "more than one column 'age'"),
    "no label column": (changed(GOOD, "label", "outcome"), "names are .*'outcome'"),
    "no feature": ("label\n0\n1\n", "no feature columns"),
    # Cells.
    "infinity": (changed(GOOD, "47,", "inf,"), "infinite number"),
    # What is in it.
    "texts that say who": (ward(who=[f"P{n:04d}x" for n in range(ROWS)]), "'who' looks like"),
    "dates as texts": (ward(seen=[f"2014-03-{n % 28 + 1:02d}" for n in range(ROWS)]), "'seen' looks like one"),
    "the label in words": (ward(label=["a", "b"], out=["died", "no"]), "label can be told from column 'out'"),
    # Labels.
    "a label that is missing": (changed(GOOD, "47,1,0", "47,1,"), "without a label"),
    "labels that are measurements": (ward(label=LEVELS), "not hold classes"),
    "two spellings of a label": (ward(label=["yes", "Yes", "no"]), "differ only"),
    # Text among numbers.
    "one cell below the limit": (ward(crp=with_cells("<5")), r"1 of 60 cells.*below-limit = .half"),
    "a word of its own, once": (
        ward(crp=with_cells("4711x")), "1 are something else, the first in data row 1|numbers with a unit",
    ),
    "a word that is known": (ward(crp=with_cells("unknown", "n.d.")), r'missing = \["n.d.", "unknown"\]'),
    "words and limits": (ward(crp=with_cells("<5", "unknown", "4711y")), "below-limit.*missing =.*in data row 3"),
    "units in cells": (ward(crp=["7 mg/l", "9 mg/l"]), "numbers with a unit"),
    "thousands unsaid, in quotes": (ward(crp=["7,000", "9,000"]), "thousands=comma"),
    "dates typed": (parquet(seen=pd.date_range("2024-01-01", periods=ROWS)), "'seen' looks like"),
    "times": (parquet(stay=[pd.Timedelta(hours=n) for n in range(ROWS)]), "text or a date"),
    "truth values and words": (ward(smoker=["TRUE", "no"]), "'smoker' holds text.*yes/no"),
    "a minus that is none": (ward(crp=with_cells("\u22125")), "data row 1"),
    "an error of Excel": (ward(crp=with_cells("#DIV/0!")), r'missing = \["#div/0!"\]'),
    # Cells that are no single thing.
    "lists in Parquet": (parquet(genes=[[1, 2], [3]]), "column 'genes'"),
    "structs in Parquet": (parquet(visit=[{"ward": 1}]), "column 'visit'"),
    "labels that are lists": (parquet(label=[[0], [1]]), "does not hold classes"),
    "bytes of a database": (database, "column 'note'"),
    # Names of columns.
    "a name that is too long": (ward().rename(columns={"crp": "x" * 501}), "longer than 500 characters"),
    "a name that nobody sees": (ward().rename(columns={"crp": "cr\u200bp"}), r"U\+200B"),
    "the same name composed and not": (ward().rename(columns={"crp": "\u00fc", "age": "u\u0308"}), "same name"),
    # How a file is written.
    "semicolons and a comma in a name": (as_csv(ward(**{"c, mg": [1, 2]}), sep=";"), "--separator semicolon"),
    "bars": (as_csv(ward(), sep="|"), "most likely by"),
    "UTF-16 without a mark": (as_csv(ward()).encode("utf-16-le"), "utf-16-le"),
    "a title": ("Ward 7\n" + as_csv(ward()), "skip-rows|more or fewer fields"),
    "a footer": (as_csv(ward()) + "Total 60\n", "skip-footer"),
    "a footer as wide as the table": (as_csv(ward()) + "Total,60,\n", "skip-footer=1"),
    "a row of units": (as_csv(ward()).replace("\n", "\nyears,mg/l,\n", 1), "units"),
    "two sheets": (excel("Patients", "Notes"), "'Patients', 'Notes'"),
    "a note for pandas that is none": (arrow("{"), "JSONDecodeError.*note for pandas"),
    "a note for pandas about other columns": (
        arrow('{"index_columns": ["x"], "columns": [], "column_indexes": []}'), "KeyError",
    ),
    "a day that no calendar has": (arrow(seen=pyarrow.array([2**30] * ROWS, pyarrow.date32())), "of a kind"),
    "texts that are no UTF-8": (arrow(who=pyarrow.array([b"\xff4711"] * ROWS).cast("string", safe=False)), "not UTF-8"),
    "one wrong index of LIBSVM": ({"ward.svm": "1 1:2\n-1 999999999:4\n"}, "2 rows and 999999999 columns are .*GB"),
    # Labels.
    "labels 1 and 01": (ward(label=["1", "01", "0"]), "differ only"),
    # The schema file.
    "missing codes of SAS": (ward(crp=with_cells(".A", ".B")), "2 are something else"),
}  # fmt: skip

DOUBTFUL: dict[str, tuple[Content, str]] = {
    # The file.
    "a query with a colon and a percent sign": (
        {"a.sql": "-- url: sqlite://\nSELECT 5 AS age, ' :x %' = '%(x)s' AS b, 1 AS label UNION SELECT 6, 0, 0"},
        "'b' is constant",
    ),
    # What is in it.
    "a code for missing": (ward(chol=[*[0] * 4, *range(200, 256)]), "'chol' holds 0 in 4 rows"),
    "a constant column": (re.sub(r",[01],", ",1,", GOOD), "'sex' is constant"),
    "an empty column": (re.sub(r",[01],", ",,", GOOD), "'sex' is empty"),
    "a running number": (ward(no=range(ROWS)), "'no' looks like one that says who"),
    "rows twice": (GOOD + "".join(GOOD.splitlines(True)[1:5]), "rows are the same as"),
    "a column that is nearly empty": (ward(seen=[1.5, 2.5, *[None] * (ROWS - 2)]), "'seen' is empty in nearly all"),
    "a running number from somewhere": (ward(case=range(7_000_000, 7_009_999, 37)), "'case' looks like one that"),
    "numbers called an id": (ward(patientID=[n * n % 977 for n in range(ROWS)]), "'patientID' looks like one that"),
    "the label as a number": (ward(death=[3.5 * one + 1 for one in LABEL]), "can be told from column 'death' alone"),
    # Labels.
    "a rare misspelt label": (
        ward(label=["malingnant", *["benign", "malignant"] * 30]), "a typing error. The first is in data row 1",
    ),
    "one class": (re.sub(r",[01]\n", ",1\n", GOOD), "one class only"),
    # Text among numbers.
    "points before three digits that end in zeros": (ward(crp=["1.200", "2.500"]), "may be thousands or decimals"),
    "points of thousands among whole numbers": (ward(crp=THOUSANDS), "may be thousands or decimals.*thousands=none"),
    "codes with zeros among numbers": (ward(ward=["01", "1", "12"]), "'ward' is written as codes are"),
    "codes with decimals among numbers": (ward(icd=["250.0", "250.00", "401.9"]), "'icd' is written as codes are"),
    # How a file is written.
    "hundreds of columns": (ward(**{f"g{n}": "7" for n in range(500)}), "500 columns, 'g0', .*495 more: each is const"),
    # Labels.
    "labels none and mild": (ward(label=["none", "mild", "mild"]), "called as missing cells"),
    # The schema file.
    "days as whole numbers": (ward(seen=[20240300 + n % 28 + 1 for n in range(ROWS)]), "'seen' looks like"),
}  # fmt: skip

FITS: dict[str, Content] = {
    # The file.
    "an ending in capitals": {"WARD.CSV": GOOD},
    # Cells.
    "numbers in quotes": changed(GOOD, "47,", '" 47 ",'),
    # Text among numbers.
    "three decimals of a laboratory": ward(crp=[f"{0.217 * n:.3f}" for n in range(ROWS)]),
    "decimals of a database": parquet(crp=[Decimal(str(one)) for one in LEVELS]),
    "truth values": ward(smoker=[True, False, True, False, False]),
    # The schema file.
    "a column called sep=": ward(**{"sep=x": LEVELS})[["sep=x", "label"]],
}  # fmt: skip

# What is written, what is typed, the outcome, what is said.
TYPED: dict[str, tuple[Content, str, str, str]] = {
    # The file.
    "no such file": ({}, "check nowhere.csv", ERROR, "no file 'nowhere.csv'"),
    "a folder": ({"ward.csv/inside": "x"}, "check ward.csv", ERROR, "is a folder, not a table"),
    "old Excel to train on": ({"ward.xls": b"\xd0"}, f"{RUN} ward.xls", ERROR, "'ward.xls' is of an unknown kind"),
    # How it is written.
    "semicolons, said so": (GOOD.replace(",", ";"), "check ward.csv --separator semicolon", HANDLED, "fits"),
    "commas where semicolons were said": (GOOD, "check ward.csv --separator ';'", ERROR, "separate"),
    "a decimal that is none": (GOOD, "check ward.csv --decimal ';'", ERROR, "a point or a comma"),
    "decimal commas, said so": (changed(GOOD, "47,", '"47,5",'), "check ward.csv --decimal ,", HANDLED, "fits"),
    "points among decimal commas": (
        changed(GOOD, "47,", "4.711,"), "check ward.csv --decimal ,", ERROR, "column 'age', data row 2",
    ),
    # Names of columns.
    "a misspelt label column": (GOOD, "check ward.csv --label LABLE", ERROR, "names are 'label'"),
    "a column to drop that is not there": (GOOD, "check ward.csv --drop Sex", ERROR, "no column 'Sex' to drop"),
    # Cells.
    "text to train on": (changed(GOOD, "47,", "fourty,"), f"{RUN} ward.csv", ERROR, "column 'age', data row 2"),
    "a huge number": (changed(GOOD, "47,", "4.7e30,"), f"{RUN} ward.csv", ERROR, "'ward.csv'.*column 'age'.*too large"),
    # What is in it.
    "doubts for a program": (ward(a=[1]), "check ward.csv --json", WARNED, r'"level": "warning"'),
    # Labels.
    "labels that are names": (
        ward(label=[f"Patient {n}" for n in range(ROWS)]), f"{RUN} ward.csv", ERROR, "not hold classes",
    ),
    "one class everywhere": (re.sub(r",[01]\n", ",1\n", GOOD), f"{RUN} ward.csv", ERROR, "a classifier needs two"),
    # The schema file.
    "no schema file": (RAW, "check ward.csv --schema none.toml", ERROR, "'none.toml' cannot be read"),
    "a table as schema file": (RAW, "check ward.csv --schema ward.csv", ERROR, "'ward.csv' is no schema file"),
    "a schema with an unknown key": (
        {"ward.csv": RAW, "s.toml": "lables = 'a'\n" + SCHEMA}, "check ward.csv --schema s.toml", ERROR, "mean 'label'",
    ),
    "all as the schema says": (RAW, RAW_CHECK, HANDLED, "fits"),
    "a column that the schema has": (changed(RAW, ",age,", ",Age,"), RAW_CHECK, ERROR, "no column 'age'.*are 'Age'"),
    "a category that it has not": (changed(RAW, ",m,", ",x,"), RAW_CHECK, ERROR, "'sex' that are none of the schema's"),
    "a label that it has not, to train on": (
        changed(RAW, ",47,m,0", ",47,m,2"), f"{RUN} ward.csv --schema schema.toml", HANDLED, "of the schema's classes",
    ),
    "no label that it has, to train on": (
        re.sub(r",[01]\n", ",ill\n", RAW), f"{RUN} ward.csv --schema schema.toml", ERROR, "No label of",
    ),
    "categories without a schema": (RAW, f"{RUN} ward.csv --drop mrn", ERROR, "pansvm check"),
    "a schema that is to replace a file": (GOOD, "schema ward.csv --out ward.csv", ERROR, "a file ward.csv already"),
    "a schema that is new": (GOOD, "schema ward.csv --out new.toml", HANDLED, "check ward.csv --schema new.toml"),
    "a schema into no folder": (GOOD, "schema ward.csv --out no/where.toml", ERROR, "cannot be written"),
    # Predictions.
    "a raw table": (RAW, f"{PREDICT} --id mrn", HANDLED, "^mrn,prediction,decision\nP0,"),
    "columns that are not needed": (RAW.replace("mrn,", "junk,"), PREDICT, HANDLED, "does not need column 'junk'"),
    "no labels": (re.sub(r",\w+\n", "\n", RAW), PREDICT, HANDLED, "prediction,decision"),
    "labels of another question": (re.sub(r",[01]\n", ",ill\n", RAW), PREDICT, WARNED, "no class of"),
    "labels of another question, dropped": (
        re.sub(r",[01]\n", ",ill\n", RAW), f"{PREDICT} --drop label", HANDLED, "prediction",
    ),
    "no column of ids": (RAW, f"{PREDICT} --id MRN", ERROR, "no column 'MRN'.*are 'mrn'"),
    "a column that the model needs": (RAW.replace("sex", "gender"), PREDICT, ERROR, "no column 'sex'"),
    "predictions as Excel": (RAW, f"{PREDICT} --out p.xlsx", HANDLED, "accuracy|openpyxl is needed"),
    "predictions as Parquet": (RAW, f"{PREDICT} --out p.parquet", ERROR, "ends in .csv or .xlsx"),
    "predictions as packed CSV": (RAW, f"{PREDICT} --out p.csv.gz", HANDLED, "accuracy"),
    "ids called in another form": (
        changed(RAW, "mrn", "Fall\u00a0\u00fc"),
        f"{PREDICT} --id 'Fall u\u0308'", HANDLED, "Fall \u00fc,prediction",
    ),
    "thousands of new patients": (
        changed(changed(RAW, ",47,", ",1.047,"), ",54,", ",1.054,"),
        PREDICT, HANDLED, "Of column 'age' nobody knows",
    ),
    "rows without a cell among new patients": (
        changed(RAW, "P3,", ",,,\nP3,"), PREDICT, HANDLED, "1 rows that are empty",
    ),
    # Text among numbers.
    "a word for no value in a third of the cells": (
        ward(crp=[one if n % 3 else "n.b." for n, one in enumerate(LEVELS)]),
        "check ward.csv", ERROR, r"measurement with some text, in 20 of 60 cells.*missing = ..n\.b\... takes",
    ),
    "blood pressures": (
        ward(pressure=[f"{110 + n}/{60 + n}" for n in range(ROWS)]),
        "check ward.csv", ERROR, "'pressure' holds two numbers in a cell",
    ),
    "times of day": (
        ward(drawn=[f"{n % 24}:{n:02d}" for n in range(ROWS)]), "schema ward.csv", HANDLED, "# two numbers in a cell",
    ),
    "a box that is ticked or empty": (
        ward(smoker=["x", None, None]), "schema ward.csv", HANDLED, '"smoker",  # text: one alone .* write no',
    ),
    "1 or empty": (ward(smoker=[1, None]), "check ward.csv", WARNED, "constant.*If empty cells mean no, write no"),
    "a day of death as label": (
        as_csv(ward(label=["2024-01-03", None, None])), "check ward.csv", ERROR, "as of a date of death, write yes",
    ),
    "the names again on each page": (
        changed(GOOD, "47,1", "age,sex,label\n47,1"), "check ward.csv", HANDLED, "1 are empty or the column names",
    ),
    "percentages": (ward(crp=["7%", "9%"]), "check ward.csv --drop age", ERROR, "with a percent sign"),
    "decimal commas, schema": (
        as_csv(ward(), sep=";", decimal=","),
        "schema ward.csv --separator semicolon", ERROR, "--decimal comma.*column 'crp'",
    ),
    "commas of thousands among whole numbers": (
        as_csv(ward(crp=[one.replace(".", ",") for one in THOUSANDS]), sep=";"),
        "check ward.csv --separator ; --decimal ,", WARNED, "may be thousands or decimals",
    ),
    "points that are no thousands, said so": (
        ward(crp=["1.200", "2.500", "3.100"]), "check ward.csv --thousands none", HANDLED, "fits",
    ),
    "thousands and decimals alike": (ward(), "check ward.csv --thousands .", ERROR, "the same character"),
    # Cells that are no single thing.
    "lists in Parquet, run": (parquet(genes=[[1, 2], [3]]), f"{RUN} ward.parquet", ERROR, "column 'genes'"),
    "lists in Parquet, dropped": (parquet(genes=[[1, 2], [3]]), "check ward.parquet --drop genes", HANDLED, "fits"),
    "lists in Parquet, schema": (parquet(genes=[[1, 2], [3]]), "schema ward.parquet", HANDLED, r'"\[1 2\]", "\[3\]"'),
    # Names of columns.
    "a comma in a name": (
        ward(x="t", **{"c, mg": "u"}), "check ward.csv --drop x --drop '\"c, mg\"'", HANDLED, "fits",
    ),
    "a comma in a name, not quoted": (
        ward(**{"c, mg": LEVELS}), "check ward.csv --drop 'c, mg'", ERROR, "double quotes",
    ),
    "a quote that is not closed": (ward(), "check ward.csv --drop '\"crp'", ERROR, "is not written right"),
    "several columns by commas": (ward(x="t", y="u"), "check ward.csv --drop x,y", HANDLED, "fits"),
    "a column dropped from a run": (ward(x="t"), f"{RUN} ward.csv --drop x", HANDLED, "accuracy"),
    "a label with a comma": (
        ward(label=["Diabetes, type 2", "none of it"]),
        f"{RUN} ward.csv --positive '\"Diabetes, type 2\"'", HANDLED, "accuracy",
    ),
    "two labels, one with a comma": (
        ward(label=["Diabetes, type 2", "T1", "no"]),
        f"{RUN} ward.csv --positive T1 --positive '\"Diabetes, type 2\"'", HANDLED, "accuracy",
    ),
    "a label column in another form": (
        ward().rename(columns={"label": "Ausga\u0308nge"}), "check ward.csv --label Ausgänge", HANDLED, "fits",
    ),
    "a name like a control": (ward().rename(columns={"crp": "a\x1b[2Jb"}), f"{RUN} ward.csv", ERROR, r"U\+001B"),
    # How a file is written.
    "the wrong encoding": ("age,label\nä,1\n".encode(), "check ward.csv --encoding ascii", ERROR, "not text in ascii"),
    "UTF-16 without a mark, said so": (
        as_csv(ward()).encode("utf-16-le"), "check ward.csv --encoding utf-16-le", HANDLED, "fits",
    ),
    "all rows skipped": (ward(), "check ward.csv --skip-rows 99", ERROR, "no row of column names"),
    "two sheets, one named": (excel("Patients", "Notes"), "check ward.xlsx --sheet Patients", HANDLED, "fits"),
    "a sheet that is not there": (excel("Patients", "Notes"), "check ward.xlsx --sheet patients", ERROR, "0 sheets"),
    "merged cells in the table": (excel("1", merged="A3:A5"), "check ward.xlsx --skip-rows 1", ERROR, "merged .*A3:A5"),
    "merged above, and a style below": (excel("1", merged="A1:C1"), "check ward.xlsx --skip-rows 1", HANDLED, "fits"),
    # Labels.
    "labels NA that are a class": (
        {"ward.csv": as_csv(ward(label=["NA", "EU", "EU"])), "s.toml": "classes = ['NA', 'EU']\n" + LAB_SCHEMA},
        "check ward.csv --schema s.toml", HANDLED, "fits",
    ),
    # What a run says.
    "a running number of a sorted table": (
        ward(label=sorted(LABEL)).reset_index().rename(columns={"index": "Unnamed: 0"}),
        f"{RUN} ward.csv", HANDLED, "Warning: ward.csv: Column 'Unnamed: 0' looks like",
    ),
    "many doubts": (
        ward(a=[1], b=[None], c=range(ROWS), d=LABEL),
        f"{RUN} ward.csv", HANDLED, "(Warning: [^\n]*\n){2}Warning: ward.csv: [0-9]+ more warnings; 'pansvm check'",
    ),
    # The schema file.
    "missing by the schema file": (
        {"ward.csv": as_csv(ward(crp=with_cells("lost"))), "s.toml": LAB_SCHEMA + "[reading]\nmissing = ['lost']\n"},
        "check ward.csv --schema s.toml", HANDLED, "fits",
    ),
    "missing by the command line": (
        ward(crp=with_cells("lost", "gone")), "check ward.csv --missing lost,gone", HANDLED, "fits",
    ),
}  # fmt: skip

INPUTS = {
    **{name: (content, "check", ERROR, told) for name, (content, told) in REFUSED.items()},
    **{name: (content, "check", WARNED, told) for name, (content, told) in DOUBTFUL.items()},
    **{name: (content, "check", HANDLED, "fits") for name, content in FITS.items()},
    **TYPED,
}


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


def write(content: Content, folder: Path) -> str:
    """Write what is to be read, and return the name of its file."""
    if callable(content):
        return content(folder)
    if isinstance(content, pd.DataFrame):
        content = as_csv(content)
    files = content if isinstance(content, dict) else {"ward.csv": content}
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    return next(iter(files), "")


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("name", INPUTS)
def test_bad_input(name: str, pansvm: Run, tmp_path: Path) -> None:
    content, command, outcome, told = INPUTS[name]
    file = write(content, tmp_path)
    code, out, err = pansvm(*(shlex.split(command) if " " in command else (command, file)))
    said = out + err
    assert code == CODES[outcome], said
    assert re.search(told, said, re.DOTALL), said
    assert "Traceback" not in said
    assert "4711" not in said
    if outcome == ERROR:
        assert "Error: " in said
        assert not (tmp_path / "out" / "model.npz").exists()

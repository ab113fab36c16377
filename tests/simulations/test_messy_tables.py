"""Tables as hospitals export them: what each is read as, or what a person is told; nothing is lost silently.

`READ` has the right numbers and labels of each file, `TOLD` what ``pansvm`` says of it, with the exit code.
"""

import io
import re
import shlex
import sqlite3
import sys
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.table.form import TableForm
from clients.table.reading import read_table
from flower_pansvm.table_schema import TableSchema
from simulations.checking.drafting import draft

Run = Callable[..., tuple[int, str, str]]

NAN = float("nan")
CODES = """
[columns.code]
kind = "category"
categories = [{}]
"""
LAB = """
[columns.crp]
{}
"""


def csv(*rows: str) -> bytes:
    return "\n".join([*rows, ""]).encode()


def text(column: str, *cells: str, labels: str = "abab") -> bytes:
    """Return a CSV of one column and labels."""
    return csv(f"{column},label", *(f"{cell},{label}" for cell, label in zip(cells, labels, strict=False)))


# A file's content, options of reading, the schema's columns, the numbers (a row each), the labels.
READ: dict[str, tuple[bytes, dict[str, str], str, list[list[float]], str]] = {
    # Codes.
    "ICD codes with one and two decimals": (
        text("code", "250.0", "250.00", "250.0", "250.00"),
        {},
        CODES.format('"250.0", "250.00"'),
        [[1, 0], [0, 1], [1, 0], [0, 1]],
        "abab",
    ),
    "codes with a leading zero": (
        text("code", "01", "1", "1", "01"),
        {},
        CODES.format('"01", "1"'),
        [[1, 0], [0, 1], [0, 1], [1, 0]],
        "abab",
    ),
    "stages": (
        text("code", "1.1", "1.10", "1.1"),
        {},
        CODES.format('"1.1", "1.10"'),
        [[1, 0], [0, 1], [1, 0]],
        "aba",
    ),
    "codes that Excel has stripped": (
        text("code", "1", "2", "1"),
        {},
        CODES.format('"01", "02"'),
        [[1, 0], [0, 1], [1, 0]],
        "aba",
    ),
    "codes that pandas has made decimals": (
        text("code", "1.0", "2.0", ""),
        {},
        CODES.format('"1", "2"'),
        [[1, 0], [0, 1], [NAN, NAN]],
        "aba",
    ),
    "a code among words": (
        text("code", "V58.1", "250.00", "E11.9"),
        {},
        CODES.format('"V58.1", "250.00", "E11.9"'),
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "aba",
    ),
    "a category called none": (
        text("code", "none", "mild", "NONE"),
        {},
        CODES.format('"none", "mild"'),
        [[1, 0], [0, 1], [1, 0]],
        "aba",
    ),
    "a category called NA": (
        text("code", "NA", "x", ""),
        {},
        CODES.format('"NA", "x"'),
        [[1, 0], [0, 1], [NAN, NAN]],
        "aba",
    ),
    "a code for missing beside a code": (
        text("code", "9", "09", "9"),
        {},
        CODES.format('"09", "1"') + 'missing = ["9"]',
        [[NAN, NAN], [1, 0], [NAN, NAN]],
        "aba",
    ),
    "true and false as categories": (
        text("code", "TRUE", "false", "True"),
        {},
        CODES.format('"true", "false"'),
        [[1, 0], [0, 1], [1, 0]],
        "aba",
    ),
    "umlauts composed and not": (
        text("code", "mu\u0308de", "wach", "m\u00fcde"),
        {},
        CODES.format('"m\u00fcde", "wach"'),
        [[1, 0], [0, 1], [1, 0]],
        "aba",
    ),
    # Labels.
    "labels as numbers of a program": (csv("age,label", "1,1.0", "2,0.0"), {}, "", [[1], [2]], "10"),
    "labels + and -": (csv("age,label", "1,+", "2,-", "3,+"), {}, "", [[1], [2], [3]], "+-+"),
    # Missing cells.
    "words for missing": (
        text("crp", "NULL", "N/A", "#N/A", "None", labels="abab"),
        {},
        "",
        [[NAN]] * 4,
        "abab",
    ),
    "signs for missing": (text("crp", ".", "-", "?", "<NA>"), {}, "", [[NAN]] * 4, "abab"),
    "a word that is said": (
        text("crp", "5", "k. A.", "7", "K. A."),
        {"missing": "k. A."},
        "",
        [[5], [NAN], [7], [NAN]],
        "abab",
    ),
    "two words that are said": (
        text("crp", "5", "-9.0", "7", "nd"),
        {"missing": "-9,nd"},
        "",
        [[5], [NAN], [7], [NAN]],
        "abab",
    ),
    "words of the schema": (
        text("crp", "5", "Unk", "-999.00", "7"),
        {},
        LAB.format('missing = ["unk", -999]'),
        [[5], [NAN], [NAN], [7]],
        "abab",
    ),
    "below a limit, half": (
        text("crp", "<5", "7", "< 0.4", "> 200"),
        {},
        LAB.format('below-limit = "half"'),
        [[2.5], [7], [0.2], [200]],
        "abab",
    ),
    "below a limit, the limit": (
        text("crp", "<5", "7", "<=0.4", "≥ 200"),
        {},
        LAB.format('below-limit = "limit"'),
        [[5], [7], [0.4], [200]],
        "abab",
    ),
    "below a limit with a decimal comma": (
        csv("crp;label", "<0,5;a", "1,5;b"),
        {"separator": ";", "decimal": ","},
        LAB.format('below-limit = "half"'),
        [[0.25], [1.5]],
        "ab",
    ),
    # Names of columns.
    "sodium": (csv("Na,label", "140,a", "138,b"), {}, "", [[140], [138]], "ab"),
    "a column called NA": (csv("NA,label", "140,a", "138,b"), {}, "", [[140], [138]], "ab"),
    "a line break in a name": (b'"crp\n(mg/l)",label\n1,a\n2,b\n', {}, "", [[1], [2]], "ab"),
    "a name that is not composed": (
        csv("gro\u0308\u00dfe,label", "1,a", "2,b"),
        {},
        "[columns.gr\u00f6\u00dfe]\n".replace("gr\u00f6\u00dfe", '"gr\u00f6\u00dfe"'),
        [[1], [2]],
        "ab",
    ),
    "a blank that does not break": (
        csv("age\u00a0years,label", "1,a", "2,b"),
        {},
        '[columns."age years"]\n',
        [[1], [2]],
        "ab",
    ),
    # Points and commas.
    "a decimal comma": (
        csv("crp;label", "1,5;a", "2;b"),
        {"separator": ";", "decimal": ","},
        "",
        [[1.5], [2]],
        "ab",
    ),
    "the word comma": (
        csv("crp;label", "1,5;a", "2;b"),
        {"separator": "semicolon", "decimal": "comma"},
        "",
        [[1.5], [2]],
        "ab",
    ),
    "points for thousands": (
        csv("crp;label", "1.234;a", "2.345.678,5;b", "12;a"),
        {"separator": ";", "decimal": ",", "thousands": "."},
        "",
        [[1234], [2345678.5], [12]],
        "aba",
    ),
    "commas for thousands": (
        csv("crp,label", '"1,234",a', '"12,345.5",b', "7,a"),
        {"thousands": ","},
        "",
        [[1234], [12345.5], [7]],
        "aba",
    ),
    "blanks for thousands": (
        csv("crp,label", "1 234,a", "12\u00a0345,b", "7\u202f000,a"),
        {"thousands": "blank"},
        "",
        [[1234], [12345], [7000]],
        "aba",
    ),
    "apostrophes for thousands": (
        csv("crp,label", "1'234,a", "-2'345'678.5,b"),
        {"thousands": "apostrophe"},
        "",
        [[1234], [-2345678.5]],
        "ab",
    ),
    "no thousands": (csv("crp,label", "1.234,a", "2,b"), {"thousands": "none"}, "", [[1.234], [2]], "ab"),
    "exponents": (csv("crp,label", "1.5e3,a", "2E-1,b"), {}, "", [[1500], [0.2]], "ab"),
    # How a file is written.
    "Excel's line": (csv("sep=;", "crp;label", "1;a", "2;b"), {}, "", [[1], [2]], "ab"),
    "Excel's line with a mark": (
        b"\xef\xbb\xbfsep=;\r\ncrp;label\r\n1;a\r\n2;b\r\n",
        {},
        "",
        [[1], [2]],
        "ab",
    ),
    "UTF-16 with a mark": ("crp,label\n1,ä\n2,b\n".encode("utf-16"), {}, "", [[1], [2]], "äb"),
    "Windows' encoding": (
        "crp,label\n1,ä\n2,b\n".encode("cp1252"),
        {"encoding": "cp1252"},
        "",
        [[1], [2]],
        "äb",
    ),
    "titles above": (
        csv("Ward 7,,", "exported,,", "crp,age,label", "1,5,a", "2,6,b"),
        {"skip-rows": "2"},
        "",
        [[1, 5], [2, 6]],
        "ab",
    ),
    "a footer": (csv("crp,label", "1,a", "2,b", "Total: 2"), {"skip-footer": "1"}, "", [[1], [2]], "ab"),
    "remarks": (
        csv("# made by SAS", "crp,label", "1,a", "# and so on, and on", "2,b"),
        {"comment": "#"},
        "",
        [[1], [2]],
        "ab",
    ),
    "empty rows": (csv("crp,label", "1,a", ",", "", "2,b", ",", ","), {}, "", [[1], [2]], "ab"),
    "all of it": (
        "sep=;\r\nWard 7;\r\ncrp;label\r\n<5;ä\r\n;\r\n1.234,5;b\r\nNULL;b\r\nk. A.;b\r\nTotal;4\r\n".encode(
            "cp1252"
        ),
        {
            "encoding": "cp1252",
            "decimal": ",",
            "thousands": ".",
            "skip-rows": "1",
            "skip-footer": "1",
            "missing": "k. A.",
        },
        LAB.format('below-limit = "half"'),
        [[2.5], [1234.5], [NAN], [NAN]],
        "äbbb",
    ),
    "the schema file says how": (
        csv("crp;label", "1,5;a", "2;b"),
        {},
        LAB.format("") + '[reading]\nseparator = "semicolon"\ndecimal = ","\n',
        [[1.5], [2]],
        "ab",
    ),
    "and a site says otherwise": (
        csv("crp|label", "1,5|a", "2|b"),
        {"separator": "|"},
        LAB.format("") + '[reading]\nseparator = "semicolon"\ndecimal = ","\n',
        [[1.5], [2]],
        "ab",
    ),
}


def schema_of(columns: str) -> TableSchema | None:
    return TableSchema.from_mapping(tomllib.loads(columns), "s.toml") if columns else None


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_right(name: str, tmp_path: Path) -> None:
    content, options, columns, X, labels = READ[name]
    (tmp_path / "ward.csv").write_bytes(content)
    table = read_table(tmp_path / "ward.csv", form=TableForm.of(options, schema_of(columns)))
    np.testing.assert_allclose(table.X, np.array(X))
    assert table.labels is not None
    assert table.labels.tolist() == list(labels)


def test_row_ids_that_differ_in_a_zero_or_the_last_digit(tmp_path: Path) -> None:
    ids = ["12", "0012", "12345678901234567", "12345678901234568"]
    frame = pd.DataFrame({"id": ids, "age": [1, 2, 3, 4], "label": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", row_id="id")
    assert table.ids is not None
    assert sorted(table.ids.tolist()) == sorted(ids)
    frame.iloc[2:].astype({"id": "int64"}).to_parquet(tmp_path / "a.parquet")
    numbers = read_table(tmp_path / "a.parquet", row_id="id").ids
    assert numbers is not None
    assert numbers.tolist() == ids[2:]


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


def database(folder: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra 'sql' is not installed")
    with sqlite3.connect(folder / "ward.db") as connection:
        ward(note=[b"\x00\xff"] * ROWS).to_sql("ward", connection, index=False)
    connection.close()
    (folder / "ward.sql").write_text(f"-- url: sqlite:///{folder}/ward.db\nSELECT * FROM ward")


THOUSANDS = [f"{n}.{n:03d}" if n % 2 else str(n) for n in range(101, 101 + ROWS)]
RUN = "run --engine in-process --out out --sites 3 --set landmarks=8 --data"
LAB_SCHEMA = "label = 'label'\n[columns.age]\n[columns.crp]\n"
WIDE = ",".join(f"g{n}" for n in range(5000))

# The files (a text is ward.csv), what is typed, the exit code, what is said.
TOLD: dict[str, tuple[str | bytes | dict[str, str] | Callable[[Path], None], str, int, str]] = {
    # Text among numbers.
    "one cell below the limit": (
        as_csv(ward(crp=with_cells("<5"))),
        "check ward.csv",
        1,
        r"1 of 60 cells.*below-limit = .half",
    ),
    "a word of its own, once": (
        as_csv(ward(crp=with_cells("4711x"))),
        "check ward.csv",
        1,
        "1 are something else, the first in data row 1|numbers with a unit",
    ),
    "a word that is known": (
        as_csv(ward(crp=with_cells("unknown", "n.d."))),
        "check ward.csv",
        1,
        r'missing = \["n.d.", "unknown"\]',
    ),
    "words and limits": (
        as_csv(ward(crp=with_cells("<5", "unknown", "4711y"))),
        "check ward.csv",
        1,
        "below-limit.*missing =.*something else, the first in data row 3",
    ),
    "percentages": (
        as_csv(ward(crp=[f"{n}%" for n in range(ROWS)])),
        "check ward.csv --drop age",
        1,
        "with a percent sign",
    ),
    "units in cells": (
        as_csv(ward(crp=[f"{n % 9} mg/l" for n in range(ROWS)])),
        "check ward.csv",
        1,
        "numbers with a unit",
    ),
    "thousands unsaid, in quotes": (
        as_csv(ward(crp=[f"{n % 9 + 1},000" for n in range(ROWS)])),
        "check ward.csv",
        1,
        "thousands=comma",
    ),
    "points of thousands among whole numbers": (
        as_csv(ward(crp=THOUSANDS)),
        "check ward.csv",
        3,
        "may be thousands or decimals.*thousands=none",
    ),
    "decimal commas, schema": (
        as_csv(ward(), sep=";", decimal=","),
        "schema ward.csv --separator semicolon",
        1,
        "--decimal comma.*column 'crp'",
    ),
    "commas of thousands among whole numbers": (
        as_csv(ward(crp=[one.replace(".", ",") for one in THOUSANDS]), sep=";"),
        "check ward.csv --separator ; --decimal ,",
        3,
        "may be thousands or decimals",
    ),
    "points that are no thousands, said so": (
        as_csv(ward(crp=[f"{n % 9 + 1}.{n % 7}00" for n in range(ROWS)])),
        "check ward.csv --thousands none",
        0,
        "fits",
    ),
    "three decimals of a laboratory": (
        as_csv(ward(crp=[f"{0.217 * n:.3f}" for n in range(ROWS)])),
        "check ward.csv",
        0,
        "fits",
    ),
    "thousands and decimals alike": (as_csv(ward()), "check ward.csv --thousands .", 1, "the same character"),
    "codes with zeros among numbers": (
        as_csv(ward(ward=[("01", "1", "12")[n % 3] for n in range(ROWS)])),
        "check ward.csv",
        3,
        "'ward' is written as codes are",
    ),
    "codes with decimals among numbers": (
        as_csv(ward(icd=[("250.0", "250.00", "401.9")[n % 3] for n in range(ROWS)])),
        "check ward.csv",
        3,
        "'icd' is written as codes are",
    ),
    "dates typed": (
        parquet(seen=pd.date_range("2024-01-01", periods=ROWS)),
        "check ward.parquet",
        1,
        "'seen' looks like",
    ),
    "times": (
        parquet(stay=[pd.Timedelta(hours=n) for n in range(ROWS)]),
        "check ward.parquet",
        1,
        "text or a date",
    ),
    "decimals of a database": (
        parquet(crp=[Decimal(str(one)) for one in LEVELS]),
        "check ward.parquet",
        0,
        "fits",
    ),
    "truth values": (as_csv(ward(smoker=[n % 5 < 2 for n in range(ROWS)])), "check ward.csv", 0, "fits"),
    "truth values and words": (
        as_csv(ward(smoker=[("TRUE", "no")[n % 2] for n in range(ROWS)])),
        "check ward.csv",
        1,
        "'smoker' holds text.*yes/no",
    ),
    "a minus that is none": (as_csv(ward(crp=with_cells("\u22125"))), "check ward.csv", 1, "data row 1"),
    "an error of Excel": (
        as_csv(ward(crp=with_cells("#DIV/0!"))),
        "check ward.csv",
        1,
        r'missing = \["#div/0!"\]',
    ),
    # Cells that are no single thing.
    "lists in Parquet": (parquet(genes=[[1, 2], [3]] * 30), "check ward.parquet", 1, "column 'genes'"),
    "lists in Parquet, run": (parquet(genes=[[1, 2], [3]] * 30), f"{RUN} ward.parquet", 1, "column 'genes'"),
    "lists in Parquet, dropped": (
        parquet(genes=[[1, 2], [3]] * 30),
        "check ward.parquet --drop genes",
        0,
        "fits",
    ),
    "lists in Parquet, schema": (
        parquet(genes=[[n, 2] for n in range(ROWS)]),
        "schema ward.parquet",
        0,
        '"genes",  # ',
    ),
    "structs in Parquet": (
        parquet(visit=[{"ward": n % 3} for n in range(ROWS)]),
        "check ward.parquet",
        1,
        "column 'visit'",
    ),
    "labels that are lists": (
        parquet(label=[[0], [1]] * 30),
        "check ward.parquet",
        1,
        "does not hold classes",
    ),
    "bytes of a database": (database, "check ward.sql", 1, "column 'note'"),
    # Names of columns.
    "a comma in a name": (
        as_csv(ward().rename(columns={"crp": "crp, mg/l"}).assign(x="text")),
        "check ward.csv --drop x --drop '\"crp, mg/l\"'",
        0,
        "fits",
    ),
    "a comma in a name, not quoted": (
        as_csv(ward().rename(columns={"crp": "crp, mg/l"})),
        "check ward.csv --drop 'crp, mg/l'",
        1,
        "double quotes",
    ),
    "a quote that is not closed": (
        as_csv(ward()),
        "check ward.csv --drop '\"crp'",
        1,
        "is not written right",
    ),
    "several columns by commas": (
        as_csv(ward(x="t" * ROWS, y="u" * ROWS)),
        "check ward.csv --drop x,y",
        0,
        "fits",
    ),
    "a label with a comma": (
        as_csv(ward(label=[("Diabetes, type 2", "none of it")[n // 3 % 2] for n in range(ROWS)])),
        f"{RUN} ward.csv --positive '\"Diabetes, type 2\"'",
        0,
        "accuracy",
    ),
    "two labels, one with a comma": (
        as_csv(ward(label=[("Diabetes, type 2", "T1", "no")[n // 3 % 3] for n in range(ROWS)])),
        f"{RUN} ward.csv --positive T1 --positive '\"Diabetes, type 2\"'",
        0,
        "accuracy",
    ),
    "a name that is too long": (
        as_csv(ward().rename(columns={"crp": "x" * 501})),
        "check ward.csv",
        1,
        "longer than 500 characters",
    ),
    "a name that nobody sees": (
        as_csv(ward().rename(columns={"crp": "cr\u200bp"})),
        "check ward.csv",
        1,
        r"U\+200B",
    ),
    "the same name composed and not": (
        as_csv(ward().rename(columns={"crp": "\u00fc", "age": "u\u0308"})),
        "check ward.csv",
        1,
        "same name",
    ),
    "a label column in another form": (
        as_csv(ward().rename(columns={"label": "Ausga\u0308nge"})),
        "check ward.csv --label Ausg\u00e4nge",
        0,
        "fits",
    ),
    "a name like a control": (
        as_csv(ward().rename(columns={"crp": "a\x1b[2Jb"})),
        f"{RUN} ward.csv",
        1,
        r"U\+001B",
    ),
    # How a file is written.
    "semicolons and a comma in a name": (
        as_csv(ward().rename(columns={"crp": "crp, mg"}), sep=";"),
        "check ward.csv",
        1,
        "--separator semicolon",
    ),
    "bars": (as_csv(ward(), sep="|"), "check ward.csv", 1, "most likely by"),
    "the wrong encoding": (
        "age,label\nä,1\n".encode(),
        "check ward.csv --encoding ascii",
        1,
        "not text in ascii",
    ),
    "UTF-16 without a mark": (as_csv(ward()).encode("utf-16-le"), "check ward.csv", 1, "Error: "),
    "UTF-16 without a mark, said so": (
        as_csv(ward()).encode("utf-16-le"),
        "check ward.csv --encoding utf-16-le",
        0,
        "fits",
    ),
    "all rows skipped": (as_csv(ward()), "check ward.csv --skip-rows 99", 1, "no row of column names"),
    "a title": ("Ward 7\n" + as_csv(ward()), "check ward.csv", 1, "skip-rows|more or fewer fields"),
    "a footer": (as_csv(ward()) + "Total 60\n", "check ward.csv", 1, "skip-footer"),
    "a footer as wide as the table": (as_csv(ward()) + "Total,60,\n", "check ward.csv", 1, "skip-footer=1"),
    "two sheets": (
        excel(("Patients", ward()), ("Notes", ward())),
        "check ward.xlsx",
        1,
        "'Patients', 'Notes'",
    ),
    "two sheets, one named": (
        excel(("Patients", ward()), ("Notes", ward())),
        "check ward.xlsx --sheet Patients",
        0,
        "fits",
    ),
    "a sheet that is not there": (
        excel(("Patients", ward()), ("Notes", ward())),
        "check ward.xlsx --sheet patients",
        1,
        "0 sheets",
    ),
    "one wrong index of LIBSVM": (
        {"ward.svm": "1 1:2\n-1 999999999:4\n"},
        "check ward.svm",
        1,
        "2 rows and 999999999 columns are .*GB",
    ),
    "five thousand columns": (
        f"{WIDE},label\n" + "".join(f"{','.join(['7'] * 5000)},{n % 2}\n" for n in range(9)),
        "check ward.csv",
        3,
        "5000 columns, 'g0', .*4995 more: each is constant",
    ),
    # Labels.
    "labels 1 and 01": (
        as_csv(ward(label=[("1", "01", "0")[n % 3] for n in range(ROWS)])),
        "check ward.csv",
        1,
        "differ only",
    ),
    "labels none and mild": (
        as_csv(ward(label=[("none", "mild")[n // 3 % 2] for n in range(ROWS)])),
        "check ward.csv",
        3,
        "called as missing cells",
    ),
    "labels NA that are a class": (
        {
            "ward.csv": as_csv(ward(label=[("NA", "EU")[n // 3 % 2] for n in range(ROWS)])),
            "s.toml": "classes = ['NA', 'EU']\n" + LAB_SCHEMA,
        },
        "check ward.csv --schema s.toml",
        0,
        "fits",
    ),
    # What a run says.
    "a running number of a sorted table": (
        as_csv(ward(label=sorted(LABEL)).reset_index().rename(columns={"index": "Unnamed: 0"})),
        f"{RUN} ward.csv",
        0,
        "Warning: ward.csv: Column 'Unnamed: 0' looks like",
    ),
    "many doubts": (
        as_csv(ward(a=[1] * ROWS, b=[None] * ROWS, c=range(ROWS), d=LABEL)),
        f"{RUN} ward.csv",
        0,
        "(Warning: [^\n]*\n){2}Warning: ward.csv: [0-9]+ more warnings; 'pansvm check'",
    ),
    # The schema file.
    "codes as decimals of TOML": (
        {
            "ward.csv": as_csv(ward()),
            "s.toml": LAB_SCHEMA + "[columns.x]\nkind = 'category'\ncategories = [1.1, 1.10]\n",
        },
        "check ward.csv --schema s.toml",
        1,
        "quotation marks",
    ),
    "a limit of a third": (
        {"ward.csv": as_csv(ward()), "s.toml": LAB_SCHEMA + "below-limit = 'third'\n"},
        "check ward.csv --schema s.toml",
        1,
        "one of half, limit",
    ),
    "an option of reading that is none": (
        {"ward.csv": as_csv(ward()), "s.toml": LAB_SCHEMA + "[reading]\nsep = ';'\n"},
        "check ward.csv --schema s.toml",
        1,
        "unknown key 'sep' for reading",
    ),
    "a form that cannot be": (
        {"ward.csv": as_csv(ward()), "s.toml": LAB_SCHEMA + "[reading]\nseparator = '::'\n"},
        "check ward.csv --schema s.toml",
        1,
        "single character",
    ),
    "a category that is missing": (
        {
            "ward.csv": as_csv(ward()),
            "s.toml": "[columns.x]\nkind = 'category'\ncategories = ['a', 'b']\nmissing = ['b']\n",
        },
        "check ward.csv --schema s.toml",
        1,
        "as category and as missing",
    ),
    "codes of a schema that are one number": (
        {
            "ward.csv": as_csv(ward(x=[("01", "1")[n % 2] for n in range(ROWS)])),
            "s.toml": "[columns.age]\n[columns.x]\nkind = 'category'\ncategories = ['01', '1']\n",
        },
        "check ward.csv --schema s.toml",
        0,
        "fits",
    ),
    "a column called sep=": (
        csv("sep=x,label", *(f"{n % 9},{n // 3 % 2}" for n in range(ROWS))),
        "check ward.csv",
        0,
        "fits",
    ),
    "days as whole numbers": (
        as_csv(ward(seen=[20240300 + n % 28 + 1 for n in range(ROWS)])),
        "check ward.csv",
        3,
        "'seen' looks like",
    ),
    "missing codes of SAS": (
        as_csv(ward(crp=with_cells(".A", ".B"))),
        "check ward.csv",
        1,
        "2 are something else",
    ),
    "missing by the command line": (
        as_csv(ward(crp=with_cells("lost", "gone"))),
        "check ward.csv --missing lost,gone",
        0,
        "fits",
    ),
    "missing by the schema file": (
        {
            "ward.csv": as_csv(ward(crp=with_cells("lost"))),
            "s.toml": LAB_SCHEMA + "[reading]\nmissing = ['lost', 'k. A.']\n",
        },
        "check ward.csv --schema s.toml",
        0,
        "fits",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_person_is_told(name: str, pansvm: Run, tmp_path: Path) -> None:
    content, command, code, told = TOLD[name]
    if callable(content):
        content(tmp_path)
    else:
        for file, own in (content if isinstance(content, dict) else {"ward.csv": content}).items():
            (tmp_path / file).write_bytes(own if isinstance(own, bytes) else own.encode())
    found, out, err = pansvm(*shlex.split(command))
    assert found == code, out + err
    assert re.search(told, err + out, re.DOTALL), out + err
    assert "4711" not in out + err


def test_a_terminal_that_cannot_show_a_character(
    tmp_path: Path, pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ward(**{"größe \u03c3": [7] * ROWS}).to_csv(tmp_path / "ward.csv", index=False)
    shown = io.BytesIO()
    with monkeypatch.context() as patched:
        terminal = io.TextIOWrapper(shown, encoding="latin-1", write_through=True)
        patched.setattr(sys, "stdout", terminal)
        code, _, _ = pansvm("check", "ward.csv")
        assert code == 3
    assert "größe ".encode("latin-1") + rb"\u03c3" in shown.getvalue()


def test_a_measurement_with_some_text_stays_one_in_a_first_schema_file(tmp_path: Path) -> None:
    levels = [*["NULL"] * 9, *["unk"] * 12, *["<5"] * 11, *(str(0.3 + n % 57) for n in range(500))]
    frame = pd.DataFrame({"crp": levels, "label": [n // 3 % 2 for n in range(len(levels))]})
    frame.to_csv(tmp_path / "ward.csv", index=False, sep=";")
    form = TableForm.of({"separator": ";"}, None)
    (tmp_path / "s.toml").write_text(draft(tmp_path / "ward.csv", "label", form))
    schema = TableSchema.read(tmp_path / "s.toml")
    (column,) = schema.columns
    assert (column.name, column.kind, column.missing, column.below_limit) == (
        "crp",
        "number",
        ("unk",),
        "half",
    )
    assert schema.leave_out == ()
    table = read_table(tmp_path / "ward.csv", form=TableForm.of({}, schema))
    assert np.isnan(table.X[:21]).all()
    assert (table.X[21:32] == 2.5).all()


def test_codes_are_categories_in_a_first_schema_file(tmp_path: Path) -> None:
    codes = ("01", "1", "250.0", "250.00")
    ward(code=[codes[n % 4] for n in range(ROWS)]).to_csv(tmp_path / "ward.csv", index=False)
    schema = TableSchema.from_mapping(
        tomllib.loads(draft(tmp_path / "ward.csv", "label", TableForm())), "s.toml"
    )
    (column,) = (one for one in schema.columns if one.name == "code")
    assert (column.kind, column.categories) == ("category", codes)


def an_export(folder: Path) -> None:
    """Write a table as REDCap and a hospital's Excel make it, with all that is odd about it."""
    generator = np.random.default_rng(3)
    rows = 420
    sick = generator.random(rows) < 0.45
    crp = np.exp(generator.normal(1.2 + 1.3 * sick, 0.8))
    frame = pd.DataFrame(
        {
            "record_id": [f"{number:04d}" for number in range(1, rows + 1)],
            "Geburtsdatum": [
                f"{number % 28 + 1:02d}.{number % 12 + 1:02d}.{1930 + number % 60}" for number in range(rows)
            ],
            "age": (generator.normal(60, 11, rows) + 7 * sick).round().astype(int),
            "crp": [f"{one:.1f}".replace(".", ",") if one >= 1.5 else "<1,5" for one in crp],
            "sodium": [f"{one:.1f}".replace(".", ",") for one in generator.normal(139, 3, rows)],
            "sex": generator.choice(["1", "2", ""], rows, p=[0.48, 0.48, 0.04]),
            "stage_code": generator.choice(["01", "02", "10"], rows),
            "smoker": np.where(generator.random(rows) < 0.3 + 0.3 * sick, "Yes", "No"),
            "notes": [f"seen by Dr. A; follow-up {number}" for number in range(rows)],
            "outcome": np.where(sick, "case", "control"),
        }
    )
    frame.loc[generator.random(rows) < 0.05, "sodium"] = "NULL"
    frame.loc[generator.random(rows) < 0.05, "sodium"] = "-999"
    frame.loc[[5, 77], "sodium"] = "hemolyzed"
    lines = as_csv(frame, sep=";", lineterminator="\r\n").split("\r\n")
    lines.insert(100, ";" * 9)
    lines[-1] = "Exported 2024-03-01" + ";" * 9
    (folder / "export.csv").write_bytes("\r\n".join([*lines, ""]).encode("utf-8-sig"))


@pytest.mark.slow
def test_an_afternoon_with_an_export_by_what_is_said_alone(pansvm: Run, tmp_path: Path) -> None:
    """Each step types what the one before has said; nothing else is known."""
    an_export(tmp_path)
    code, _, err = pansvm("check", "export.csv")
    assert code == 1
    options = re.findall("--separator [a-z]+", err)[0].split()
    code, out, _ = pansvm("check", "export.csv", *options)
    assert code == 1
    assert "The last column is 'outcome'" in out
    options += ["--label", "outcome"]
    code, _, err = pansvm("schema", "export.csv", *options)
    assert code == 1
    options += re.findall("--decimal [a-z]+", err)[0].split()
    code, out, _ = pansvm("schema", "export.csv", *options, "--out", "ours.toml")
    assert code == 0
    command = out.split("pansvm ")[-1].split()
    code, out, _ = pansvm(*command)
    assert code == 1
    footer = re.findall("skip-footer=([0-9])", out)[0]
    missing = re.findall(r"missing = \[(.*?)\]", out)[0]
    text = (tmp_path / "ours.toml").read_text()
    text = text.replace("[reading]", f'[reading]\nskip-footer = "{footer}"')
    text = text.replace("missing = [-999]", f"missing = [-999, {missing}]")
    (tmp_path / "ours.toml").write_text(text)
    code, out, _ = pansvm(*command)
    assert code == 0
    assert "without any cell, which do not count.\n" in out
    assert out.endswith("export.csv fits.\n")
    schema = TableSchema.read(tmp_path / "ours.toml")
    assert {one.name: one.kind for one in schema.columns} == {
        **{"age": "number", "crp": "number", "sodium": "number", "sex": "number"},
        **{"stage_code": "category", "smoker": "yes/no"},
    }
    table = read_table(tmp_path / "export.csv", form=TableForm.of({}, schema))
    assert table.X.shape == (420, 8)
    assert 0.75 in table.X[:, 1]
    code, _, err = pansvm(
        *("run", "--engine", "in-process", "--data", "export.csv", "--schema", "ours.toml"),
        *("--sites", 3, "--set", "landmarks=20", "--out", "out"),
    )
    assert (code, err) == (0, "")
    code, out, _ = pansvm("report", "out")
    assert code == 0
    assert (tmp_path / "out" / "report.html").is_file()

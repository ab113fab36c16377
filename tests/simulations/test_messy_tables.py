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
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Read:
    """A file's content, the numbers (a row each) and labels it is read as; options of reading, the schema's columns."""

    content: bytes
    X: list[list[float]]
    labels: str = ""
    """The first of a, b, a, b unless it is said."""
    options: dict[str, str] = field(default_factory=dict)
    columns: str = ""


READ = {
    # Codes.
    "ICD codes with one and two decimals": Read(
        text("code", "250.0", "250.00", "250.0", "250.00"),
        [[1, 0], [0, 1], [1, 0], [0, 1]],
        columns=CODES.format('"250.0", "250.00"'),
    ),
    "codes with a leading zero": Read(
        text("code", "01", "1", "1", "01"),
        [[1, 0], [0, 1], [0, 1], [1, 0]],
        columns=CODES.format('"01", "1"'),
    ),
    "stages": Read(
        text("code", "1.1", "1.10", "1.1"), [[1, 0], [0, 1], [1, 0]], columns=CODES.format('"1.1", "1.10"')
    ),
    "codes that Excel has stripped": Read(
        text("code", "1", "2", "1"), [[1, 0], [0, 1], [1, 0]], columns=CODES.format('"01", "02"')
    ),
    "codes that pandas has made decimals": Read(
        text("code", "1.0", "2.0", ""), [[1, 0], [0, 1], [NAN, NAN]], columns=CODES.format('"1", "2"')
    ),
    "a code among words": Read(
        text("code", "V58.1", "250.00", "E11.9"),
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        columns=CODES.format('"V58.1", "250.00", "E11.9"'),
    ),
    "a category called none": Read(
        text("code", "none", "mild", "NONE"), [[1, 0], [0, 1], [1, 0]], columns=CODES.format('"none", "mild"')
    ),
    "a category called NA": Read(
        text("code", "NA", "x", ""), [[1, 0], [0, 1], [NAN, NAN]], columns=CODES.format('"NA", "x"')
    ),
    "a code for missing beside a code": Read(
        text("code", "9", "09", "9"),
        [[NAN, NAN], [1, 0], [NAN, NAN]],
        columns=CODES.format('"09", "1"') + 'missing = ["9"]',
    ),
    "true and false as categories": Read(
        text("code", "TRUE", "false", "True"),
        [[1, 0], [0, 1], [1, 0]],
        columns=CODES.format('"true", "false"'),
    ),
    "umlauts composed and not": Read(
        text("code", "mu\u0308de", "wach", "m\u00fcde"),
        [[1, 0], [0, 1], [1, 0]],
        columns=CODES.format('"m\u00fcde", "wach"'),
    ),
    # Labels.
    "labels as numbers of a program": Read(csv("age,label", "1,1.0", "2,0.0"), [[1], [2]], "10"),
    "labels + and -": Read(csv("age,label", "1,+", "2,-", "3,+"), [[1], [2], [3]], "+-+"),
    # Missing cells.
    "words for missing": Read(text("crp", "NULL", "N/A", "#N/A", "None", labels="abab"), [[NAN]] * 4),
    "signs for missing": Read(text("crp", ".", "-", "?", "<NA>"), [[NAN]] * 4),
    "a word that is said": Read(
        text("crp", "5", "k. A.", "7", "K. A."), [[5], [NAN], [7], [NAN]], options={"missing": "k. A."}
    ),
    "two words that are said": Read(
        text("crp", "5", "-9.0", "7", "nd"), [[5], [NAN], [7], [NAN]], options={"missing": "-9,nd"}
    ),
    "words of the schema": Read(
        text("crp", "5", "Unk", "-999.00", "7"),
        [[5], [NAN], [NAN], [7]],
        columns=LAB.format('missing = ["unk", -999]'),
    ),
    "below a limit, half": Read(
        text("crp", "<5", "7", "< 0.4", "> 200"),
        [[2.5], [7], [0.2], [200]],
        columns=LAB.format('below-limit = "half"'),
    ),
    "below a limit, the limit": Read(
        text("crp", "<5", "7", "<=0.4", "≥ 200"),
        [[5], [7], [0.4], [200]],
        columns=LAB.format('below-limit = "limit"'),
    ),
    "below a limit with a decimal comma": Read(
        csv("crp;label", "<0,5;a", "1,5;b"),
        [[0.25], [1.5]],
        options={"separator": ";", "decimal": ","},
        columns=LAB.format('below-limit = "half"'),
    ),
    # Names of columns.
    "sodium": Read(csv("Na,label", "140,a", "138,b"), [[140], [138]]),
    "a column called NA": Read(csv("NA,label", "140,a", "138,b"), [[140], [138]]),
    "a line break in a name": Read(b'"crp\n(mg/l)",label\n1,a\n2,b\n', [[1], [2]]),
    "a name that is not composed": Read(
        csv("gro\u0308\u00dfe,label", "1,a", "2,b"),
        [[1], [2]],
        columns="[columns.gr\u00f6\u00dfe]\n".replace("gr\u00f6\u00dfe", '"gr\u00f6\u00dfe"'),
    ),
    "a blank that does not break": Read(
        csv("age\u00a0years,label", "1,a", "2,b"), [[1], [2]], columns='[columns."age years"]\n'
    ),
    # Points and commas.
    "a decimal comma": Read(
        csv("crp;label", "1,5;a", "2;b"), [[1.5], [2]], options={"separator": ";", "decimal": ","}
    ),
    "the word comma": Read(
        csv("crp;label", "1,5;a", "2;b"), [[1.5], [2]], options={"separator": "semicolon", "decimal": "comma"}
    ),
    "points for thousands": Read(
        csv("crp;label", "1.234;a", "2.345.678,5;b", "12;a"),
        [[1234], [2345678.5], [12]],
        options={"separator": ";", "decimal": ",", "thousands": "."},
    ),
    "commas for thousands": Read(
        csv("crp,label", '"1,234",a', '"12,345.5",b', "7,a"),
        [[1234], [12345.5], [7]],
        options={"thousands": ","},
    ),
    "blanks for thousands": Read(
        csv("crp,label", "1 234,a", "12\u00a0345,b", "7\u202f000,a"),
        [[1234], [12345], [7000]],
        options={"thousands": "blank"},
    ),
    "apostrophes for thousands": Read(
        csv("crp,label", "1'234,a", "-2'345'678.5,b"),
        [[1234], [-2345678.5]],
        options={"thousands": "apostrophe"},
    ),
    "no thousands": Read(csv("crp,label", "1.234,a", "2,b"), [[1.234], [2]], options={"thousands": "none"}),
    "exponents": Read(csv("crp,label", "1.5e3,a", "2E-1,b"), [[1500], [0.2]]),
    # How a file is written.
    "Excel's line": Read(csv("sep=;", "crp;label", "1;a", "2;b"), [[1], [2]]),
    "Excel's line with a mark": Read(b"\xef\xbb\xbfsep=;\r\ncrp;label\r\n1;a\r\n2;b\r\n", [[1], [2]]),
    "UTF-16 with a mark": Read("crp,label\n1,ä\n2,b\n".encode("utf-16"), [[1], [2]], "äb"),
    "Windows' encoding": Read(
        "crp,label\n1,ä\n2,b\n".encode("cp1252"), [[1], [2]], "äb", options={"encoding": "cp1252"}
    ),
    "titles above": Read(
        csv("Ward 7,,", "exported,,", "crp,age,label", "1,5,a", "2,6,b"),
        [[1, 5], [2, 6]],
        options={"skip-rows": "2"},
    ),
    "a footer": Read(csv("crp,label", "1,a", "2,b", "Total: 2"), [[1], [2]], options={"skip-footer": "1"}),
    "remarks": Read(
        csv("# made by SAS", "crp,label", "1,a", "# and so on, and on", "2,b"),
        [[1], [2]],
        options={"comment": "#"},
    ),
    "empty rows": Read(csv("crp,label", "1,a", ",", "", "2,b", ",", ","), [[1], [2]]),
    "all of it": Read(
        "sep=;\r\nWard 7;\r\ncrp;label\r\n<5;ä\r\n;\r\n1.234,5;b\r\nNULL;b\r\nk. A.;b\r\nTotal;4\r\n".encode(
            "cp1252"
        ),
        [[2.5], [1234.5], [NAN], [NAN]],
        "äbbb",
        options={
            "encoding": "cp1252",
            "decimal": ",",
            "thousands": ".",
            "skip-rows": "1",
            "skip-footer": "1",
            "missing": "k. A.",
        },
        columns=LAB.format('below-limit = "half"'),
    ),
    "the schema file says how": Read(
        csv("crp;label", "1,5;a", "2;b"),
        [[1.5], [2]],
        columns=LAB.format("") + '[reading]\nseparator = "semicolon"\ndecimal = ","\n',
    ),
    "and a site says otherwise": Read(
        csv("crp|label", "1,5|a", "2|b"),
        [[1.5], [2]],
        options={"separator": "|"},
        columns=LAB.format("") + '[reading]\nseparator = "semicolon"\ndecimal = ","\n',
    ),
}


def schema_of(columns: str) -> TableSchema | None:
    return TableSchema.from_mapping(tomllib.loads(columns), "s.toml") if columns else None


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_a_file_is_read_right(case: Read, tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_bytes(case.content)
    table = read_table(tmp_path / "ward.csv", form=TableForm.of(case.options, schema_of(case.columns)))
    np.testing.assert_allclose(table.X, np.array(case.X))
    assert table.labels.tolist() == list(case.labels or "abab"[: len(case.X)])


def test_row_ids_that_differ_in_a_zero_or_the_last_digit(tmp_path: Path) -> None:
    ids = ["12", "0012", "12345678901234567", "12345678901234568"]
    frame = pd.DataFrame({"id": ids, "age": [1, 2, 3, 4], "label": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", row_id="id")
    assert sorted(table.ids.tolist()) == sorted(ids)
    frame.iloc[2:].astype({"id": "int64"}).to_parquet(tmp_path / "a.parquet")
    numbers = read_table(tmp_path / "a.parquet", row_id="id").ids
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


@dataclass(frozen=True)
class Told:
    """The files (a table or a text is ward.csv), what is said, the exit code, and what is typed."""

    files: pd.DataFrame | str | bytes | dict[str, str] | Callable[[Path], None]
    said: str
    code: int = 1
    options: str = ""
    command: str = "check ward.csv"

    def write(self, folder: Path) -> None:
        """Write the files."""
        if callable(self.files):
            self.files(folder)
            return
        text = as_csv(self.files) if isinstance(self.files, pd.DataFrame) else self.files
        for file, content in (text if isinstance(text, dict) else {"ward.csv": text}).items():
            (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())


TOLD = {
    # Text among numbers.
    "one cell below the limit": Told(ward(crp=with_cells("<5")), r"1 of 60 cells.*below-limit = .half"),
    "a word of its own, once": Told(
        ward(crp=with_cells("4711x")), "1 are something else, the first in data row 1|numbers with a unit"
    ),
    "a word that is known": Told(ward(crp=with_cells("unknown", "n.d.")), r'missing = \["n.d.", "unknown"\]'),
    "words and limits": Told(
        ward(crp=with_cells("<5", "unknown", "4711y")),
        "below-limit.*missing =.*something else, the first in data row 3",
    ),
    "percentages": Told(
        ward(crp=[f"{n}%" for n in range(ROWS)]), "with a percent sign", options="--drop age"
    ),
    "units in cells": Told(ward(crp=[f"{n % 9} mg/l" for n in range(ROWS)]), "numbers with a unit"),
    "thousands unsaid, in quotes": Told(
        ward(crp=[f"{n % 9 + 1},000" for n in range(ROWS)]), "thousands=comma"
    ),
    "points of thousands among whole numbers": Told(
        ward(crp=THOUSANDS), "may be thousands or decimals.*thousands=none", code=3
    ),
    "decimal commas, schema": Told(
        as_csv(ward(), sep=";", decimal=","),
        "--decimal comma.*column 'crp'",
        command="schema ward.csv --separator semicolon",
    ),
    "commas of thousands among whole numbers": Told(
        as_csv(ward(crp=[one.replace(".", ",") for one in THOUSANDS]), sep=";"),
        "may be thousands or decimals",
        code=3,
        options="--separator ; --decimal ,",
    ),
    "points that are no thousands, said so": Told(
        ward(crp=[f"{n % 9 + 1}.{n % 7}00" for n in range(ROWS)]), "fits", code=0, options="--thousands none"
    ),
    "three decimals of a laboratory": Told(
        ward(crp=[f"{0.217 * n:.3f}" for n in range(ROWS)]), "fits", code=0
    ),
    "thousands and decimals alike": Told(ward(), "the same character", options="--thousands ."),
    "codes with zeros among numbers": Told(
        ward(ward=[("01", "1", "12")[n % 3] for n in range(ROWS)]), "'ward' is written as codes are", code=3
    ),
    "codes with decimals among numbers": Told(
        ward(icd=[("250.0", "250.00", "401.9")[n % 3] for n in range(ROWS)]),
        "'icd' is written as codes are",
        code=3,
    ),
    "dates typed": Told(
        parquet(seen=pd.date_range("2024-01-01", periods=ROWS)),
        "'seen' looks like",
        command="check ward.parquet",
    ),
    "times": Told(
        parquet(stay=[pd.Timedelta(hours=n) for n in range(ROWS)]),
        "text or a date",
        command="check ward.parquet",
    ),
    "decimals of a database": Told(
        parquet(crp=[Decimal(str(one)) for one in LEVELS]), "fits", code=0, command="check ward.parquet"
    ),
    "truth values": Told(ward(smoker=[n % 5 < 2 for n in range(ROWS)]), "fits", code=0),
    "truth values and words": Told(
        ward(smoker=[("TRUE", "no")[n % 2] for n in range(ROWS)]), "'smoker' holds text.*yes/no"
    ),
    "a minus that is none": Told(ward(crp=with_cells("\u22125")), "data row 1"),
    "an error of Excel": Told(ward(crp=with_cells("#DIV/0!")), r'missing = \["#div/0!"\]'),
    # Cells that are no single thing.
    "lists in Parquet": Told(
        parquet(genes=[[1, 2], [3]] * 30), "column 'genes'", command="check ward.parquet"
    ),
    "lists in Parquet, run": Told(
        parquet(genes=[[1, 2], [3]] * 30), "column 'genes'", command=f"{RUN} ward.parquet"
    ),
    "lists in Parquet, dropped": Told(
        parquet(genes=[[1, 2], [3]] * 30), "fits", code=0, command="check ward.parquet --drop genes"
    ),
    "lists in Parquet, schema": Told(
        parquet(genes=[[n, 2] for n in range(ROWS)]), '"genes",  # ', code=0, command="schema ward.parquet"
    ),
    "structs in Parquet": Told(
        parquet(visit=[{"ward": n % 3} for n in range(ROWS)]), "column 'visit'", command="check ward.parquet"
    ),
    "labels that are lists": Told(
        parquet(label=[[0], [1]] * 30), "does not hold classes", command="check ward.parquet"
    ),
    "bytes of a database": Told(database, "column 'note'", command="check ward.sql"),
    # Names of columns.
    "a comma in a name": Told(
        ward().rename(columns={"crp": "crp, mg/l"}).assign(x="text"),
        "fits",
        code=0,
        options="--drop x --drop '\"crp, mg/l\"'",
    ),
    "a comma in a name, not quoted": Told(
        ward().rename(columns={"crp": "crp, mg/l"}), "double quotes", options="--drop 'crp, mg/l'"
    ),
    "a quote that is not closed": Told(ward(), "is not written right", options="--drop '\"crp'"),
    "several columns by commas": Told(ward(x="t" * ROWS, y="u" * ROWS), "fits", code=0, options="--drop x,y"),
    "a label with a comma": Told(
        ward(label=[("Diabetes, type 2", "none of it")[n // 3 % 2] for n in range(ROWS)]),
        "accuracy",
        code=0,
        command=f"{RUN} ward.csv --positive '\"Diabetes, type 2\"'",
    ),
    "two labels, one with a comma": Told(
        ward(label=[("Diabetes, type 2", "T1", "no")[n // 3 % 3] for n in range(ROWS)]),
        "accuracy",
        code=0,
        command=f"{RUN} ward.csv --positive T1 --positive '\"Diabetes, type 2\"'",
    ),
    "a name that is too long": Told(ward().rename(columns={"crp": "x" * 501}), "longer than 500 characters"),
    "a name that nobody sees": Told(ward().rename(columns={"crp": "cr\u200bp"}), r"U\+200B"),
    "the same name composed and not": Told(
        ward().rename(columns={"crp": "\u00fc", "age": "u\u0308"}), "same name"
    ),
    "a label column in another form": Told(
        ward().rename(columns={"label": "Ausga\u0308nge"}), "fits", code=0, options="--label Ausgänge"
    ),
    "a name like a control": Told(
        ward().rename(columns={"crp": "a\x1b[2Jb"}), r"U\+001B", command=f"{RUN} ward.csv"
    ),
    # How a file is written.
    "semicolons and a comma in a name": Told(
        as_csv(ward().rename(columns={"crp": "crp, mg"}), sep=";"), "--separator semicolon"
    ),
    "bars": Told(as_csv(ward(), sep="|"), "most likely by"),
    "the wrong encoding": Told("age,label\nä,1\n".encode(), "not text in ascii", options="--encoding ascii"),
    "UTF-16 without a mark": Told(as_csv(ward()).encode("utf-16-le"), "Error: "),
    "UTF-16 without a mark, said so": Told(
        as_csv(ward()).encode("utf-16-le"), "fits", code=0, options="--encoding utf-16-le"
    ),
    "all rows skipped": Told(ward(), "no row of column names", options="--skip-rows 99"),
    "a title": Told("Ward 7\n" + as_csv(ward()), "skip-rows|more or fewer fields"),
    "a footer": Told(as_csv(ward()) + "Total 60\n", "skip-footer"),
    "a footer as wide as the table": Told(as_csv(ward()) + "Total,60,\n", "skip-footer=1"),
    "two sheets": Told(
        excel(("Patients", ward()), ("Notes", ward())), "'Patients', 'Notes'", command="check ward.xlsx"
    ),
    "two sheets, one named": Told(
        excel(("Patients", ward()), ("Notes", ward())),
        "fits",
        code=0,
        command="check ward.xlsx --sheet Patients",
    ),
    "a sheet that is not there": Told(
        excel(("Patients", ward()), ("Notes", ward())), "0 sheets", command="check ward.xlsx --sheet patients"
    ),
    "one wrong index of LIBSVM": Told(
        {"ward.svm": "1 1:2\n-1 999999999:4\n"},
        "2 rows and 999999999 columns are .*GB",
        command="check ward.svm",
    ),
    "five thousand columns": Told(
        f"{WIDE},label\n" + "".join(f"{','.join(['7'] * 5000)},{n % 2}\n" for n in range(9)),
        "5000 columns, 'g0', .*4995 more: each is constant",
        code=3,
    ),
    # Labels.
    "labels 1 and 01": Told(ward(label=[("1", "01", "0")[n % 3] for n in range(ROWS)]), "differ only"),
    "labels none and mild": Told(
        ward(label=[("none", "mild")[n // 3 % 2] for n in range(ROWS)]), "called as missing cells", code=3
    ),
    "labels NA that are a class": Told(
        {
            "ward.csv": as_csv(ward(label=[("NA", "EU")[n // 3 % 2] for n in range(ROWS)])),
            "s.toml": "classes = ['NA', 'EU']\n" + LAB_SCHEMA,
        },
        "fits",
        code=0,
        options="--schema s.toml",
    ),
    # What a run says.
    "a running number of a sorted table": Told(
        ward(label=sorted(LABEL)).reset_index().rename(columns={"index": "Unnamed: 0"}),
        "Warning: ward.csv: Column 'Unnamed: 0' looks like",
        code=0,
        command=f"{RUN} ward.csv",
    ),
    "many doubts": Told(
        ward(a=[1] * ROWS, b=[None] * ROWS, c=range(ROWS), d=LABEL),
        "(Warning: [^\n]*\n){2}Warning: ward.csv: [0-9]+ more warnings; 'pansvm check'",
        code=0,
        command=f"{RUN} ward.csv",
    ),
    # The schema file.
    "codes of a schema that are one number": Told(
        {
            "ward.csv": as_csv(ward(x=[("01", "1")[n % 2] for n in range(ROWS)])),
            "s.toml": "[columns.age]\n[columns.x]\nkind = 'category'\ncategories = ['01', '1']\n",
        },
        "fits",
        code=0,
        options="--schema s.toml",
    ),
    "a column called sep=": Told(
        csv("sep=x,label", *(f"{n % 9},{n // 3 % 2}" for n in range(ROWS))), "fits", code=0
    ),
    "days as whole numbers": Told(
        ward(seen=[20240300 + n % 28 + 1 for n in range(ROWS)]), "'seen' looks like", code=3
    ),
    "missing codes of SAS": Told(ward(crp=with_cells(".A", ".B")), "2 are something else"),
    "missing by the command line": Told(
        ward(crp=with_cells("lost", "gone")), "fits", code=0, options="--missing lost,gone"
    ),
    "missing by the schema file": Told(
        {
            "ward.csv": as_csv(ward(crp=with_cells("lost"))),
            "s.toml": LAB_SCHEMA + "[reading]\nmissing = ['lost', 'k. A.']\n",
        },
        "fits",
        code=0,
        options="--schema s.toml",
    ),
}


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_a_person_is_told(case: Told, pansvm: Run, tmp_path: Path) -> None:
    case.write(tmp_path)
    code, out, err = pansvm(*shlex.split(f"{case.command} {case.options}"))
    assert code == case.code, out + err
    assert re.search(case.said, err + out, re.DOTALL), out + err
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

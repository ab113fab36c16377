"""Tables as hospitals export them: what each is read as, first schema files of them, and an afternoon with one.

What a person is told of a table that cannot be read, or should be looked at, is in ``test_bad_tables.py``.
"""

import io
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clients.checking.drafting import draft
from clients.table.form import TableForm
from clients.table.reading import read_table
from flower_pansvm.table_schema import TableSchema
from tests.command_line import Run
from tests.simulations.test_bad_tables import ROWS, as_csv, csv, ward

NAN = float("nan")
LAB = "[columns.crp]\n{}\n"
GERMAN = '[reading]\nseparator = "semicolon"\ndecimal = ","\n'


@dataclass(frozen=True)
class Read:
    """A file's content, and the rows and labels it is read as; the schema's columns, options of reading."""

    content: bytes
    X: list[list[float]]
    labels: str
    columns: str
    options: dict[str, str]


def read(
    content: bytes, *X: float | list[float], labels: str = "abab", columns: str = "", **options: str
) -> Read:
    """Return a case; a row of one column may be a number."""
    named = {option.replace("_", "-"): value for option, value in options.items()}
    return Read(content, [one if isinstance(one, list) else [one] for one in X], labels, columns, named)


def text(column: str, *cells: str) -> bytes:
    """Return a CSV of one column and the labels a, b, a, b."""
    return csv(f"{column},label", *(f"{cell},{label}" for cell, label in zip(cells, "abab", strict=False)))


def coded(cells: str, categories: str, places: str, more: str = "") -> Read:
    """Return a case of codes, with the place of each cell's category in the schema; a missing one has none."""
    names = categories.split(",")
    listed = ", ".join(f'"{name}"' for name in names)
    columns = f"[columns.code]\nkind = 'category'\ncategories = [{listed}]\n{more}"
    rows = [
        [NAN if place == "-" else float(place == str(number)) for number in range(len(names))]
        for place in places
    ]
    return read(text("code", *cells.split(",")), *rows, columns=columns)


READ = {
    # Codes.
    "ICD codes with one and two decimals": coded("250.0,250.00,250.0,250.00", "250.0,250.00", "0101"),
    "codes with a leading zero": coded("01,1,1,01", "01,1", "0110"),
    "stages": coded("1.1,1.10,1.1", "1.1,1.10", "010"),
    "codes that Excel has stripped": coded("1,2,1", "01,02", "010"),
    "codes that pandas has made decimals": coded("1.0,2.0,", "1,2", "01-"),
    "a code among words": coded("V58.1,250.00,E11.9", "V58.1,250.00,E11.9", "012"),
    "a category called none": coded("none,mild,NONE", "none,mild", "010"),
    "a category called NA": coded("NA,x,", "NA,x", "01-"),
    "a code for missing beside a code": coded("9,09,9", "09,1", "-0-", 'missing = ["9"]'),
    "true and false as categories": coded("TRUE,false,True", "true,false", "010"),
    "umlauts composed and not": coded("mu\u0308de,wach,m\u00fcde", "m\u00fcde,wach", "010"),
    # Labels.
    "labels as numbers of a program": read(csv("age,label", "1,1.0", "2,0.0"), 1, 2, labels="10"),
    "labels + and -": read(csv("age,label", "1,+", "2,-", "3,+"), 1, 2, 3, labels="+-+"),
    # Missing cells.
    "words for missing": read(text("crp", "NULL", "N/A", "#N/A", "None"), NAN, NAN, NAN, NAN),
    "signs for missing": read(text("crp", ".", "-", "?", "<NA>"), NAN, NAN, NAN, NAN),
    "a word that is said": read(text("crp", "5", "k. A.", "7", "K. A."), 5, NAN, 7, NAN, missing="k. A."),
    "two words that are said": read(text("crp", "5", "-9.0", "7", "nd"), 5, NAN, 7, NAN, missing="-9,nd"),
    "words of the schema": read(
        text("crp", "5", "Unk", "-999.00", "7"), 5, NAN, NAN, 7, columns=LAB.format('missing = ["unk", -999]')
    ),
    "words of the schema for all columns": read(
        text("crp", "5", "k. A."), 5, NAN, columns=LAB.format("[reading]\nmissing = ['lost', 'k. A.']")
    ),
    "below a limit, half": read(
        text("crp", "<5", "7", "< 0.4", "> 200"), 2.5, 7, 0.2, 200, columns=LAB.format('below-limit = "half"')
    ),
    "below a limit, the limit": read(
        text("crp", "<5", "7", "<=0.4", "≥ 200"), 5, 7, 0.4, 200, columns=LAB.format('below-limit = "limit"')
    ),
    # Names of columns.
    "sodium": read(text("Na", "140", "138"), 140, 138),
    "a column called NA": read(text("NA", "140", "138"), 140, 138),
    "blanks around names": read(csv(" crp , label ", "1,a", "2,b"), 1, 2),
    "a line break in a name": read(text('"crp\n(mg/l)"', "1", "2"), 1, 2),
    "a name that is not composed": read(
        text("gro\u0308\u00dfe", "1", "2"), 1, 2, columns='[columns."gr\u00f6\u00dfe"]\n'
    ),
    "a blank that does not break": read(
        text("age\u00a0years", "1", "2"), 1, 2, columns='[columns."age years"]\n'
    ),
    # Points and commas.
    "a decimal comma": read(csv("crp;label", "1,5;a", "2;b"), 1.5, 2, separator=";", decimal=","),
    "the word comma": read(csv("crp;label", "1,5;a", "2;b"), 1.5, 2, separator="semicolon", decimal="comma"),
    "points for thousands": read(
        csv("crp;label", "1.234;a", "2.345.678,5;b", "12;a"),
        *(1234, 2345678.5, 12),
        **{"separator": ";", "decimal": ",", "thousands": "."},
    ),
    "commas for thousands": read(text("crp", '"1,234"', '"12,345.5"', "7"), 1234, 12345.5, 7, thousands=","),
    "blanks for thousands": read(
        text("crp", "1 234", "12\u00a0345", "7\u202f000"), 1234, 12345, 7000, thousands="blank"
    ),
    "apostrophes for thousands": read(
        text("crp", "1'234", "-2'345'678.5"), 1234, -2345678.5, thousands="apostrophe"
    ),
    "no thousands": read(text("crp", "1.234", "2"), 1.234, 2, thousands="none"),
    "exponents": read(text("crp", "1.5e3", "2E-1"), 1500, 0.2),
    # How a file is written.
    "Excel's line": read(csv("sep=;", "crp;label", "1;a", "2;b"), 1, 2),
    "Excel's line with a mark": read(b"\xef\xbb\xbfsep=;\r\ncrp;label\r\n1;a\r\n2;b\r\n", 1, 2),
    "UTF-16 with a mark": read("crp,label\n1,ä\n2,b\n".encode("utf-16"), 1, 2, labels="äb"),
    "Windows' encoding": read("crp,label\n1,ä\n2,b\n".encode("cp1252"), 1, 2, labels="äb", encoding="cp1252"),
    "titles above": read(csv("Ward 7,,", "exported,,", "crp,label", "1,a", "2,b"), 1, 2, skip_rows="2"),
    "a footer": read(csv("crp,label", "1,a", "2,b", "Total: 2"), 1, 2, skip_footer="1"),
    "remarks": read(
        csv("# made by SAS", "crp,label", "1,a", "# and so on, and on", "2,b"), 1, 2, comment="#"
    ),
    "names again": read(csv("crp,label", "1,a", "crp,label", "2,b"), 1, 2),
    "columns of nothing at the end": read(csv("crp,label,,", "1,a,,", "2,b,,"), 1, 2),
    "empty rows": read(csv("crp,label", "1,a", ",", "", "2,b", ",", ","), 1, 2),
    "all of it": read(
        "sep=;\r\nWard 7;\r\ncrp;label\r\n<5;ä\r\n;\r\n1.234,5;b\r\nNULL;b\r\nk. A.;b\r\nTotal;4\r\n".encode(
            "cp1252"
        ),
        *(2.5, 1234.5, NAN, NAN),
        labels="äbbb",
        columns=LAB.format('below-limit = "half"'),
        **{"encoding": "cp1252", "decimal": ",", "thousands": ".", "missing": "k. A."},
        **{"skip_rows": "1", "skip_footer": "1"},
    ),
    "the schema file says how": read(
        csv("crp;label", "1,5;a", "2;b"), 1.5, 2, columns=LAB.format("") + GERMAN
    ),
    "and a site says otherwise": read(
        csv("crp|label", "1,5|a", "2|b"), 1.5, 2, columns=LAB.format("") + GERMAN, separator="|"
    ),
}


def schema_of(columns: str) -> TableSchema | None:
    return TableSchema.from_mapping(tomllib.loads(columns), "s.toml") if columns else None


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_a_file_is_read_right(case: Read, tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_bytes(case.content)
    table = read_table(tmp_path / "ward.csv", form=TableForm.of(case.options, schema_of(case.columns)))
    np.testing.assert_allclose(table.X, np.array(case.X))
    assert table.labels.tolist() == list(case.labels[: len(case.X)])


def test_row_ids_that_differ_in_a_zero_or_the_last_digit(tmp_path: Path) -> None:
    ids = ["12", "0012", "12345678901234567", "12345678901234568"]
    frame = pd.DataFrame({"id": ids, "age": [1, 2, 3, 4], "label": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", row_id="id")
    assert sorted(table.ids.tolist()) == sorted(ids)
    frame.iloc[2:].astype({"id": "int64"}).to_parquet(tmp_path / "a.parquet")
    numbers = read_table(tmp_path / "a.parquet", row_id="id").ids
    assert numbers.tolist() == ids[2:]


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
    (tmp_path / "s.toml").write_text(draft(tmp_path / "ward.csv", "label", form).text)
    schema = TableSchema.read(tmp_path / "s.toml")
    (column,) = schema.columns
    assert (column.name, column.kind) == ("crp", "number")
    assert (column.missing, column.below_limit) == (("unk",), "half")
    assert schema.leave_out == ()
    table = read_table(tmp_path / "ward.csv", form=TableForm.of({}, schema))
    assert np.isnan(table.X[:21]).all()
    assert (table.X[21:32] == 2.5).all()


def test_codes_are_categories_in_a_first_schema_file(tmp_path: Path) -> None:
    codes = ("01", "1", "250.0", "250.00")
    ward(code=[codes[n % 4] for n in range(ROWS)]).to_csv(tmp_path / "ward.csv", index=False)
    schema = TableSchema.from_mapping(
        tomllib.loads(draft(tmp_path / "ward.csv", "label", TableForm()).text), "s.toml"
    )
    (column,) = (one for one in schema.columns if one.name == "code")
    assert (column.kind, column.categories) == ("category", codes)


@pytest.mark.parametrize(
    "cells",
    [
        ["w", "W", "m"],
        ["Ja", "ja", "Nein", "NEIN"],
        ["stage I/II", "III (late)", "no, never", "50%"],
        [*[">200"] * 9, *map(str, range(40, 60))],
        ["<5", ">200", "12", "48"],
        [*map(str, range(40, 60)), "0", "0"],
    ],
    ids=str,
)
def test_a_first_schema_file_fits_the_table_that_it_was_made_of(
    cells: list[str], pansvm: Run, tmp_path: Path
) -> None:
    path, out = tmp_path / "ward.csv", tmp_path / "ours.toml"
    ward(odd=[cells[n % len(cells)] for n in range(ROWS)]).to_csv(path, index=False)
    assert pansvm("schema", path, "--out", out)[0] == 0
    code, said, errors = pansvm("check", path, "--schema", out)
    assert code in (0, 3), said + errors
    assert '[columns."odd"]' in out.read_text()


def test_limits_are_read_as_joining_reads_them(tmp_path: Path) -> None:
    cells = [(">2.500", "1.800", "1.200")[n % 3] for n in range(ROWS)]
    labels = ["yes" if n % 2 else "no" for n in range(ROWS)]
    pd.DataFrame({"odd": cells, "label": labels}).to_csv(tmp_path / "ward.csv", index=False)
    form = TableForm(thousands=".", decimal=",")
    assert "range = [0, 3000]" in draft(tmp_path / "ward.csv", "label", form).text


def test_limits_far_from_all_numbers_are_no_codes_for_missing_cells(pansvm: Run, tmp_path: Path) -> None:
    """They are the largest numbers of the column, and would be filled with its mean."""
    path, out = tmp_path / "ward.csv", tmp_path / "ours.toml"
    cells = [">100" if n % 5 == 0 else "-9" if n % 5 == 1 else f"{3 + n % 37 / 10}" for n in range(ROWS)]
    ward(odd=cells).to_csv(path, index=False)
    assert pansvm("schema", path, "--out", out)[0] == 0
    (column,) = (one for one in TableSchema.read(out).columns if one.name == "odd")
    assert column.missing == ("-9",)
    assert column.ends is not None
    assert column.ends[1] >= 100
    _, said, _ = pansvm("check", path, "--schema", out)
    assert "'odd'" not in said


def test_infinite_numbers_are_no_ends_of_a_range(tmp_path: Path) -> None:
    ward(odd=["inf" if n % 3 == 0 else str(n % 7) for n in range(ROWS)]).to_csv(
        tmp_path / "ward.csv", index=False
    )
    assert "range = [0, 10]" in draft(tmp_path / "ward.csv", "label", TableForm()).text


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
    err = pansvm.error("check", "export.csv")
    options = re.findall("--separator [a-z]+", err)[0].split()
    code, out, _ = pansvm("check", "export.csv", *options)
    assert code == 1
    assert "The last column is 'outcome'" in out
    options += ["--label", "outcome"]
    err = pansvm.error("schema", "export.csv", *options)
    options += re.findall("--decimal [a-z]+", err)[0].split()
    out = pansvm.output("schema", "export.csv", *options, "--out", "ours.toml")
    command = out.split("pansvm ")[-1].split()
    code, out, _ = pansvm(*command)
    assert code == 1
    footer = re.findall("skip-footer=([0-9])", out)[0]
    missing = re.findall(r"missing = \[(.*?)\]", out)[0]
    text = (tmp_path / "ours.toml").read_text()
    text = text.replace("[reading]", f'[reading]\nskip-footer = "{footer}"')
    text = text.replace("missing = [-999]", f"missing = [-999, {missing}]")
    (tmp_path / "ours.toml").write_text(text)
    out = pansvm.output(*command)
    assert "are empty or the column names again, and do not count.\n" in out
    assert out.endswith("export.csv fits.\n")
    schema = TableSchema.read(tmp_path / "ours.toml")
    assert {one.name: one.kind for one in schema.columns} == {
        **{"age": "number", "crp": "number", "sodium": "number", "sex": "number"},
        **{"stage_code": "category", "smoker": "yes/no"},
    }
    table = read_table(tmp_path / "export.csv", form=TableForm.of({}, schema))
    assert table.X.shape == (420, 8)
    assert 0.75 in table.X[:, 1]
    pansvm.output(
        *("run", "--engine", "in-process", "--data", "export.csv", "--schema", "ours.toml"),
        *("--sites", 3, "--set", "landmarks=20", "--out", "out"),
    )
    pansvm.output("report", "out")
    assert (tmp_path / "out" / "report.html").is_file()

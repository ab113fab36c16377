"""First schema files fit the table they were made of, or ``pansvm schema`` says before which rows will not."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.table_schema import TableSchema
from tests.command_line import Run
from tests.simulations.test_bad_tables import ROWS, ward

WHOLE = (0, 3)  # exit codes of a check of what fits


def drafted(pansvm: Run, table: Path, *options: str) -> tuple[str, TableSchema]:
    """Return what `pansvm schema` prints, and the file that it has written."""
    out = table.parent / "ours.toml"
    out.unlink(missing_ok=True)
    return pansvm.output("schema", table, *options, "--out", out), TableSchema.read(out)


def rows_said(printed: str) -> dict[str, int]:
    """Return the rows of each column that `pansvm schema` has said will not fit."""
    return {name: int(rows) for name, rows in re.findall(r"'([^']+)' \((\d+)\)", printed)}


@pytest.mark.parametrize(
    "text",
    ['says "so"', "stage 1–2", "≥ 5", "37 °C", "C#", "[x]", "*", "yes?", "a\\b", "'x", "µg/l | <2", "=1+1", "½ {}"],
)  # fmt: skip
def test_a_common_text_is_a_category_whatever_its_characters(text: str, pansvm: Run, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    ward(odd=[(text, "bad", "none of it")[n % 3] for n in range(ROWS)]).to_csv(path, index=False)
    printed, schema = drafted(pansvm, path)
    (column,) = (one for one in schema.columns if one.name == "odd")
    assert text in column.categories
    assert "will not" not in printed
    assert pansvm("check", path, "--schema", tmp_path / "ours.toml")[0] in WHOLE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\nb", "line breaks"),
        ("a\u200bb", "line breaks"),
        ("x" * 61, "more than 60 characters"),
        ("P0012345", "numbers of patients"),
        ("since 1.2.2019", "dates"),
        ("ward@clinic.example", "addresses"),
    ],
)
def test_a_common_text_that_is_not_written_leaves_its_column_out_with_the_reason(
    text: str, reason: str, pansvm: Run, tmp_path: Path
) -> None:
    """A list without it would be a file that does not fit, and tell nobody why."""
    path = tmp_path / "ward.csv"
    ward(odd=[(text, "bad", "none")[n % 3] for n in range(ROWS)]).to_csv(path, index=False)
    printed, schema = drafted(pansvm, path)
    assert "odd" in schema.leave_out
    assert re.search(rf'"odd",  # .*{reason}', (tmp_path / "ours.toml").read_text())
    assert text not in (tmp_path / "ours.toml").read_text()
    assert "will not" not in printed
    assert pansvm("check", path, "--schema", tmp_path / "ours.toml")[0] in WHOLE


@pytest.mark.parametrize(
    "cells",
    [
        ["rare"] * 3 + ["A", "B"] * (ROWS // 2),
        ["maybe"] * 3 + ["yes", "no"] * (ROWS // 2),
        ["03"] * 3 + ["01", "02"] * (ROWS // 2),
        ["<5"] * 3 + [f"{n + 0.5}" for n in range(ROWS)],
        ["hemolyzed"] * 3 + [f"{n + 0.5}" for n in range(ROWS)],
        ["inf"] * 3 + [f"{n + 0.5}" for n in range(ROWS)],
    ],
    ids=lambda cells: cells[0],
)
def test_rows_that_will_not_fit_are_named_before_and_are_not_in_the_file(
    cells: list[str], pansvm: Run, tmp_path: Path
) -> None:
    path = tmp_path / "ward.csv"
    ward(odd=cells[:ROWS]).to_csv(path, index=False)
    printed, _ = drafted(pansvm, path)
    assert rows_said(printed) == {"odd": 3}
    assert f'"{cells[0]}"' not in printed
    assert f'"{cells[0]}"' not in (tmp_path / "ours.toml").read_text()
    code, out, _ = pansvm("check", path, "--schema", tmp_path / "ours.toml")
    assert code == 1
    assert "'odd'" in out


def test_a_file_that_is_printed_is_not_mixed_with_what_is_said_of_it(pansvm: Run, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    ward(odd=["rare"] * 3 + ["A", "B", "A"] * (ROWS // 3 - 1)).to_csv(path, index=False)
    code, out, err = pansvm("schema", path)
    assert code == 0
    (tmp_path / "ours.toml").write_text(out)
    assert (
        "A"
        in next(
            one for one in TableSchema.read(tmp_path / "ours.toml").columns if one.name == "odd"
        ).categories
    )
    assert rows_said(err) == {"odd": 3}


def test_labels_that_can_be_no_classes_are_said_to_be(pansvm: Run, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    ward(label=['died "at home"', "alive"] * (ROWS // 2)).to_csv(path, index=False)
    printed, schema = drafted(pansvm, path)
    assert schema.classes == ()
    assert "will refuse the labels" in printed
    assert "too few" not in (tmp_path / "ours.toml").read_text()


def test_a_measurement_with_a_third_of_a_word_is_not_called_an_identity(pansvm: Run, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    ward(odd=["unk" if n % 3 == 0 else f"{n + 0.25}" for n in range(ROWS)]).to_csv(path, index=False)
    drafted(pansvm, path)
    assert re.search(r'"odd",  # numbers, and text', (tmp_path / "ours.toml").read_text())


def test_a_redcap_export(
    pansvm: Run, tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = shared_data.parent / "trials" / "make_redcap.py"
    if not script.is_file():
        pytest.skip("no trials on this machine")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    path = tmp_path / "export.csv"
    how = ["--separator", "semicolon", "--skip-footer", "1", "--decimal", "comma"]
    printed, schema = drafted(pansvm, path, *how, "--label", "Verstorben 30d")
    assert rows_said(printed) == {}
    assert pansvm("check", path, "--schema", tmp_path / "ours.toml")[0] in WHOLE
    (remark,) = (one for one in schema.columns if one.name == "Bemerkung")
    assert 'sagt "geht so"' in remark.categories
    assert {"record_id", "Aufnahmedatum"} <= set(schema.leave_out)
    code, _, err = pansvm(
        *("run", "--engine", "in-process", "--data", path, "--schema", tmp_path / "ours.toml"),
        *("--sites", 3, "--set", "landmarks=20", "--out", tmp_path / "out"),
    )
    assert code == 0, err
    assert (tmp_path / "out" / "report.html").is_file()


def a_laboratory(draw: np.random.Generator, rows: int) -> pd.DataFrame:
    """Return what a laboratory system writes: signs, limits, flags, a title above and a line below."""
    ill = draw.random(rows) < 0.4
    troponin = np.exp(draw.normal(1.5 + ill, 1))
    return pd.DataFrame(
        {
            "Proben-ID": [f"L{n:07d}" for n in draw.permutation(10**7)[:rows]],
            "Troponin T (ng/l) [≥ 14 path.]": [f"{one:.1f}" if one >= 3 else "<3" for one in troponin],
            "ΔK⁺": draw.normal(0, 0.4, rows).round(2),
            "Bewertung": draw.choice(["*", "**", "↑", "↑↑", "o. B."], rows),
            "Urin-Stix": draw.choice(["neg.", "(+)", "+", "++", "# n. d."], rows),
            "Material": draw.choice(["EDTA-Blut", "Serum „klar“", 'Serum "lipämisch"'], rows),
            "Station": draw.choice(["4b\\West", "4b\\Ost", "ITS [1]"], rows),
            "Anmerkung": draw.choice(["", "Rückruf an 0221 4785-0", "wie besprochen"], rows),
            "label": np.where(ill, "krank", "gesund"),
        }
    )


def a_registry(draw: np.random.Generator, rows: int) -> pd.DataFrame:
    """Return what a registry's form collects: rare answers, choices with their wording, missing in four ways."""
    late = draw.random(rows) < 0.5
    stage = draw.choice(["T1", "T2", "T3–T4"], rows).astype(object)
    stage[:4] = "Tx (unklar)"
    dose = draw.normal(60 - 8 * late, 6, rows).round(1).astype(str).astype(object)
    dose[7:19], dose[40:43] = "n/d", "hold"
    pain = draw.choice(["0: none", "1: ≤ 3 of 10", "2: > 3 of 10?", "don't know / won't say", ""], rows)
    return pd.DataFrame(
        {
            "Subject": [f"S-{n:03d}" for n in range(rows)],
            "stage; clinical": stage,
            "dose\n(Gy)": dose,
            "pain, worst": pain,
            "consent": draw.choice(["Yes – all", "Yes – only\u00a0research", "[not asked]"], rows),
            "visit": [f"{n % 27 + 1}/{n % 12 + 1}/2021" for n in range(rows)],
            "ECOG": draw.choice(["0", "1", "2", "?"], rows),
            "comment": draw.choice(["", "see letter\nof the clinic"], rows),
            "label": np.where(late, "relapse, late", "none"),
        }
    )


@pytest.mark.parametrize(
    ("made", "left_out", "said"),
    [
        (a_laboratory, {"Proben-ID", "Anmerkung"}, {}),
        (a_registry, {"Subject", "visit", "comment"}, {"stage; clinical": 4, "dose (Gy)": 3}),
    ],
)
def test_a_messy_export(made, left_out, said, pansvm: Run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "export.csv"
    made(np.random.default_rng(5), 260).to_csv(path, index=False, sep=";", encoding="utf-8-sig")
    printed, schema = drafted(pansvm, path, "--separator", "semicolon")
    assert set(schema.leave_out) == left_out
    assert rows_said(printed) == said
    text = (tmp_path / "ours.toml").read_text()
    if said:  # what a person then writes
        text = text.replace('categories = ["T1",', f'categories = [{json.dumps("Tx (unklar)")}, "T1",')
        text = text.replace('missing = ["n/d"]', 'missing = ["n/d", "hold"]')
        (tmp_path / "ours.toml").write_text(text)
    code, out, _ = pansvm("check", path, "--schema", tmp_path / "ours.toml")
    assert code in WHOLE, out


def test_rows_of_an_unlisted_label_have_no_part_anywhere_and_are_said_to_have_none(
    pansvm: Run, tmp_path: Path
) -> None:
    """One rule from the first schema file to the figures, as at hospitals: they are left out, with a word."""
    frame = ward(label=["a", "b"] * (ROWS // 2))
    frame.to_csv(tmp_path / "without.csv", index=False)
    rare = frame.iloc[:6].assign(label="lost to follow-up")
    pd.concat([frame.iloc[:9], rare, frame.iloc[9:]]).to_csv(tmp_path / "ward.csv", index=False)
    printed, schema = drafted(pansvm, tmp_path / "ward.csv")
    assert schema.classes == ("a", "b")
    assert "The labels of 6 rows are not among the classes" in printed
    code, out, _ = pansvm("check", tmp_path / "ward.csv", "--schema", tmp_path / "ours.toml")
    assert code == 3
    assert out.startswith("Warning: The column 'label' of 'ward.csv' has 6 labels")
    results = {}
    for name in ("ward", "without"):
        code, _, err = pansvm(
            *("run", "--engine", "in-process", "--data", tmp_path / f"{name}.csv"),
            *("--schema", tmp_path / "ours.toml", "--sites", 3, "--set", "landmarks=20"),
            *("--privacy", "exact", "--out", tmp_path / name),
        )
        assert code == 0, err
        assert ("6 labels that are none of the schema's classes" in err) == (name == "ward")
        results[name] = json.loads((tmp_path / name / "result.json").read_text())
    for key in ("accuracy", "rows_train", "rows_test", "confusion", "objective"):
        assert results["ward"][key] == results["without"][key], key

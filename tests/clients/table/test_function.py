"""A hospital's rows may come from a function that it has installed, and from nothing that lies elsewhere."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clients.rows import true_table
from clients.table.file import read_frame
from clients.table.reading import read_table
from clients.table.table import Table, digest
from flower_pansvm.errors import TableError
from tests.contexts import own_hospital

CODE = """
import pandas as pd

def patients():
    return pd.DataFrame({"age": [50.0, 61.0, None], "dose": [0.5, 0.1, 0.2], "label": [1, 0, 1]})

def nobody():
    return patients()[:0]

def fails():
    raise RuntimeError("password of the database")

VALUE = 3
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "our_fhir.py").write_text(CODE)
    (tmp_path / "not_installed.py").write_text(CODE)
    info = tmp_path / "our_fhir-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-fhir\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("our_fhir\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_it_is_read_as_a_file_is() -> None:
    frame = read_frame(Path("python:our_fhir:patients"))
    assert list(frame) == ["age", "dose", "label"]
    table = read_table(Path("python:our_fhir:patients"))
    assert table.labels is not None
    assert list(table.labels) == ["1", "0", "1"]
    assert len(table.X) == 3


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "data",
    [
        *("python:not_installed:patients", "python:json:loads", "python:our_fhir:elsewhere"),
        *(
            "python:our_fhir:VALUE",
            "python:our_fhir:nobody",
            "python:our_fhir:fails",
            "python:",
            "python:our_fhir",
        ),
    ],
)
def test_what_cannot_be_used_is_an_error_without_what_it_raised(data: str) -> None:
    with pytest.raises(TableError) as raised:
        read_table(Path(data))
    assert "password" not in str(raised.value).replace(raised.value.detail, "")


@pytest.mark.usefixtures("installed")
def test_each_run_asks_anew_and_a_run_has_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process answers all runs of a hospital."""
    first, node = (
        read_frame(Path("python:our_fhir:patients")),
        {"name": "north", "data": "python:our_fhir:patients"},
    )
    own = own_hospital(node, run_id=1)
    assert len(true_table(own).X) == 3
    monkeypatch.setattr("our_fhir.patients", lambda: first[:2])
    assert len(true_table(own).X) == 3
    assert len(true_table(own_hospital(node, run_id=2)).X) == 2


def test_a_digest_of_a_table_holds_its_ids() -> None:
    table = Table(("age",), np.zeros((2, 1)), None, ids=np.array(["a1", "a2"]))
    assert digest(table) == digest(replace(table))
    assert digest(table) != digest(replace(table, ids=np.array(["b1", "b2"])))
    assert digest(table) != digest(replace(table, ids=None, patients=table.ids))

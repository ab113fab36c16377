"""A hospital's rows may come from a function that it has installed, and from nothing that lies elsewhere."""

import json
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from clients.rows import true_table
from clients.table.file import read_frame
from clients.table.form import TableForm
from clients.table.opening import digest
from clients.table.reading import read_table, table_from_frame
from clients.table.sources.function import as_frame
from clients.table.table import Table
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
    site = tmp_path / "site"
    site.mkdir()
    (site / "our_fhir.py").write_text(CODE)
    (site / "not_installed.py").write_text(CODE)
    info = site / "our_fhir-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-fhir\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("our_fhir\n")
    monkeypatch.syspath_prepend(site)
    # Of another test's folder.
    for name in [name for name in sys.modules if name.partition(".")[0] == "our_fhir"]:
        monkeypatch.delitem(sys.modules, name)


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
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("raise RuntimeError('password of the database')", "RuntimeError"),
        ("import sys\nsys.exit('password of the database')", "SystemExit"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("patients =", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_without_what_it_raised(
    code: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "site" / "our_fhir.py").write_text(code)
    with pytest.raises(TableError, match=f"our_fhir.*{kind}") as raised:
        read_table(Path("python:our_fhir:patients"))
    assert "password" not in str(raised.value).replace(raised.value.detail, "")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("place", ["our_fhir.py", "our_fhir/__init__.py", "our_fhir/tables.py"])
def test_a_folder_that_comes_first_is_refused_and_not_executed(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder where a process starts, or of PYTHONPATH."""
    shadow = tmp_path / "start" / place
    shadow.parent.mkdir(parents=True)
    shadow.write_text("raise RuntimeError('executed')\n")
    if shadow.name == "tables.py":  # of a namespace package, which another part may be in
        (tmp_path / "site" / "our_fhir.py").unlink()
        (tmp_path / "site" / "our_fhir").mkdir()
        (tmp_path / "site" / "our_fhir" / "patients.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path / "start")
    name = "our_fhir.patients" if shadow.name == "tables.py" else "our_fhir"
    with pytest.raises(TableError, match=r"start.*our_fhir.* comes first.*Rename"):
        read_table(Path(f"python:{name}:patients"))


def test_a_package_installed_from_its_folder_is_found_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip install -e does it."""
    source = tmp_path / "our source"
    source.mkdir()
    (source / "edited_fhir.py").write_text(CODE)
    info = tmp_path / "installed" / "edited_fhir-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edited-fhir\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("edited_fhir\n")
    (info / "direct_url.json").write_text(
        json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})
    )
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.syspath_prepend(source)
    assert len(read_frame(Path("python:edited_fhir:patients"))) == 3


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


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "body", ["raise ValueError('patient 4711')", "raise SystemExit('patient 4711')", "return 3"]
)
def test_another_packages_source_that_fails_is_named_without_what_it_raised(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, table = tmp_path / "site", tmp_path / "ward.fhir"
    (site / "our_fhir.py").write_text(f"def read(content, name, form):\n    {body}\n")
    points = site / "our_fhir-1.0.dist-info" / "entry_points.txt"
    points.write_text("[flower_pansvm.sources]\n.fhir = our_fhir:read\n")
    monkeypatch.setattr("flower_pansvm.registry._installed", lambda group: tuple(entry_points(group=group)))
    table.write_text("rows")
    with pytest.raises(TableError, match=r"ward\.fhir.*our_fhir:read failed with") as raised:
        read_table(table)
    assert "4711" not in raised.value.with_detail()


def test_a_digest_of_a_table_holds_its_ids() -> None:
    table = Table(("age",), np.zeros((2, 1)), None, ids=np.array(["a1", "a2"]))
    assert digest(table) == digest(replace(table))
    assert digest(table) != digest(replace(table, ids=np.array(["b1", "b2"])))
    assert digest(table) != digest(replace(table, ids=None, patients=table.ids))


def test_columns_keep_their_names_and_numbered_ones_get_some() -> None:
    named = pd.DataFrame({"age": [1.0, 2.0], "dose": [3.0, 4.0]})
    assert list(as_frame((named, [0, 1]), "rows", "label").columns) == ["age", "dose", "label"]
    for X in (named.to_numpy(), pd.DataFrame(named.to_numpy())):
        assert list(as_frame((X, [0, 1]), "rows", "label").columns) == ["x1", "x2", "label"]


class Polars:
    """Cells with names that are no frame of pandas."""

    columns: ClassVar = ["dose", "age"]

    def __array__(self, *_: object, **__: object) -> Any:
        return np.array([[3.0, 1.0], [4.0, 2.0]])


def test_any_frame_tells_its_columns_names() -> None:
    """Else a site with another order would mix columns up."""
    assert list(as_frame((Polars(), [0, 1]), "rows", "label").columns) == ["dose", "age", "label"]


def test_masked_cells_are_missing_whatever_lies_below() -> None:
    X, y = np.ma.masked_equal([[1, 2], [3, 9]], 9), np.ma.masked_equal([0, 9], 9)
    frame = as_frame((X, y), "rows", "label")
    assert frame.isna().to_numpy().tolist() == [[False] * 3, [False, True, True]]
    with pytest.raises(TableError, match="without a label"):
        table_from_frame(frame, "label", "rows", TableForm())


@pytest.mark.parametrize(
    "result",
    [
        (pd.DataFrame({"age": [1.0], "label": [0.0]}), [1]),
        (np.ones((2, 1)), [1]),
        (np.ones(2), [1, 0]),
        (np.ones((2, 2)), [1, 0], ["a"]),
        (np.ones((0, 2)), []),
        (pd.DataFrame({"age": [1.0, 2.0]}, index=[7, 8]), pd.Series([0, 1], index=[8, 7])),
        [1, 2],
    ],
)
def test_what_does_not_fit_together_is_refused(result: object) -> None:
    with pytest.raises(TableError):
        as_frame(result, "rows", "label")


def test_labels_with_an_index_of_their_own_go_by_position() -> None:
    """As in scikit-learn, which they may come from; only the same index in another order is a mistake."""
    X = pd.DataFrame({"age": [1.0, 2.0]}, index=[7, 8])
    visits = X.set_index(pd.MultiIndex.from_tuples([(7, "first"), (7, "second")]))
    for rows, y in ((X, pd.Series([0, 1])), (X, pd.Series([0, 1], X.index)), (visits, pd.Series([0, 1]))):
        assert list(as_frame((rows, y), "rows", "label")["label"]) == [0, 1]


def test_a_sparse_matrix_is_named() -> None:
    with pytest.raises(TableError, match="not sparse"):
        as_frame((csr_matrix(np.ones((2, 2))), [1, 0]), "rows", "label")


def test_complex_numbers_lose_no_part_of_theirs() -> None:
    frame = as_frame((np.array([[1 + 2j, 3], [1, 4]]), [1, 0]), "rows", "label")
    with pytest.raises(TableError, match="text or a date where a number is needed"):
        table_from_frame(frame, "label", "rows", TableForm())

"""Copies of large tables: the same table again, private, and never in the way."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.hospital import Hospital
from clients.table import disk_cache as table_cache
from clients.table.disk_cache import cache_folder, read_through_cache
from clients.table.opening import open_table
from clients.table.reading import read_table
from clients.table.table import Table, align
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.terms import Scalar
from tests.clients.conftest import assert_same
from tests.contexts import own_hospital

Parse = list[Path]
CSV = "age,dose,outcome\n63,0.5,größe\n,-2,yes\n1e5,NA,no\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """Have every file count as large; return the list of the files that were really read, as it grows."""
    files: Parse = []

    def read(path: Path, *how: Any, **more: Any) -> Table:
        files.append(path)
        return read_table(path, *how, **more)

    monkeypatch.setattr("clients.table.opening.LARGE", 0)
    monkeypatch.setattr("clients.table.opening.read_table", read)
    monkeypatch.setattr(table_cache, "read_table", read)
    return files


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    path = tmp_path / "ward.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "pansvm"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def hospital(node: dict[str, Scalar]) -> Hospital:
    return own_hospital({"name": "north", **node})


def change(path: Path, text: str) -> None:
    """Write a file anew, at another time than before even if the clock has not moved."""
    before = path.stat().st_mtime_ns
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before, before + 1_000_000))


@pytest.mark.parametrize("name", ["ward.csv.gz", "ward.parquet", "ward.svm"])
@pytest.mark.parametrize("shape", [(1, 1), (40, 7), (3, 200)])
def test_a_copy_is_the_table_that_was_read(
    name: str, shape: tuple[int, int], tmp_path: Path, folder: Path, parsed: Parse
) -> None:
    generator, path = np.random.default_rng(0), tmp_path / name
    cells = np.where(generator.random(shape) < 0.2, np.nan, generator.standard_normal(shape))
    frame = pd.DataFrame(cells, columns=[f"größe {number}" for number in range(shape[1])])
    frame["label"] = generator.choice(["gesund", "krank, 髙い", "\U0001f600"], shape[0])
    if name.endswith("svm"):
        path.write_text("+1 1:2 3:0.5\n-1 2:nan\n")
    else:
        frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    first, again = (read_through_cache(path, None, folder) for _ in range(2))
    assert parsed == [path], "the second time the file was not read"
    assert_same(again, first)
    assert_same(again, read_table(path))
    # Of a text without zeros, that absent columns are zero comes back too.
    assert not name.endswith("svm") or align(again, ["f1", "f2", "f3", "f4"]).absent_is_zero


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        *((cell, np.float32) for cell in ("0.5", "-16777216", "")),
        *((cell, np.float64) for cell in ("1e-45", "0.1", "16777217", "1e12", "-1e-300")),
    ],
)
def test_a_copy_is_of_single_precision_only_if_no_cell_changes(
    cell: str, stored: type, tmp_path: Path, folder: Path, parsed: Parse
) -> None:
    path = tmp_path / "ward.csv"
    path.write_text(f"age,dose,label\n1,{cell},a\n?,2,b\n")
    _, table = (read_through_cache(path, None, folder) for _ in range(2))
    assert parsed == [path]
    assert table.X.dtype == stored
    np.testing.assert_array_equal(table.X, read_table(path).X)


cells = st.floats(-(2**39), 2**39, width=32) | st.floats(-1e12, 1e12) | st.just(np.nan)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6))
@pytest.mark.slow
def test_every_cell_survives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float]]
) -> None:
    place = tmp_path_factory.mktemp("cells")
    frame = pd.DataFrame(rows, columns=["a", "b"]).assign(label="x")
    frame.to_parquet(path := place / "ward.parquet")
    for _ in range(2):
        X = align(read_through_cache(path, None, place / "cache"), ["a", "b"]).X
        np.testing.assert_array_equal(X, frame[["a", "b"]].to_numpy())
        assert (np.signbit(X) == np.signbit(frame[["a", "b"]].to_numpy()))[~np.isnan(X)].all()


def test_a_changed_file_is_read_again_and_its_old_copy_removed(
    ward: Path, folder: Path, parsed: Parse
) -> None:
    read_through_cache(ward, "outcome", folder)
    before = entries(folder)
    change(ward, CSV.replace("63", "64"))
    table = read_through_cache(ward, "outcome", folder)
    assert table.X[0, 0] == 64
    assert parsed == [ward, ward]
    assert len(entries(folder)) == 1
    assert entries(folder) != before
    assert read_through_cache(ward, "outcome", folder).X[0, 0] == 64
    assert len(parsed) == 2


def test_tables_of_other_paths_are_kept_side_by_side_and_another_label_is_another_table(
    tmp_path: Path, ward: Path, folder: Path, parsed: Parse
) -> None:
    copy = tmp_path / "other.csv"
    shutil.copy2(ward, copy)
    for path in (ward, copy, ward, copy):
        read_through_cache(path, "outcome", folder)
    assert parsed == [ward, copy]
    assert len(entries(folder)) == 2
    for label, others in (("age", ("dose", "outcome")), ("dose", ("age", "outcome"))):
        change(ward, "age,dose,outcome\n1,2,3\n")
        assert [read_through_cache(ward, label, folder).columns for _ in range(2)] == [others] * 2
    assert parsed == [ward, copy, ward, ward]


def test_a_file_that_is_changed_while_it_is_read_is_not_kept(
    ward: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path, label: str | None = None, **_: object) -> Table:
        table = read_table(path, label)
        change(path, CSV.replace("63", "64"))
        return table

    monkeypatch.setattr(table_cache, "read_table", read)
    read_through_cache(ward, "outcome", folder)
    assert entries(folder) == []


@pytest.mark.parametrize("removed", [True, False])
def test_a_file_that_is_gone_or_may_no_longer_be_read_is_an_error_although_a_copy_is_there(
    removed: bool, ward: Path, folder: Path, parsed: Parse
) -> None:
    read_through_cache(ward, "outcome", folder)
    ward.unlink() if removed else ward.chmod(0)
    if os.access(ward, os.R_OK):
        pytest.skip("root may read everything")
    with pytest.raises(TableError, match=r"'ward\.csv'"):
        read_through_cache(ward, "outcome", folder)


def test_a_table_that_is_refused_is_not_kept(ward: Path, folder: Path, parsed: Parse) -> None:
    change(ward, "age,label\nsecret,1\n")
    for _ in range(2):
        with pytest.raises(TableError, match="date"):
            read_through_cache(ward, None, folder)
    assert entries(folder) == []


def test_only_this_account_can_read_the_copies_and_their_names_say_nothing(
    ward: Path, folder: Path, parsed: Parse
) -> None:
    before = os.umask(0)
    try:
        read_through_cache(ward, "outcome", folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o777 == 0o600
    assert set(entry.name) <= set("0123456789abcdef-")
    assert b"ward" not in entry.read_bytes()


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o710, 0o701])
def test_a_folder_that_others_can_enter_is_not_used(
    mode: int, ward: Path, folder: Path, parsed: Parse, caplog: pytest.LogCaptureFixture
) -> None:
    read_through_cache(ward, "outcome", folder)
    folder.chmod(mode)
    before = entries(folder)
    change(ward, CSV.replace("63", "64"))
    assert read_through_cache(ward, "outcome", folder).X[0, 0] == 64
    assert entries(folder) == before
    assert "no copy of 'ward.csv'" in caplog.text


@pytest.mark.parametrize("why", ["another account's", "a file", "below a file", "a full disk", "no home"])
def test_without_a_folder_for_copies_the_table_is_read_and_the_hospitals_log_says_so(
    why: str,
    ward: Path,
    tmp_path: Path,
    parsed: Parse,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    folder, node = tmp_path / "copies", {"data": str(ward), "label": "outcome"}
    folder.mkdir(mode=0o700)
    (tmp_path / "file").touch()
    if why == "another account's":
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    elif why == "a full disk":
        monkeypatch.setattr(np, "savez", no_space)
    elif why == "no home":
        monkeypatch.setenv("XDG_CACHE_HOME", "nowhere")
    places = {"a file": tmp_path / "file", "below a file": tmp_path / "file" / "below"}
    own = {} if why == "no home" else {"cache": str(places.get(why, folder))}
    assert_same(open_table(hospital({**node, **own})), read_table(ward, "outcome"))
    assert entries(folder) == []
    assert not Path("nowhere").exists()
    assert "'ward.csv'" in caplog.text or why == "no home"
    assert caplog.text
    assert str(ward.parent) not in caplog.text or why != "a full disk"


def test_a_process_that_was_slower_than_another_is_satisfied_with_its_copy(
    ward: Path, folder: Path, parsed: Parse, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def overtaken(path: str, target: Path) -> None:
        shutil.copy2(path, target)
        link(path, target)

    monkeypatch.setattr(os, "link", overtaken)
    for _ in range(2):
        assert_same(read_through_cache(ward, "outcome", folder), read_table(ward, "outcome"))
    assert parsed == [ward]
    assert len(entries(folder)) == 1
    assert caplog.text == ""


def test_what_a_killed_process_left_unfinished_is_cleared_away(
    ward: Path, folder: Path, parsed: Parse
) -> None:
    read_through_cache(ward, "outcome", folder)
    (entry,) = entries(folder)
    entry.rename(f"{entry}.killed")
    assert_same(read_through_cache(ward, "outcome", folder), read_table(ward, "outcome"))
    assert entries(folder) == [entry]


def rewritten(entry: Path, kept: Sequence[str] | None = None, **others: object) -> None:
    """Write a copy anew, with other arrays; all checksums fit."""
    with np.load(entry) as copy:
        arrays = {name: copy[name] for name in (copy.files if kept is None else kept)}
    with entry.open("wb") as file:
        np.savez(file, **{**arrays, **others})


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda entry: entry.write_bytes(b""),
    "short": lambda entry: entry.write_bytes(entry.read_bytes()[:-1]),
    "a part": lambda entry: rewritten(entry, (), X=np.zeros((3, 2))),
    "pickle": lambda entry: rewritten(entry, labels=np.array(["größe", "yes", "no"], dtype=object)),
    "about": lambda entry: rewritten(entry, about=np.array(json.dumps([1]))),
    "open": lambda entry: (rewritten(entry, X=np.zeros((3, 2))), entry.chmod(0o666)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_copy_is_made_again(
    damage: str, ward: Path, folder: Path, parsed: Parse, caplog: pytest.LogCaptureFixture
) -> None:
    original = read_through_cache(ward, "outcome", folder)
    (entry,) = entries(folder)
    DAMAGES[damage](entry)
    for _ in range(2):
        assert_same(read_through_cache(ward, "outcome", folder), original)
    assert parsed == [ward, ward], "once at first and once for the damage"
    assert "the copy of 'ward.csv' cannot be used" in caplog.text
    assert str(ward.parent) not in caplog.text


@hypothesis.settings(max_examples=100)
@given(data=st.data())
@pytest.mark.slow
def test_no_changed_byte_changes_the_table(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("bytes")
    path = place / "ward.csv"
    path.write_text(CSV, encoding="utf-8")
    original = read_through_cache(path, "outcome", place / "cache")
    (file,) = entries(place / "cache")
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    assert_same(read_through_cache(path, "outcome", place / "cache"), original)


def test_the_node_config_says_where_copies_lie(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder(hospital({})) == tmp_path / ".cache" / "pansvm"
    assert cache_folder(hospital({"cache": "~/copies"})) == tmp_path / "copies"
    assert cache_folder(hospital({"cache": str(tmp_path)})) == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache_folder(hospital({})) == Path("/var/xdg/pansvm")


@pytest.mark.parametrize("word", ["none", "None", " NONE "])
def test_none_turns_copies_off(word: str, ward: Path, parsed: Parse, tmp_path: Path) -> None:
    node: dict[str, Scalar] = {"data": str(ward), "label": "outcome", "cache": word}
    before = sorted(tmp_path.rglob("*"))
    for _ in range(2):
        assert_same(open_table(hospital(node)), read_table(ward, "outcome"))
    assert parsed == [ward, ward]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("value", ["off", "no", False, "", "secret/folder"])
def test_a_misspelt_none_is_an_error_and_no_folder(value: Scalar, ward: Path) -> None:
    with pytest.raises(SettingError, match="cache") as error:
        open_table(hospital({"data": str(ward), "cache": value}))
    assert "secret" not in str(error.value)


def test_a_hospitals_large_table_is_read_once_and_a_small_one_is_not_kept(
    ward: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    node = hospital({"data": str(ward), "label": "outcome", "cache": str(folder)})
    assert_same(open_table(node), read_table(ward, "outcome"))
    assert not folder.exists()
    parsed = request.getfixturevalue("parsed")
    assert_same(open_table(node), open_table(node))
    assert parsed == [ward]

"""Simulated sites: the settings alone decide the tables, and the cache is never stale."""

import gzip
import os
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flower_pansvm.errors import SettingError, TableError
from simulations.data import sites as sites_module
from simulations.data.datasets import load_dataset
from simulations.data.partition import partition
from simulations.data.sites import drawn_split, join_data, number_of_sites, table_of
from strategies.settings import make_settings


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.delenv("PANSVM_DATA", raising=False)
    sites_module._whole.cache_clear()
    sites_module._parts.cache_clear()


def _of(**changes):
    return make_settings(**{"data": "iris", "sites": 3} | changes)


@pytest.fixture
def wards(tmp_path):
    (tmp_path / "north ward.csv").write_text("age,label\n1,a\n2,b\n")
    (tmp_path / "south.csv").write_text("age,label\n3,a\n")
    return [str(tmp_path / "north ward.csv"), str(tmp_path / "south.csv")]


def test_the_parts_of_one_data_set():
    parts = partition(load_dataset("iris"), 3, "iid", 0)
    for site, part in enumerate(parts):
        table = table_of(_of(), site)
        np.testing.assert_array_equal(table.X, part.X)
        np.testing.assert_array_equal(table.labels, part.labels)
    assert number_of_sites(_of()) == 3


def test_every_setting_of_the_run_matters():
    first = table_of(_of(), 0)
    assert not np.array_equal(first.X, table_of(_of(seed=1), 0).X)
    assert not np.array_equal(first.X, table_of(_of(split="dirichlet:0.1"), 0).X)
    assert not np.array_equal(first.X, table_of(_of(), 1).X)


def test_asking_again_reads_nothing_and_nobody_can_change_the_rows(wards, monkeypatch):
    run = _of(data="|".join(wards), sites=2)
    tables = [table_of(_of(), 0), table_of(run, 0)]
    monkeypatch.setattr(sites_module, "load_dataset", None)
    assert table_of(_of(), 0) is tables[0]
    assert table_of(run, 0) is tables[1]
    for table in tables:
        for array in (table.X, table.labels):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]


@pytest.mark.parametrize("several", [False, True])
def test_a_changed_file_is_read_again(wards, several):
    path = Path(wards[0])
    run = _of(data="|".join(wards) if several else wards[0], sites=2)
    before = table_of(run, 0).X
    status = path.stat()
    path.write_text("age,label\n8,a\n9,b\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert path.stat().st_size == status.st_size
    after = table_of(run, 0).X
    assert before.max() <= 2
    assert after.min() >= 8


def test_another_folder_is_another_data_set(tmp_path, monkeypatch):
    for name, age in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "ward.libsvm.gz"
        path.write_bytes(gzip.compress(f"1 1:{age}\n-1 1:{age}\n".encode(), mtime=0))
        os.utime(path, ns=(0, 0))
    for name, age in (("one", 1), ("two", 2)):
        monkeypatch.setenv("PANSVM_DATA", str(tmp_path / name))
        assert table_of(_of(data="ward", sites=2), 0).X.tolist() == [[age]]


@pytest.mark.parametrize("files", [1, 2])
def test_a_table_that_is_shared_cannot_be_changed(tmp_path, files):
    (tmp_path / "all.csv").write_text("who,age,label\np,1,a\nq,2,b\np,3,b\nr,4,a\n")
    (tmp_path / "s.toml").write_text('patient-id = "who"\n[columns.age]\n')
    data = join_data([str(tmp_path / "all.csv")] * files)
    table = table_of(_of(data=data, sites=2, schema=str(tmp_path / "s.toml")), 0)
    for part in (table.X, table.labels, table.patients):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = part[1]


def test_several_files_are_one_site_each(wards):
    data = join_data(wards)
    assert number_of_sites(_of(data=data)) == 2
    tables = [table_of(_of(data=data, sites=2), site) for site in range(2)]
    assert [table.X.ravel().tolist() for table in tables] == [[1, 2], [3]]
    with pytest.raises(SettingError, match="'dirichlet:1'"):
        table_of(_of(data=data, sites=2, split="dirichlet:1"), 0)
    with pytest.raises(SettingError):
        number_of_sites(_of(data=data, split="by:age"))


def test_a_broken_file_stops_its_own_site_only(wards):
    Path(wards[1]).write_text("age\n3\n")
    run = _of(data=join_data(wards), sites=2)
    assert len(table_of(run, 0).X) == 2
    with pytest.raises(TableError, match=r"'south.csv'"):
        table_of(run, 1)


def test_sites_by_a_column_of_names(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("age,hospital,label\n1,north,a\n2,east,b\n3,north,b\n")
    run = _of(data=str(path), split="by:hospital")
    assert number_of_sites(run) == 2
    tables = [table_of(replace(run, sites=2), site) for site in range(2)]
    assert [table.X.ravel().tolist() for table in tables] == [[2], [1, 3]]
    assert [table.columns for table in tables] == [("age",), ("age",)]
    with pytest.raises(SettingError, match="'hopsital'"):
        number_of_sites(replace(run, split="by:hopsital"))


def test_a_split_by_a_column_that_the_schema_file_describes_names_the_cause(tmp_path):
    path, schema = tmp_path / "ward.csv", tmp_path / "ours.toml"
    path.write_text("age,hospital,label\n" + "".join(f"{n},{'ns'[n % 2]},{n // 2 % 2}\n" for n in range(40)))
    text = '[columns.age]\nrange = [0, 99]\n[columns.hospital]\nkind = "category"\ncategories = ["n", "s"]\n'
    schema.write_text(text)
    run = _of(data=str(path), split="by:hospital", schema=str(schema), sites=2)
    with pytest.raises(SettingError, match="leave-out"):
        number_of_sites(run)
    schema.write_text('leave-out = ["hospital"]\n' + text.split("[columns.hospital]", maxsplit=1)[0])
    assert number_of_sites(run) == 2


def test_a_number_of_sites_that_would_lose_rows_is_refused(wards):
    for sites in (3, 4):
        with pytest.raises(SettingError, match=f"The run has {sites} sites, but its data have 2.*sites=2"):
            table_of(_of(data=join_data(wards), sites=sites), 0)
    for site in (3, -1):
        with pytest.raises(SettingError, match="numbered"):
            table_of(_of(), site)


def test_join_data_survives_a_run_config_and_another_folder(wards, monkeypatch):
    monkeypatch.chdir(Path(wards[0]).parent)
    text = join_data(["north ward.csv", "south.csv", "iris", "openml:credit-g"])
    assert text.split("|") == [*wards, "iris", "openml:credit-g"]
    assert tomllib.loads(f"data = '{text}'")["data"] == text
    assert join_data(["iris"]) == "iris"


@pytest.mark.parametrize("mark", [",", ";", "|"])
def test_several_files_in_one_text_are_told_how_to_be_named(wards, mark):
    with pytest.raises(SettingError, match=r"--data north\.csv --data"):
        join_data([mark.join(wards)])


def test_join_data_finds_names_in_the_folder(tmp_path, monkeypatch):
    path = tmp_path / "ward.csv.gz"
    path.write_bytes(b"")
    assert join_data(["ward"], str(tmp_path)) == str(path)
    monkeypatch.setenv("PANSVM_DATA", str(tmp_path))
    assert join_data(["ward"]) == str(path)
    with pytest.raises(SettingError, match="'wort'"):
        join_data(["wort"])


@pytest.mark.parametrize("name", ["a|b.csv", "o'neill.csv"])
def test_join_data_refuses_names_that_a_run_config_cannot_hold(name):
    with pytest.raises(SettingError):
        join_data([name])


def test_test_rows_have_the_mix_of_their_table_so_a_majority_voter_seems_to_know_something() -> None:
    """As the page on selection says of 120 rows; nothing leaks, the voter knows how many training rows a class has."""
    reported = []
    for seed in range(200):
        labels = np.random.default_rng(seed).choice(["no", "yes"], size=(3, 40))
        kept = np.stack(
            [drawn_split(one, np.arange(40), 0.2, seed, site).held_out for site, one in enumerate(labels)]
        )
        most = np.mean(labels[~kept] == "yes") > 0.5
        reported.append(np.mean((labels[kept] == "yes") == most))
    assert 0.525 < np.mean(reported) < 0.545

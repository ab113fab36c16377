"""Data sets by name: where each is found, and what is said if it is not."""

import socket
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from flower_pansvm.errors import SettingError, TableError
from simulations.data.datasets import load_dataset


@pytest.fixture(autouse=True)
def _no_folder_and_no_network(monkeypatch):
    monkeypatch.delenv("PANSVM_DATA", raising=False)

    def refuse(*arguments, **options):
        raise AssertionError("a data set used the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def folder(tmp_path):
    pd.DataFrame({"age": [1, 2], "label": ["a", "b"]}).to_csv(tmp_path / "ward.t.csv.gz", index=False)
    (tmp_path / "sparse.libsvm").write_text("1 1:2\n-1 2:3\n")
    pd.read_csv(tmp_path / "ward.t.csv.gz").to_csv(tmp_path / "plain.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "wine"])
def test_shipped_rows_and_labels_belong_together(name):
    table, bunch = load_dataset(name), getattr(sklearn.datasets, f"load_{name}")()
    assert list(table.columns) == list(bunch.feature_names)
    np.testing.assert_array_equal(table.X, bunch.data)
    assert table.labels.tolist() == bunch.target_names[bunch.target].astype(str).tolist()


def test_a_data_set_in_a_folder(folder, monkeypatch):
    assert load_dataset("ward.t", None, folder).columns == ("age",)
    monkeypatch.setenv("PANSVM_DATA", str(folder))
    assert load_dataset("ward.t").columns == ("age",)
    # The named folder goes before the environment.
    with pytest.raises(SettingError, match=r"'ward.t'"):
        load_dataset("ward.t", None, folder.parent)


def test_a_file_is_read_as_a_hospital_would_read_it(folder):
    assert load_dataset(str(folder / "plain.csv")).X.tolist() == [[1], [2]]
    table = load_dataset(str(folder / "sparse.libsvm"))
    assert table.columns == ("f1", "f2")
    assert table.absent_is_zero
    with pytest.raises(TableError, match=r"'none.csv'"):
        load_dataset(str(folder / "none.csv"))
    with pytest.raises(TableError, match="'outcome'"):
        load_dataset(str(folder / "plain.csv"), "outcome")


def test_an_unknown_name_names_near_matches_and_where_it_looked(folder):
    with pytest.raises(SettingError, match="'breast_cancer'"):
        load_dataset("breast-cancer")
    with pytest.raises(SettingError, match=r"'ward.t'") as failure:
        load_dataset("word.t", None, folder)
    assert str(folder) in str(failure.value)
    assert "word.t.csv.gz nor word.t.libsvm.gz" in str(failure.value)
    with pytest.raises(SettingError, match="exist"):
        load_dataset("ward.t", None, folder / "none")


def test_a_column_of_sites_may_hold_text(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("hospital,age,label\nnorth,1,a\neast,2,b\n north,3,a\n?,4,a\n")
    table = load_dataset(str(path), site_column="hospital")
    np.testing.assert_array_equal(table.X, [[1, 1], [2, 0], [3, 1], [4, np.nan]])
    with pytest.raises(TableError):
        load_dataset(str(path))


def test_openml(monkeypatch):
    frame = pd.DataFrame({"age": [1.0, 2.0], "Class": pd.Categorical(["good", "bad"])})
    asked = []

    def fetch(name, *, version, as_frame):
        asked.append((name, version))
        return Bunch(frame=frame, target_names=["Class"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    table = load_dataset("openml:credit-g")
    load_dataset("openml:credit-g:2")
    assert asked == [("credit-g", "active"), ("credit-g", 2)]
    assert table.columns == ("age",)
    assert table.labels.tolist() == ["good", "bad"]


def test_texts_of_openml_are_columns_of_0_and_1(monkeypatch):
    frame = pd.DataFrame(
        {
            "job": pd.Categorical(["nurse", None, "clerk"]),
            "grade": pd.Categorical(["1", "2", "10"]),
            "label": [5.0, 6.0, 7.0],
            "ward": ["east", "west", "east"],
            "class": pd.Categorical([">50K", "<=50K", ">50K"]),
        }
    )
    found = Bunch(frame=frame, target_names=["class"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **__: found)
    table = load_dataset("openml:adult", site_column="ward")
    assert table.columns == ("grade", "label_", "job_clerk", "job_nurse", "ward")
    np.testing.assert_array_equal(table.X, [[1, 5, 0, 1, 0], [2, 6, np.nan, np.nan, 1], [10, 7, 1, 0, 0]])
    assert table.labels.tolist() == [">50K", "<=50K", ">50K"]
    assert load_dataset("openml:adult", "ward").labels.tolist() == ["east", "west", "east"]


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (URLError("no name server"), "no connection to OpenML .*breast_cancer"),
        (ValueError("no such data set"), "OpenML has no such active data set"),
        (UserWarning("Multiple active versions"), "openml:credit-g:1"),
    ],
)
def test_openml_out_of_reach(monkeypatch, failure, text):
    def fetch(name, *, version, as_frame):
        raise failure

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(SettingError, match=text):
        load_dataset("openml:credit-g")


def test_names_with_dots_and_libsvm_in_the_benchmark_folder(shared_data):
    assert load_dataset("german.numer", None, shared_data).X.shape == (1000, 24)
    assert load_dataset("splice.t", None, shared_data).X.shape == (2175, 60)
    assert load_dataset("a9a.t", None, shared_data).absent_is_zero

"""Reading files: what is read, and what a hospital is told when a file cannot be."""

import gzip

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from clients.table.file import read_frame
from tests.clients.conftest import refusal


def test_a_row_of_blanks_is_a_row_of_a_table_of_one_column(write):
    assert read_frame(write("age\n1\n   \n2\n")).to_numpy().tolist() == [["1"], ["   "], ["2"]]


def test_libsvm_is_one_based_and_leaves_zeros_out(write):
    content = b"+1 1:2 3:0.5\n-1 2:nan # remark\n"
    for name, own in (("a.libsvm", content), ("a.svm", content), ("a.svm.gz", gzip.compress(content))):
        frame = read_frame(write(own, name))
        assert list(frame.columns) == ["f1", "f2", "f3", "label"]
        np.testing.assert_array_equal(frame.to_numpy(), [[2, 0, 0.5, 1], [0, np.nan, 0, -1]])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b""),
        ("a.csv", b"\xef\xbb\xbf\n\n"),
        ("a.csv.gz", gzip.compress(b"", mtime=0)),
        ("a.libsvm", b"\n"),
        ("a.doc", b"secret"),
        ("a.xls", b"secret"),
        ("a.sav.gz", b"secret"),
        ("a.txt", b"secret"),
        ("a.csv.gz", b"secret"),
        ("a.csv.gz", gzip.compress(b"age,label\n" + b"1,secret\n" * 99, mtime=0)[:-12]),
        ("a.csv", b"age,label\nsecr\xe4t,1\n"),
        ("a.csv", b"age,label\n1,2\n1,5,secret\n"),
        ("a.csv", b"age,sex,label\n1,0,2\n\n1,1,2\nsecret,1\n"),
        ("a.csv", b'age,label\n"secret,1\n'),
        ("a.csv", b'age,label\n"sec"ret,1\n'),
        ("a.csv", b"age;label\nsecret;1\n"),
        ("a.csv", b"age\tlabel\nsecret\t1\n"),
        ("a.csv", b"age,dose,age,label\n1,2,3,4\n"),
        ("a.csv", b"age, age,label\n1,2,3\n"),
        ("a.csv", b"age,,label\n1,2,3\n"),
        ("a.csv", b"M,4711.5,1\nF,4812,0\n"),
        ("a.csv", b"M,?,1\nF,4812,0\n"),
        ("a.parquet", b"secret"),
        ("a.libsvm", b"secret 1:1\n"),
        ("a.libsvm", b"1 1:secret\n"),
        ("a.libsvm", b"1 0:4711\n"),
        ("a.libsvm", b"1 2:4711 1:4\n"),
        ("a.libsvm", b"1,2 2:4711\n"),
        ("a.libsvm", b"1 99999999999999999999:4711\n"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_without_its_content(write, name, content):
    message = refusal(read_frame, write(content, name))
    assert f"'{name}'" in message
    assert "sec" not in message


def test_missing_file_folder_and_duplicate_parquet_columns(tmp_path):
    assert "There is no file 'ward.csv'" in refusal(read_frame, tmp_path / "ward.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "'folder.csv' is a folder" in refusal(read_frame, tmp_path / "folder.csv")
    twice = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["age", "age"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    assert "more than one column 'age'" in refusal(read_frame, tmp_path / "twice.parquet")

"""A model of any kind: its file says of what kind it is, and it is read by that."""

import io
import tracemalloc
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

import flower_pansvm
from flower_pansvm.errors import ModelFileError, SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.model import MODELS, Model, load_model
from flower_pansvm.models.model_file import read_arrays, schema_to_arrays, write_arrays
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from strategies.steps.feature_maps import fit_map


class Constant(Model):
    """Says the same of every row."""

    schema_ = Schema(("age",), ("no", "yes"))

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        return np.full(len(np.asarray(X)), self.answer)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {"answer": np.array(self.answer)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(str(arrays["answer"]))


@pytest.fixture
def registered() -> Iterator[None]:
    MODELS["constant"] = Constant
    yield
    del MODELS["constant"]


def pan_svc() -> PanSVC:
    feature_map = fit_map(Kernel("linear"), np.array([[2.0]]))
    scaling = Scaling(np.zeros(1), np.zeros(1), np.ones(1))
    return PanSVC.from_parts(Constant.schema_, scaling, feature_map, np.array([[1.0, 0.0]]))


@pytest.mark.usefixtures("registered")
def test_each_kind_comes_back_as_what_it_was(tmp_path: Path) -> None:
    for name, model in (("constant", Constant("yes")), ("pan-svc", pan_svc())):
        model.save(tmp_path / "model.npz")
        with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
            assert str(file["kind"]) == model.kind == name
        loaded = load_model(tmp_path / "model.npz")
        assert type(loaded) is type(model)
        assert loaded.sha256() == model.sha256()
        assert list(loaded.predict(pd.DataFrame({"age": [3.0, 1.0]}))) == ["yes", "yes"]


@pytest.mark.usefixtures("registered")
def test_a_model_of_another_class_is_refused_by_name(tmp_path: Path) -> None:
    Constant("yes").save(tmp_path / "model.npz")
    with pytest.raises(ModelFileError, match="'constant'"):
        PanSVC.load(tmp_path / "model.npz")


def test_an_unknown_kind_names_the_near_ones(tmp_path: Path) -> None:
    MODELS["pan-svd"] = Constant
    Constant("yes").save(tmp_path / "model.npz")
    del MODELS["pan-svd"]
    with pytest.raises(ModelFileError, match="'pan-svd'"):
        load_model(tmp_path / "model.npz")


def test_a_class_without_a_kind_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="MODELS"):
        Constant("yes").save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_the_model_is_imported_from_the_package() -> None:
    assert flower_pansvm.PanSVC is PanSVC
    with pytest.raises(AttributeError, match="PanSVD"):
        _ = flower_pansvm.PanSVD


def with_parts(path: Path, compression: int, parts: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in parts.items():
            file.writestr(f"{name}.npy", content)
    return path


def header(shape: tuple[int, ...], dtype: str) -> bytes:
    """Return an array's file with no more than its header."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def overlapping(path: Path) -> Path:
    """Write an archive in which one array of 8 megabytes stands for many."""
    content = io.BytesIO()
    np.save(content, np.zeros(10**6))
    parts = {f"part-{number:04d}": content.getvalue() if number == 0 else b"" for number in range(200)}
    with_parts(path, zipfile.ZIP_STORED, parts)
    with zipfile.ZipFile(path, "a") as file:
        first = file.infolist()[0]
        for member in file.infolist()[1:]:
            member.header_offset, member.CRC = first.header_offset, first.CRC
            member.file_size = member.compress_size = first.file_size
        file.comment = b"the directory is written again"
    return path


@pytest.mark.parametrize(
    ("compression", "parts"),
    [
        (zipfile.ZIP_DEFLATED, {"coef": header((2**23,), "<f8") + bytes(2**26)}),
        (zipfile.ZIP_STORED, {"coef": header((2**33,), "<f8")}),
        (zipfile.ZIP_STORED, {"coef": header((), f"<U{2**28}")}),
        (zipfile.ZIP_STORED, {"columns": header((2**40,), "<U0")}),
        (zipfile.ZIP_STORED, {"columns": header((2**40, 0), "<U1")}),
        (None, {}),
    ],
    ids=["compressed", "long", "long text", "texts without bytes", "empty and long", "overlapping"],
)
def test_a_file_that_claims_to_be_longer_than_it_is_takes_no_memory(
    compression: int | None, parts: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model.npz"
    overlapping(path) if compression is None else with_parts(path, compression, parts)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * path.stat().st_size + 2**20
    finally:
        tracemalloc.stop()


def renamed(path: Path, schema: Schema) -> Path:
    """Write a model with other names, and the digest that fits."""
    pan_svc().save(path)
    kind, arrays = read_arrays(path)
    write_arrays(path, kind, {**arrays, **schema_to_arrays(schema)})
    return path


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        *(("age", ("no", name)) for name in ('=HYPERLINK("http://example.org")', "yes\x1b[2J", "\tyes")),
        ("age\r=1+1", ("no", "yes")),
        ("age", tuple(map(str, range(1000)))),
    ],
)
def test_names_that_no_run_gives_are_refused(column: str, classes: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="names"):
        load_model(renamed(tmp_path / "model.npz", Schema((column,), classes)))


def test_minus_one_is_the_name_of_a_class(tmp_path: Path) -> None:
    schema = Schema(("age",), ("-1", "1"))
    assert load_model(renamed(tmp_path / "model.npz", schema)).schema_ == schema

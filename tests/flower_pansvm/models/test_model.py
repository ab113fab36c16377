"""A model of any kind: its file says of what kind it is, and it is read by that."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

import flower_pansvm
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.errors import ModelFileError
from flower_pansvm.models.model import MODELS, Model, load_model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from strategies.steps.fitted_map import fit_map


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
    MODELS.register("constant")(Constant)
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
    with pytest.raises(ModelFileError, match="of kind 'constant', no PanSVC"):
        PanSVC.load(tmp_path / "model.npz")


def test_an_unknown_kind_names_the_near_ones(tmp_path: Path) -> None:
    MODELS.register("pan-svd")(Constant)
    Constant("yes").save(tmp_path / "model.npz")
    del MODELS["pan-svd"]
    with pytest.raises(ModelFileError, match=r"'pan-svd'.*'pan-svc'.*import the module"):
        load_model(tmp_path / "model.npz")


def test_a_class_without_a_kind_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"MODELS\.register"):
        Constant("yes").save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_the_kind_cannot_be_changed_unnoticed(tmp_path: Path) -> None:
    pan_svc().save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        parts = {name: file[name] for name in file.files}
    np.savez(tmp_path / "model.npz", **{**parts, "kind": np.array("constant")})
    with pytest.raises(ModelFileError, match="digest"):
        load_model(tmp_path / "model.npz")


def test_a_file_of_the_format_without_kinds_is_still_read(tmp_path: Path) -> None:
    model = pan_svc()
    parts, old = model.to_arrays(), hashlib.sha256()
    for name, array in sorted(parts.items()):
        old.update(f"{name}|{array.dtype.str}|{array.shape}|".encode() + array.tobytes())
    np.savez(tmp_path / "old.npz", format=np.array(2), sha256=np.array(old.hexdigest()), **parts)  # type: ignore[arg-type]
    assert PanSVC.load(tmp_path / "old.npz").sha256() == model.sha256() == old.hexdigest()


def test_the_model_is_imported_from_the_package() -> None:
    assert flower_pansvm.PanSVC is PanSVC
    with pytest.raises(AttributeError, match="PanSVD"):
        _ = flower_pansvm.PanSVD

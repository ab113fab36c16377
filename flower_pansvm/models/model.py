"""The base of all models: it predicts, and is saved in one file, without pickle, that names its kind."""

import io
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.errors import ModelFileError, PanSVMError, SettingError
from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, can_be_listed
from flower_pansvm.models.model_file import arrays_of, digest, read_arrays, write_arrays
from flower_pansvm.printable import is_printable
from flower_pansvm.registry import Registry
from flower_pansvm.schema import Schema


class Model(ABC):
    """Base of the models. A subclass has its kind in `MODELS`, and methods from and to arrays.

    Attributes
    ----------
    schema_ : Schema
        Its columns and classes.
    missing_cells : str or None
        As what missing cells count: ``mean`` of the training rows, or ``middle`` of the column's range.
    """

    schema_: Schema
    missing_cells: ClassVar[str | None] = None

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, shape (rows,).

        Parameters
        ----------
        X : array-like of shape (rows, features)
            Rows in the table's own units, columns in the order of ``schema_``; NaN is a missing cell.
        """

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers and names of the model as arrays, by name; no objects."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make the model of what :meth:`to_arrays` returned.

        It checks them, and may raise ``KeyError``, ``TypeError`` or ``ValueError``: the sender of the file may have
        changed it.
        """

    @property
    def kind(self) -> str:
        """The name of the model's class in `MODELS`; SettingError if it has none."""
        kind = MODELS.name_of(type(self))
        if kind is None:
            raise SettingError(
                f"{type(self).__name__} has no kind, by which its file could be read again. Give it one in MODELS, or "
                "as an entry point flower_pansvm.models of its package."
            )
        return kind

    def sha256(self) -> str:
        """Return a digest of all numbers and names in the model, the same on every machine."""
        return digest(self.to_arrays())

    def save(self, path: Path | str) -> None:
        """Write the model to an ``.npz`` file; nothing in it is pickled."""
        write_arrays(path, self.kind, self.to_arrays())

    def to_bytes(self) -> bytes:
        """Return the content of the model's file."""
        file = io.BytesIO()
        write_arrays(file, self.kind, self.to_arrays())
        return file.getvalue()

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a model of this class from its file; ModelFileError as of `load_model`, or if it is of another kind."""
        model = load_model(path)
        if not isinstance(model, cls):
            raise ModelFileError(
                f"{Path(path).name} holds a model of kind '{model.kind}', no {cls.__name__}. Read it with "
                "flower_pansvm.models.model.load_model."
            )
        return model


MODELS: Registry[type[Model]] = Registry(
    "kind of model",
    {
        "fourier-svc": "flower_pansvm.models.fourier_svc:FourierSVC",
        "gaussian-mixtures": "flower_pansvm.models.gaussian_mixtures:GaussianMixtures",
        "pan-svc": "flower_pansvm.models.pan_svc:PanSVC",
        "random-fourier-svc": "flower_pansvm.models.fourier_svc:RandomFourierSVC",
        "random-kernel-svc": "flower_pansvm.models.random_kernel_svc:RandomKernelSVC",
    },
    "flower_pansvm.models",
    lambda thing: isinstance(thing, type) and issubclass(thing, Model),
)
"""The models by their kind, which is written in the file."""


def load_model(path: Path | str) -> Model:
    """Read a model of any kind from its file.

    ModelFileError if the file is missing, damaged, no model, of an unknown kind, or written by another version.
    """
    return _model_from(*read_arrays(path), Path(path).name)


def model_of(content: bytes, name: str, kinds: Container[str] = MODELS) -> Model:
    """Read a model of one of some kinds from its file's content; ``name`` is what a ModelFileError calls it."""
    kind, arrays = arrays_of(content, name)
    if kind not in kinds:
        raise ModelFileError(f"{name} is of the kind '{kind}', which is not accepted here.")
    return _model_from(kind, arrays, name)


def _model_from(kind: str, arrays: Mapping[str, NDArray[Any]], name: str) -> Model:
    _check_names(name, arrays)
    try:
        model_class = MODELS[kind]
    except SettingError as error:
        raise ModelFileError(
            f"{name} cannot be read. {error} Install the version of flower-pansvm that wrote it, or the "
            "package that brings the model."
        ) from error
    try:
        return model_class.from_arrays(arrays)
    except (KeyError, TypeError, ValueError, OverflowError, PanSVMError) as error:
        raise ModelFileError(
            f"{name} lacks a part of the model or has an invalid one. Copy it again from the run's folder."
        ) from error


def _check_names(file: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check the names in a file as hospitals check those of a run: people and spreadsheets read them."""
    classes, others = (
        [str(name) for key in keys for name in np.ravel(arrays.get(key, []))]
        for keys in (("classes",), ("columns", "positive_labels"))
    )
    if (
        len(classes) > MOST_CLASSES
        or not all(map(can_be_listed, classes))
        or not all(map(is_printable, others))
    ):
        raise ModelFileError(
            f"{file} names more than {MOST_CLASSES} classes, or classes or columns as no run names them, which may be "
            f"meant to harm readers of a table of predictions. Classes are {LABEL_RULE}. Ask where the file is from."
        )

"""The file of a model: its kind and named arrays with a digest of them, and nothing that is pickled."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.models.errors import ModelFileError

FORMAT = 3
"""Version of the file format."""

WITHOUT_KIND = 2
"""An older format that can still be read. Its files have no kind: all hold a PanSVC."""


def write_arrays(path: Path | str, kind: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a model's kind and its arrays of numbers and text, with format and digest, to an ``.npz`` file."""
    parts = {**arrays, "kind": np.array(kind)}
    np.savez_compressed(
        path,
        format=np.array(FORMAT),
        sha256=np.array(digest(parts)),
        **parts,  # type: ignore[arg-type]
    )


def read_arrays(path: Path | str) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the kind and the arrays that :func:`write_arrays` wrote.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, no model, changed, or written by another version.
    """
    name = Path(path).name
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except FileNotFoundError:
        raise ModelFileError(
            f"There is no model file at {path}. A run leaves one named model.npz, unless its strategy makes no model."
        ) from None
    except Exception as error:  # a damaged file makes zipfile and numpy raise nearly anything
        raise ModelFileError(
            f"{name} cannot be read as a model: the file is truncated, damaged or no model. Copy it again from "
            "the run's folder."
        ) from error
    version = str(arrays.pop("format", "unknown"))
    if version not in (str(FORMAT), str(WITHOUT_KIND)):
        raise ModelFileError(
            f"{name} has model format {version}, this program reads format {FORMAT}. Install the version of "
            "flower-pansvm that wrote it, or train again."
        )
    if str(arrays.pop("sha256", "")) != digest(arrays):
        raise ModelFileError(
            f"{name} does not match its own digest: it was changed or damaged after it was saved. Copy it again "
            "from the run's folder."
        )
    return str(arrays.pop("kind", "pan-svc")), arrays


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a SHA-256 digest of names, types, shapes and contents of the arrays, the same on every machine."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        found.update(array.tobytes())
    return found.hexdigest()

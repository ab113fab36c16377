"""The file of a model: its kind and named arrays with a digest of them, nothing pickled and nothing compressed.

Models are sent from one institution to another. Reading one takes no more memory than the file is long.
"""

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import ModelFileError
from flower_pansvm.schema import Schema

FORMAT = 4
"""Version of the file format."""

ARRAY = ".npy"


def write_arrays(path: Path | str | BinaryIO, kind: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a model's kind and its arrays of numbers and text, with format and digest, to an ``.npz`` file."""
    parts = {**arrays, "kind": np.array(kind)}
    np.savez(
        path,
        format=np.array(FORMAT),
        sha256=np.array(digest(parts)),
        **parts,  # type: ignore[arg-type]
    )


def read_arrays(path: Path | str) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the kind and the arrays of :func:`write_arrays`; ModelFileError if the file is missing, or as below."""
    try:
        return arrays_of(Path(path).read_bytes(), Path(path).name)
    except OSError:
        raise ModelFileError(
            f"There is no model file at {path} that can be read. A run leaves one named model.npz, unless its strategy "
            "makes no model."
        ) from None


def arrays_of(content: bytes, name: str) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the kind and the arrays of a file's content; ``name`` is the file's, for errors.

    ModelFileError if the content is damaged, no model, changed, or written by another version.
    """
    try:
        arrays = _arrays(content)
    except Exception as error:  # a damaged file makes zipfile and numpy raise nearly anything
        raise ModelFileError(
            f"{name} cannot be read as a model: the file is truncated, damaged, no model, or compressed, which no "
            "model of this version is. Copy it again from the run's folder."
        ) from error
    version = str(arrays.pop("format", "unknown"))
    if version != str(FORMAT):
        raise ModelFileError(
            f"{name} has model format {version}, this program reads format {FORMAT}. Install the version of "
            "flower-pansvm that wrote it, or train again."
        )
    if str(arrays.pop("sha256", "")) != digest(arrays):
        raise ModelFileError(
            f"{name} does not match its own digest: it was changed or damaged after it was saved. Copy it again "
            "from the run's folder."
        )
    return str(arrays.pop("kind", "unknown")), arrays


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file, whose header is checked against its bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = file.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a part is compressed")
        # Parts of an archive may overlap.
        if sum(member.file_size for member in members) > len(content):
            raise ValueError("the parts are longer than the file")
        return {member.filename.removesuffix(ARRAY): _array(file.read(member)) for member in members}


def _array(content: bytes) -> NDArray[Any]:
    """Return the array of an ``.npy`` file, which may claim no more items than it has bytes."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("another version of numpy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    items = math.prod(shape)
    # Items may have no bytes, and sides be long where there are no items.
    if max(items, items * dtype.itemsize, *shape) > len(content):
        raise ValueError("the array is longer than its bytes")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a SHA-256 digest of names, types, shapes and contents of the arrays, the same on every machine."""
    hasher = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        hasher.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


SCHEMA_ARRAYS = ("columns", "classes", "positive_labels")


def schema_to_arrays(schema: Schema) -> dict[str, NDArray[Any]]:
    """Return columns and classes as arrays of text."""
    names = {key: np.array(getattr(schema, key), dtype=np.str_) for key in SCHEMA_ARRAYS}
    return names | ({"table": np.array(schema.table)} if schema.table else {})


def schema_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Schema:
    """Put a schema together again; KeyError, ValueError or SettingError if a file holds none."""
    table = str(arrays.get("table", ""))
    if table:
        from flower_pansvm.table_schema import TableSchema  # noqa: PLC0415 - most models are without

        TableSchema.from_json(table)
    columns, classes, positive = (tuple(map(str, arrays[key])) for key in SCHEMA_ARRAYS)
    return Schema(columns, classes, positive, table)

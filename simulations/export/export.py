"""Write a model for other programs, and compare what it decides there with what it decides here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import ModelFileError
from flower_pansvm.models.model import Model
from simulations.files import complete_file

MOST_DIFFERENCE = 1e-5
"""Decision values may differ by this much, of values above 1 by this share."""

TRIED_ROWS = 200

TRUSTED = ["numpy.dtype"]
"""What a skops file has besides scikit-learn's own estimators and arrays: the type of the imputer's cells."""


def export(model: Model, kind: str, path: Path, overwrite: bool = False) -> float:
    """Write a model to a file and try it on generated rows.

    Parameters
    ----------
    model : Model
        The model.
    kind : {'onnx', 'skops'}
        The format, one of `FORMATS`.
    path : Path
        The file.
    overwrite : bool
        Whether it may exist.

    Returns
    -------
    float
        The largest difference of a decision value of the file from the model's own.

    Raises
    ------
    PanSVMError
        If the model is of a kind that the format cannot hold, or the file decides otherwise; then there is none.
    """
    write, read = FORMATS[kind]
    with complete_file(path, overwrite) as unfinished:
        write(model, unfinished)
        cells = likely_rows(model)
        expected = model.decision_function(cells)  # type: ignore[attr-defined]
        difference = np.abs(read(unfinished)(cells) - expected)
        if not (difference <= MOST_DIFFERENCE * np.maximum(1.0, np.abs(expected))).all():
            raise ModelFileError(
                f"The exported model decides otherwise: its values differ by up to {difference.max():.1e}. This is an "
                "error of flower-pansvm or of the runtime; please report it with the output of 'pansvm inspect'."
            )
    return float(difference.max())


def likely_rows(model: Model) -> pd.DataFrame:
    """Return generated rows about where the model's were, some with missing cells; they are nobody's."""
    generator, columns = np.random.default_rng(0), list(model.schema_.columns)
    shape = TRIED_ROWS, len(columns)
    if hasattr(model, "scaling_"):
        cells = model.scaling_.shift + model.scaling_.scale * generator.normal(size=shape)
    else:
        ends = model.feature_map_  # type: ignore[attr-defined]
        cells = ends.low + (ends.high - ends.low) * generator.uniform(-0.2, 1.2, shape)
    cells[generator.random(shape) < 0.1] = np.nan
    return pd.DataFrame(cells, columns=columns)


def _write_onnx(model: Model, path: Path) -> None:
    from simulations.export.onnx_models import as_onnx  # noqa: PLC0415 - onnx is an extra

    path.write_bytes(as_onnx(model).SerializeToString())


def _read_onnx(path: Path) -> Callable[[pd.DataFrame], Floats]:
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda cells: session.run(["decision"], {"X": cells.to_numpy()})[0]


def _write_skops(model: Model, path: Path) -> None:
    import skops.io  # noqa: PLC0415

    from simulations.export.skops_model import as_pipeline  # noqa: PLC0415

    skops.io.dump(as_pipeline(model), path)


def _read_skops(path: Path) -> Callable[[pd.DataFrame], Floats]:
    import skops.io  # noqa: PLC0415

    pipeline: Any = skops.io.load(path, trusted=TRUSTED)
    return pipeline.decision_function  # type: ignore[no-any-return]


FORMATS: dict[
    str, tuple[Callable[[Model, Path], None], Callable[[Path], Callable[[pd.DataFrame], Floats]]]
] = {
    "onnx": (_write_onnx, _read_onnx),
    "skops": (_write_skops, _read_skops),
}
"""How each format is written, and how its file is read as a function from rows to decision values."""

"""Write a model as ONNX, and compare its decision values in both forms."""

from pathlib import Path

import numpy as np
import pandas as pd

from flower_pansvm.errors import ModelFileError
from flower_pansvm.files import complete_file
from flower_pansvm.models.model import Model

MOST_DIFFERENCE = 1e-5
"""Decision values may differ by this much, of values above 1 by this share."""

TRIED_ROWS = 200


def export(model: Model, path: Path, overwrite: bool = False) -> float:
    """Write a model to a file, and return the largest difference of its decision values there on generated rows.

    PanSVMError, and no file, if the model is of a baseline or another package, or the values differ.
    """
    import onnxruntime  # noqa: PLC0415 - an extra

    from flower_pansvm.export.onnx_models import as_onnx  # noqa: PLC0415

    with complete_file(path, overwrite) as unfinished:
        unfinished.write_bytes(as_onnx(model).SerializeToString())
        cells = likely_rows(model)
        expected = model.decision_function(cells)  # type: ignore[attr-defined]
        session = onnxruntime.InferenceSession(unfinished, providers=["CPUExecutionProvider"])
        difference = np.abs(session.run(["decision"], {"X": cells.to_numpy()})[0] - expected)
        if not (difference <= MOST_DIFFERENCE * np.maximum(1.0, np.abs(expected))).all():
            raise ModelFileError(
                f"The exported model differs: its values are off by up to {difference.max():.1e}. This is an "
                "error of flower-pansvm or of the runtime; please report it with the output of 'pansvm inspect'."
            )
    return float(difference.max())


def likely_rows(model: Model) -> pd.DataFrame:
    """Return generated rows in the range of the model's training rows, some with missing cells."""
    generator, columns = np.random.default_rng(0), list(model.schema_.columns)
    shape = TRIED_ROWS, len(columns)
    if hasattr(model, "scaling_"):
        cells = model.scaling_.shift + model.scaling_.scale * generator.normal(size=shape)
    else:
        fourier = model.feature_map_  # type: ignore[attr-defined]
        cells = fourier.low + (fourier.high - fourier.low) * generator.uniform(-0.2, 1.2, shape)
    cells[generator.random(shape) < 0.1] = np.nan
    return pd.DataFrame(cells, columns=columns)

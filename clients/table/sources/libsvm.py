"""LIBSVM text: a label, and then pairs index:number. What is left out is zero, and columns have no names."""

import io
import os

import pandas as pd
from sklearn.datasets import load_svmlight_file

from clients.table.form import TableForm
from clients.table.table import LABEL
from flower_pansvm.errors import TableError
from flower_pansvm.labels import MOST_COLUMNS


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:  # noqa: ARG001
    """Read LIBSVM text into columns f1, f2, … and the label; TableError if it is invalid."""
    try:
        X, labels = load_svmlight_file(io.BytesIO(content), zero_based=False)
    except (ValueError, OverflowError):
        # The reader's own text quotes the field it could not read.
        raise TableError(
            f"'{name}' is not proper LIBSVM text. Each line must be a number as label and then pairs "
            "index:number, separated by spaces, the indices from 1 upwards and in order."
        ) from None
    gigabytes = 8 * X.shape[0] * X.shape[1] / 1e9
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    if X.shape[1] > MOST_COLUMNS or gigabytes > memory / 2:
        raise TableError(
            f"'{name}' has as many columns as its largest index says: with its rows more numbers than can be used. Is "
            "an index a typing error?",
            detail=f"{X.shape[0]} rows and {X.shape[1]} columns are {gigabytes:.3g} GB; this machine has {memory:.3g} "
            f"GB, and {MOST_COLUMNS} columns are the most.",
        )
    frame = pd.DataFrame(X.toarray(), columns=[f"f{i}" for i in range(1, X.shape[1] + 1)])
    frame[LABEL] = labels
    return frame

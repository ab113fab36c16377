"""PAN-SVM at each level where one of two classes is rare: ``python -m simulations.benchmarks rare_classes``.

The rows are generated. At level `perturbed` labels are drawn anew, which takes more records from a rare class than it
brings.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import make_classification

from simulations.benchmarks.level_costs import at_levels

RARE = {10: 5_000, 100: 30_000}
"""Rows of the generated tables, by how many records of the frequent class there are for one of the rare."""
CLASS_WEIGHTS = ("none", "balanced")
REPEATS = 5


def lines(repeats: int = REPEATS) -> Iterator[dict[str, Any]]:
    """Return the mean figures at each level by table and class weights, over splits into halves."""
    with tempfile.TemporaryDirectory() as folder:
        for others, rows in RARE.items():
            shares = [others / (others + 1)]
            X, y = make_classification(
                rows, 10, n_informative=6, n_redundant=0, weights=shares, flip_y=0, random_state=0
            )
            file = Path(folder) / f"{others}.csv"
            pd.DataFrame(X).add_prefix("x").assign(label=y).to_csv(file, index=False)
            for weights in CLASS_WEIGHTS:
                settings = {"class-weight": weights, "test-fraction": "0.5"}
                for line in at_levels(Path(folder), str(file), ("pan-svm",), repeats, **settings):
                    yield {**line, "data": f"1:{others}", "class_weight": weights}


TABLES = {"levels": lines}

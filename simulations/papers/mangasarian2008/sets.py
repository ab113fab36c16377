"""The data sets of Mangasarian & Wild 2008, and what is printed in their Table 1."""

import numpy as np
import pandas as pd

from simulations.papers.data import PREPARED, Prepared

SETS = {
    "CH": "heart-297",
    "IO": "ionosphere",
    "WD": "breast_cancer",
    "AR": "arrhythmia-normal",
    "PI": "diabetes",
    "BL": "liver-disorders",
    "GC": "german.numer",
}
"""Data set behind each of the paper's abbreviations."""

PRINTED = {
    ("CH", 1): (12, 0.17, 0.15, 0.24),
    ("CH", 2): (5, 0.19, 0.19, 0.28),
    ("CH", 4): (2, 0.17, 0.24, 0.30),
    ("IO", 1): (33, 0.07, 0.09, 0.19),
    ("IO", 2): (16, 0.06, 0.11, 0.20),
    ("IO", 4): (7, 0.05, 0.17, 0.21),
    ("IO", 8): (3, 0.06, 0.26, 0.24),
    ("WD", 1): (29, 0.03, 0.03, 0.11),
    ("WD", 2): (14, 0.02, 0.04, 0.10),
    ("WD", 4): (6, 0.03, 0.06, 0.12),
    ("WD", 8): (2, 0.03, 0.11, 0.16),
    ("AR", 1): (45, 0.21, 0.27, 0.38),
    ("AR", 2): (45, 0.22, 0.28, 0.36),
    ("AR", 4): (45, 0.23, 0.27, 0.40),
    ("AR", 8): (33, 0.24, 0.29, 0.40),
    ("PI", 1): (7, 0.23, 0.25, 0.36),
    ("PI", 2): (3, 0.23, 0.31, 0.35),
    ("PI", 4): (1, 0.23, 0.34, 0.38),
    ("BL", 1): (5, 0.30, 0.40, 0.42),
    ("BL", 2): (2, 0.30, 0.42, 0.42),
    ("GC", 1): (23, 0.24, 0.24, 0.34),
    ("GC", 2): (11, 0.24, 0.29, 0.34),
    ("GC", 4): (5, 0.24, 0.30, 0.34),
    ("GC", 8): (2, 0.24, 0.30, 0.33),
}
"""Table 1, by data set and number of column blocks: rows of B, and the errors Ideal, PPSVM, No sharing."""


def _heart(whole: pd.DataFrame) -> pd.DataFrame:
    """Return Cleveland's 297 patients without missing cells; any disease is positive."""
    kept = whole.dropna()
    return kept.assign(label=(kept["label"] > 0).astype(np.int64))


def _arrhythmia(whole: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a column's mean in its missing cells; class 1, normal, against all others."""
    filled = whole.fillna(whole.mean(numeric_only=True))
    return filled.assign(label=(whole["label"] == 1).astype(np.int64))


PREPARED.register("heart-297")(Prepared(("heart-cleveland",), _heart))
PREPARED.register("arrhythmia-normal")(Prepared(("arrhythmia",), _arrhythmia))

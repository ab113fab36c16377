"""The data sets of Lu 2016 with their parameters: Tables 3.1, 4.1 and 5.1.

Y. Lu, Privacy Preserving Data Mining for Horizontally Distributed Medical Data Analysis, Georgia State University 2016.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simulations.papers.reproduction import Prepared


@dataclass(frozen=True)
class ThesisSet:
    """A line of Table 3.1, 4.1 or 5.1."""

    name: str  # what the paper calls it
    data: str  # name of the data set here
    # C, gamma: the paper's, found by ten-fold cross-validation, or what has to be put in their place.
    C: float
    gamma: float
    # rows, features: of the data set here.
    rows: int
    features: int


AUSTRALIAN = ThesisSet("Australian", "australian", 512.0, 2.0**-7, 690, 14)
BREAST_CANCER = ThesisSet("Breast cancer", "breast-cancer", 0.125, 0.125, 683, 10)
DIABETES = ThesisSet("Pima Diabetes", "diabetes", 512.0, 2.0**-7, 768, 8)
GERMAN = ThesisSet("German", "german.numer", 8.0, 2.0**-5, 1000, 24)
HEART = ThesisSet("Heart", "heart", 2048.0, 2.0**-13, 270, 13)
IONOSPHERE = ThesisSet("Ionosphere", "ionosphere", 8.0, 0.5, 351, 34)
LIVER = ThesisSet("Liver disorders", "liver-disorders", 8.0, 0.5, 345, 6)
SPLICE = ThesisSet("Splice", "splice", 8.0, 2.0**-5, 1000, 60)
FOURCLASS = ThesisSet("Fourclass", "fourclass", 8.0, 2.0, 862, 2)
ADULT = ThesisSet("Adult", "a9a", 100.0, 0.5, 32561, 123)
COD_RNA = ThesisSet("Cod_rna", "cod-rna.scaled", 32.0, 0.5, 59535, 8)
GRAVIER = ThesisSet("GSE2990", "breast-gravier", 32.0, 2.0**-15, 168, 2905)

EIGHT = (AUSTRALIAN, BREAST_CANCER, DIABETES, GERMAN, HEART, IONOSPHERE, LIVER, SPLICE)
"""The sets of Table 3.2."""

LEUKEMIA_3 = ThesisSet("Leukemia_3c", "leukemia-3c", 512.0, 2.0**-13, 72, 7129)
LEUKEMIA_4 = ThesisSet("Leukemia_4c", "leukemia-4c", 512.0, 2.0**-13, 72, 7129)
# Its C and gamma fit features in [0, 1] only; in [-1, 1] a quarter of gamma is the same kernel.
DNA = ThesisSet("DNA", "dna", 8.0, 2.0**-5 / 4, 2000, 180)
VOWEL = ThesisSet("Vowel", "vowel", 2.0, 2.0, 528, 10)
LUNG = ThesisSet("Lung", "lung-cancer", 2048.0, 2.0**-11, 32, 56)
LETTER = ThesisSet("Letter", "letter-tenth", 8.0, 2.0, 1500, 16)

MANY_CLASSES = (LEUKEMIA_3, LEUKEMIA_4, DNA, VOWEL, LUNG, LETTER)
"""Table 4.1."""

DIA = ThesisSet("DIA", "diabetes", 512.0, 2.0**-7, 768, 8)
COLON = ThesisSet("Colon", "colon-log2", 32.0, 2.0**-7, 62, 2000)
LEUKEMIA = ThesisSet("Leukemia", "leukemia-log2", 128.0, 2.0**-13, 72, 7129)
WBC = ThesisSet("WBC", "breast_cancer", 128.0, 8.0, 569, 30)
DLBCL = ThesisSet("DLBCL", "dlbcl", 2.0, 2.0**-7, 47, 4026)

SIX = (DIA, IONOSPHERE, COLON, LEUKEMIA, WBC, DLBCL)
"""Table 5.1, in the order of its tables."""

GENES = (COLON, LEUKEMIA, DLBCL)
"""Those with thousands of columns, of which nearly all rows have to be landmarks."""


def logarithms(table: pd.DataFrame, lowest: float = 0.0, highest: float = np.inf) -> pd.DataFrame:
    """Return raw intensities as logarithms, cut off before."""
    cells = table.drop(columns="label")
    numbers = np.log2(cells.to_numpy().clip(lowest, highest))
    return pd.DataFrame(numbers, columns=cells.columns).assign(label=table["label"])


def leukemia(table: pd.DataFrame) -> pd.DataFrame:
    """Return Golub's arrays as usual: cut off at 100 and 16,000, logarithms (Dudoit, Fridlyand and Speed 2002)."""
    return logarithms(table, 100.0, 16_000.0)


def leukemia_by(label: str) -> Prepared:
    """Return Golub's arrays with other labels."""
    return Prepared(
        ("leukemia", "leukemia_labels"), lambda table, labels: leukemia(table).assign(label=labels[label])
    )


PREPARED = {
    "colon-log2": Prepared(("colon",), logarithms),
    "leukemia-log2": Prepared(("leukemia",), leukemia),
    "leukemia-3c": leukemia_by("label3"),
    "leukemia-4c": leukemia_by("label4"),
    "letter-tenth": Prepared(("letter",), lambda table: table.iloc[::10]),
}
"""Sets that are made from files of the folder."""

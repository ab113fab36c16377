"""What the figures of chapter 4 share: several classes, accuracy by share of landmarks, under CV1 and CV2.

CV1 is a federated 5-fold cross-validation on all rows: model choice with a single point in its grid. For CV2 a random
fifth of each class at each site is left out first. As nothing is chosen here, both estimate the same accuracy.
"""

from collections.abc import Mapping, Sequence

from flower_pansvm.terms import Scalar
from simulations.papers.lu2016.sets import DNA, LEUKEMIA_3, LEUKEMIA_4, LUNG, MANY_CLASSES, ThesisSet
from simulations.papers.run import Run, make_run

SHARES = tuple(number / 100 for number in range(25, 91, 5))
ALL = MANY_CLASSES
FOUR = (LEUKEMIA_3, LEUKEMIA_4, DNA, LUNG)
"""The sets of Figures 4.8 and 4.9."""

SUBSTITUTED = (
    "preset=exact and features in [-1, 1] (not stated), min-cluster=1, five sites. Leukemia: cut off at 100 and "
    "16,000, logarithms.",
    "PAN-SVM under CV1: the federation's own 5-fold cross-validation, whose models are trained to a gap of 1 % or for "
    "12 rounds.",
    "letter: every tenth of its 15,000 rows; 25 to 90 % of all as landmarks for 26 problems are out of reach.",
)


def shares_of(one: ThesisSet) -> Sequence[float]:
    """Return the shares of landmarks; of the 32 rows of lung, fewer than 55 % are too few."""
    return [share for share in SHARES if share >= 0.55] if one is LUNG else SHARES


SETTINGS: Mapping[str, Scalar] = {"scaling": "minmax", "preset": "exact", "min_cluster": 1, "sites": 5}


def pan(one: ThesisSet, share: float, scheme: str, seed: int) -> Run:
    """Return a run of PAN-SVM."""
    values: dict[str, Scalar] = {**SETTINGS, "gamma": one.gamma, "landmarks": share, "seed": seed}
    if scheme == "CV1":
        values |= {"C": "auto", "C_grid": f"{one.C:g}", "test_fraction": 0.0}
    else:
        values |= {"C": one.C, "test_fraction": 0.2}
    return make_run("pan-svm", one.data, **values)


def libsvm(one: ThesisSet, share: float, scheme: str, seed: int) -> Run:
    """Return a run of LIBSVM; under CV2 on so many of the rows that four fifths would be a share of 1."""
    values: dict[str, Scalar] = {
        "C": one.C,
        "gamma": one.gamma,
        "scaling": "minmax",
        "sites": 5,
        "seed": seed,
        "test_fraction": 0.0 if scheme == "CV1" else round(1 - 0.8 * share, 4),
    }
    return make_run("folds:central:svc" if scheme == "CV1" else "central:svc", one.data, **values)

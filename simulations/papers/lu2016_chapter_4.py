"""Lu 2016, chapter 4: several classes, accuracy by share of landmarks, under CV1 and CV2.

CV1 is a federated 5-fold cross-validation on all rows: model choice with a single point in its grid. For CV2 a random
fifth of each class at each site is left out first. As nothing is chosen here, both estimate the same accuracy.
"""

from collections.abc import Sequence

from flower_pansvm.terms import Scalar
from simulations.papers.declared import declared
from simulations.papers.lu2016_sets import DNA, LEUKEMIA_3, LEUKEMIA_4, LUNG, MANY_CLASSES, ThesisSet
from simulations.papers.reproduction import Setup

SCHEMES = ("CV1", "CV2")


def shares_of(one: ThesisSet) -> Sequence[int]:
    """Return the shares of landmarks in percent; of the 32 rows of lung, fewer than 55 % are too few."""
    return range(55 if one is LUNG else 25, 91, 5)


def pan(one: ThesisSet, share: int, scheme: str) -> Setup:
    """Return a run of PAN-SVM but for its seed."""
    values: dict[str, Scalar] = {
        "scaling": "minmax",
        "tol": 1e-3,
        "min_cluster": 1,
        "sites": 5,
    }
    values |= {"gamma": one.gamma, "landmarks": share / 100}
    if scheme == "CV1":
        values |= {"C": f"{one.C:g},{one.C:g}", "test_fraction": 0.0}
    else:
        values |= {"C": one.C, "test_fraction": 0.2}
    return Setup("pan-svm", one.data, values)


def libsvm(one: ThesisSet, share: int, scheme: str) -> Setup:
    """Return a run of LIBSVM; under CV2 on so many of the rows that four fifths would be a share of 100 %."""
    values: dict[str, Scalar] = {"C": one.C, "gamma": one.gamma, "scaling": "minmax", "sites": 5}
    values["test_fraction"] = 0.0 if scheme == "CV1" else round(1 - 0.8 * (share / 100), 4)
    return Setup("folds:central:svc" if scheme == "CV1" else "central:svc", one.data, values)


declared(
    "lu-figure-4.5",
    {
        (f"{one.name}, {name}", f"{share} %"): [setup(one, share, scheme)]
        for one in MANY_CLASSES
        for name, setup, scheme in (("PAN-SVM", pan, "CV1"), ("LIBSVM", libsvm, "CV2"))
        for share in shares_of(one)
    },
)
declared(
    "lu-figure-4.6",
    {
        (one.name, scheme): [pan(one, share, scheme) for share in shares_of(one)]
        for one in MANY_CLASSES
        for scheme in SCHEMES
    },
)
declared(
    "lu-figure-4.7",
    {(one.name, scheme): [libsvm(one, 100, scheme)] for one in MANY_CLASSES for scheme in SCHEMES},
)
for figure, scheme in (("lu-figure-4.8", "CV2"), ("lu-figure-4.9", "CV1")):
    declared(
        figure,
        {
            (one.name, f"{share} %"): [pan(one, share, scheme)]
            for one in (LEUKEMIA_3, LEUKEMIA_4, DNA, LUNG)
            for share in range(25, 56, 5)
        },
    )

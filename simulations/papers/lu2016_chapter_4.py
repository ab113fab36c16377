"""Lu 2016, chapter 4: several classes, accuracy by share of landmarks, under CV1 and CV2.

CV1 is a federated 5-fold cross-validation on all rows: model choice with a single point in its grid. For CV2 a random
fifth of each class of the whole table is left out before the sites get theirs; one of five fifths by seed. As nothing
is chosen here, both estimate the same accuracy, of models of four fifths of the rows.
"""

from collections.abc import Sequence

from flower_pansvm.terms import Scalar
from simulations.papers.declared import declared
from simulations.papers.lu2016_sets import DNA, LEUKEMIA_3, LEUKEMIA_4, LUNG, MANY_CLASSES, ThesisSet
from simulations.papers.reproduction import Setup

SCHEMES = ("CV1", "CV2")


def shares_of(data_set: ThesisSet) -> Sequence[int]:
    """Return the shares of landmarks in percent; of the 32 rows of lung, fewer than 55 % are too few."""
    return range(55 if data_set is LUNG else 25, 91, 5)


def pan(data_set: ThesisSet, share: int, scheme: str) -> Setup:
    """Return a run of PAN-SVM but for its seed."""
    values: dict[str, Scalar] = {"scaling": "minmax", "tol": 1e-3, "min_cluster": 1, "sites": 5}
    values |= {"gamma": data_set.gamma, "landmarks": share / 100, "test_fraction": 0.0}
    if scheme == "CV1":
        # The grid of one point, twice, so that it is cross-validated.
        return Setup("pan-svm", data_set.data, values | {"C": f"{data_set.C:g},{data_set.C:g}"})
    return Setup("rotated:pan-svm", data_set.data, values | {"C": data_set.C})


def libsvm(data_set: ThesisSet, share: int, scheme: str) -> Setup:
    """Return a run of LIBSVM but for its seed; under CV2 on a share of the training rows, in percent."""
    values: dict[str, Scalar] = {"C": data_set.C, "gamma": data_set.gamma, "scaling": "minmax", "sites": 5}
    values["test_fraction"] = 0.0
    strategy = "folds:central:svc" if scheme == "CV1" else f"rotated:central:svc {share}"
    return Setup(strategy, data_set.data, values)


declared(
    "lu-figure-4.5",
    {
        (f"{data_set.name}, {name}", f"{share} %"): [setup(data_set, share, scheme)]
        for data_set in MANY_CLASSES
        for name, setup, scheme in (("PAN-SVM", pan, "CV1"), ("LIBSVM", libsvm, "CV2"))
        for share in shares_of(data_set)
    },
)
declared(
    "lu-figure-4.6",
    {
        (data_set.name, scheme): [pan(data_set, share, scheme) for share in shares_of(data_set)]
        for data_set in MANY_CLASSES
        for scheme in SCHEMES
    },
)
declared(
    "lu-figure-4.7",
    {
        (data_set.name, scheme): [libsvm(data_set, 100, scheme)]
        for data_set in MANY_CLASSES
        for scheme in SCHEMES
    },
)
for figure, scheme in (("lu-figure-4.8", "CV2"), ("lu-figure-4.9", "CV1")):
    declared(
        figure,
        {
            (data_set.name, f"{share} %"): [pan(data_set, share, scheme)]
            for data_set in (LEUKEMIA_3, LEUKEMIA_4, DNA, LUNG)
            for share in range(25, 56, 5)
        },
    )

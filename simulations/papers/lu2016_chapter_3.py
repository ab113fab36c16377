"""Lu 2016, chapter 3: PAN-SVM beside central classifiers, an ensemble and ADMM, accuracy and seconds."""

from collections.abc import Mapping
from typing import Any

from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from flower_pansvm.terms import Scalar
from simulations.comparison.workers import Result
from simulations.data.pooling import pooled
from simulations.papers.declared import declared
from simulations.papers.lu2016_sets import (
    ADULT,
    AUSTRALIAN,
    COD_RNA,
    DIABETES,
    EIGHT,
    FOURCLASS,
    GERMAN,
    GRAVIER,
    IONOSPHERE,
    ThesisSet,
)
from simulations.papers.reproduction import Position, Setup, experiment, per_cell, per_run
from strategies.settings import Settings
from strategies.steps.scaling import scaling_of_rows
from strategies.svm_settings import PanSvmSettings

PAPER: dict[str, Scalar] = {
    "search": "published",
    "tol": 1e-3,
    "scaling": "minmax",
    "min_cluster": 1,
    "landmarks": 0.25,
    "sites": 5,
    "test_fraction": 0.2,
}
"""The algorithms as published, rows partitioned as there; features in [-1, 1] fit its figures best. ADMM is as in the
linear SVM example of Boyd et al. (2011), which the paper seems to have run."""

TRAINING = ("warm start", "cutting planes", "consensus")
"""Phases that solve the SVM: those of the paper's seconds. Ours are CPU seconds of all sites and the coordinator."""


def chapter_3(data_set: ThesisSet, strategy: str = "pan-svm", **more: Scalar) -> Setup:
    """Return a run of chapter 3 but for its seed."""
    return Setup(strategy, data_set.data, {**PAPER, "C": data_set.C, "gamma": data_set.gamma, **more})


def seconds(result: Result) -> float:
    """Return the CPU seconds of the phases that solve the SVM."""
    phases = result["phases"]
    return float(sum(phases[phase]["cpu_seconds"] for phase in TRAINING if phase in phases))


def rounds(result: Result) -> float:
    """Return the iterations: round trips of cutting planes, or of ADMM."""
    return float(result["consensus_rounds"] if "consensus_rounds" in result else result["cut_rounds"])


# Tables 3.2 and 3.3 and Figure 3.5: accuracy

CLASSIFIERS: Mapping[str, tuple[str, Mapping[str, Scalar]]] = {
    "naive Bayes": ("central:naive-bayes", {}),
    "tree": ("central:tree", {}),
    "LIBSVM linear": ("central:linear", {"C": 1.0}),
    "LIBSVM RBF": ("central:svc", {}),
    "PAN-SVM 15 %": ("pan-svm", {"landmarks": 0.15}),
    "PAN-SVM 25 %": ("pan-svm", {"landmarks": 0.25}),
}
"""Strategy and settings of each column of Table 3.2."""

declared(
    "lu-table-3.2",
    {
        (data_set.name, column): [chapter_3(data_set, strategy, **more)]
        for data_set in EIGHT
        for column, (strategy, more) in CLASSIFIERS.items()
    },
)

SYSTEMS = {"SVM-Ensemble": "svm-ensemble", "PAN-SVM": "pan-svm", "SVM-ADMM": "svm-admm"}

declared(
    "lu-table-3.3",
    {
        (row, column): [chapter_3(FOURCLASS, strategy, split=split, sites=3, landmarks=0.35)]
        for row, split in {"Random distribution": "iid", "Different distributions": "feature:f1"}.items()
        for column, strategy in SYSTEMS.items()
    },
)
declared(
    "lu-figure-3.5",
    {
        (data_set.name, f"{share} %"): [chapter_3(data_set, landmarks=share / 100, search="fast")]
        for data_set in EIGHT
        for share in range(5, 86, 10)
    },
)

# Tables 3.4 and 3.5, Figures 3.7 to 3.9: PAN-SVM and ADMM at 5, 10 and 20 sites, rows split in two ways

SITES = (5, 10, 20)
SPLITS = ("same", "different")
"""The paper's names: rows partitioned at random, and by the first feature."""

TRAINED: Mapping[str, tuple[str, Mapping[str, Scalar]]] = {
    "PAN-SVM": ("pan-svm", {}),
    "SVM-ADMM": ("svm-admm", {}),
    "PAN-SVM, fast": ("pan-svm", {"search": "fast"}),
    "SVM-ADMM, tight": ("svm-admm", {"search": "fast"}),
}
"""Strategy and settings: the paper's two, and both of them trained to the optimum."""


def at_sites(data_set: ThesisSet, first: str, split: str, sites: int, name: str) -> Setup:
    """Return a run of one of `TRAINED` but for its seed; ``first`` is the set's first feature."""
    strategy, more = TRAINED[name]
    way = "iid" if split == "same" else f"feature:{first}"
    return chapter_3(data_set, strategy, split=way, sites=sites, **more)


def cost(position: Position, result: Result) -> float:
    """Return CPU seconds, round trips or megabytes."""
    if position[1] == "MB":
        return float(result["bytes_up"]) / 1e6
    return seconds(result) if position[1] == "seconds" else rounds(result)


BOTH = {
    name: declared(
        table,
        {
            (f"{split}, {sites} sites, {name}", what): [at_sites(data_set, first, split, sites, name)]
            for split in SPLITS
            for sites in SITES
            for name in TRAINED
            for what in ("seconds", "rounds", "MB")
        },
        per_cell(cost),
    )
    for table, name, data_set, first in (
        ("lu-table-3.4", "fourclass", FOURCLASS, "f1"),
        ("lu-table-3.5", "pima", DIABETES, "pregnant"),
    )
}
"""Both tables by the names of their sets; the sets' first features are ``f1`` and ``pregnant``."""


declared(
    "lu-figure-3.7",
    {
        (f"{name}, {row}", column): setups
        for name, table in BOTH.items()
        for (row, column), setups in table.setups.items()
        if column == "seconds"
    },
    per_run(seconds),
    paper={
        (f"{name}, {row}", column): value
        for name, table in BOTH.items()
        for (row, column), value in table.paper.items()
    },
)
for figure, table in (("lu-figure-3.8", BOTH["fourclass"]), ("lu-figure-3.9", BOTH["pima"])):
    declared(
        figure,
        {
            (f"{shown}-{sites}", name): table.setups[f"{split}, {sites} sites, {name}", "rounds"]
            for split, shown in {"same": "RandomSplit", "different": "FeatureSplit"}.items()
            for sites in SITES
            for name in TRAINED
        },
        per_run(rounds),
    )

# Table 3.6 and Figures 3.10 to 3.12: seconds by rows, features and landmarks, and of the parts

FEATURES = 500
"""Landmarks on Adult and cod-rna, and random Fourier features."""

TWELVE = (*EIGHT, FOURCLASS, ADULT, COD_RNA, GRAVIER)
OF_TWELVE = {
    data_set.name: [chapter_3(data_set, landmarks=FEATURES if data_set in (ADULT, COD_RNA) else 0.25)]
    for data_set in sorted(TWELVE, key=lambda data_set: data_set.rows)
}
"""The runs of each set for Figures 3.10 and 3.12, by rows."""


@experiment("fourier", "pan-svm")
def least_squares(count: str, settings: Settings) -> dict[str, Any]:
    """Return the accuracy of least squares on so many random Fourier features of all rows (Rahimi and Recht 2007)."""
    assert isinstance(settings, PanSvmSettings)
    rows = pooled(settings)
    scaling, (gamma,) = scaling_of_rows(settings.scaling, rows.train.X), settings.gamma_values(1.0)
    features = RBFSampler(gamma=gamma, n_components=int(count), random_state=settings.seed)
    model = make_pipeline(features, RidgeClassifier()).fit(
        scaling.transform(rows.train.X), rows.train.classes
    )
    return {"accuracy": float(model.score(scaling.transform(rows.test.X), rows.test.classes))}


ON_ADULT = {
    "PAN-SVM": "pan-svm",
    "SVM-ADMM": "svm-admm",
    "LIBSVM": "central:svc",
    "Fourier+LS": f"fourier:{FEATURES}",
}

declared(
    "lu-table-3.6",
    {("Adult", column): [chapter_3(ADULT, name, landmarks=FEATURES)] for column, name in ON_ADULT.items()},
    # Of classifiers in one place the whole run, reading the table included.
    per_cell(lambda _, result: seconds(result) if "phases" in result else result["cpu"]),
)


def size_or_cost(position: Position, result: Result) -> float:
    """Return rows or features of a set, seconds or iterations."""
    (data_set,) = (data_set for data_set in TWELVE if data_set.name == position[0])
    sizes = {"rows": float(data_set.rows), "features": float(data_set.features)}
    if position[1] in sizes:
        return sizes[position[1]]
    return seconds(result) if position[1] == "seconds" else rounds(result)


declared(
    "lu-figure-3.10",
    {
        (name, column): setups
        for name, setups in OF_TWELVE.items()
        for column in ("rows", "features", "seconds", "iterations")
    },
    per_cell(size_or_cost),
)
declared(
    "lu-figure-3.11",
    {
        (data_set.name, f"{share} %"): [chapter_3(data_set, landmarks=share / 100)]
        for data_set in (AUSTRALIAN, DIABETES, GERMAN, IONOSPHERE)
        for share in range(5, 46, 10)
    },
    per_run(seconds),
)

PARTS = {"k-means": "landmarks", "decomposition": "feature map", "training": "cutting planes"}
"""The phase of a run that each part is."""

declared(
    "lu-figure-3.12",
    {(data_set.name, column): OF_TWELVE[data_set.name] for data_set in TWELVE for column in PARTS},
    per_cell(lambda position, result: result["phases"].get(PARTS[position[1]], {}).get("cpu_seconds", 0.0)),
)

"""How accurate the federated model is beside a central SVM, and what landmarks have to do with it."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_svmlight_files
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from simulations.benchmarks.paper_data import NINE, PaperSet, paper_settings, read
from simulations.engines.running import train_in_process
from simulations.markdown import markdown
from strategies.pan_svm import PanSVM
from strategies.pan_svm_settings import PanSvmSettings

METHODS: Mapping[str, Mapping[str, object]] = {
    "k-means, min-cluster 1 (paper)": {},
    "k-means, min-cluster 5": {"min_cluster": 5},
    "federated k-means, min-cluster 1": {"landmark_method": "federated-k-means"},
    "federated k-means, min-cluster 5": {"landmark_method": "federated-k-means", "min_cluster": 5},
    "random": {"landmark_method": "random"},
}
LANDMARKS = (50, 100, 200, 500, 1000, 2000)


class Folds(NamedTuple):
    """Mean accuracy over five folds, by way of finding landmarks, and of the central SVM; and round trips in all."""

    data: str
    svc: float
    accuracy: dict[str, float]
    round_trips: dict[str, float]


class Reading(NamedTuple):
    """One model of the curve over the number of landmarks."""

    data: str
    landmarks: int
    accuracy: float
    cut_rounds: int
    seconds: float


class Race(NamedTuple):
    """The federated model, a central Nyström model and a central SVM on the same rows, in one process."""

    seconds: dict[str, float]
    accuracy: dict[str, float]
    cut_rounds: int


def five_folds(data_dir: Path, show: Callable[[str], None], sets: Sequence[PaperSet] = NINE) -> list[Folds]:
    """Cross-validate on every set, the same folds for all."""
    found = []
    for one in sets:
        X, labels = read(one.data, data_dir)
        ours: dict[str, list[float]] = {method: [] for method in METHODS}
        trips: dict[str, list[int]] = {method: [] for method in METHODS}
        central = []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, labels):
            svc = make_pipeline(MinMaxScaler((-1, 1)), SVC(C=one.C, gamma=one.gamma))
            central.append(svc.fit(X.iloc[train], labels.iloc[train]).score(X.iloc[test], labels.iloc[test]))
            with _as_file(X.iloc[train], labels.iloc[train]) as file:
                for method, changes in METHODS.items():
                    strategy = train_in_process(paper_settings(one, file, **changes))
                    assert isinstance(strategy, PanSVM)
                    ours[method].append(_score(strategy, X.iloc[test], labels.iloc[test]))
                    trips[method].append(strategy.federation.costs.round_trips)
        found.append(
            Folds(
                one.data,
                float(np.mean(central)),
                {method: float(np.mean(scores)) for method, scores in ours.items()},
                {method: float(np.mean(counts)) for method, counts in trips.items()},
            )
        )
        losses = ", ".join(f"{100 * (found[-1].svc - score):+.1f}" for score in found[-1].accuracy.values())
        show(f"{one.data}: SVC {100 * found[-1].svc:.1f}, losses {losses}")
    return found


def folds_markdown(found: Sequence[Folds]) -> str:
    """Return a table of accuracies in percent, the losses against the central SVM in brackets."""
    rows = [
        [
            one.data,
            f"{100 * one.svc:.1f}",
            *(f"{100 * score:.1f} ({100 * (one.svc - score):+.1f})" for score in one.accuracy.values()),
        ]
        for one in found
    ]
    losses = [100 * np.mean([one.svc - one.accuracy[method] for one in found]) for method in METHODS]
    trips = [np.mean([one.round_trips[method] for one in found]) for method in METHODS]
    rows.append(["mean loss", "", *(f"{loss:+.2f}" for loss in losses)])
    rows.append(["mean round trips in all", "", *(f"{count:.0f}" for count in trips)])
    return markdown(["data", "central SVC", *METHODS], rows)


def landmark_curve(
    data_dir: Path,
    show: Callable[[str], None],
    names: Mapping[str, Mapping[str, object]],
    counts: Sequence[int],
) -> list[Reading]:
    """Train on a fifth left out with more and more landmarks.

    Parameters
    ----------
    data_dir : Path
        Folder of data sets.
    show : callable
        Receives a line for each model.
    names : mapping of str to mapping
        Data sets with their settings.
    counts : sequence of int
        Numbers of landmarks.
    """
    found = []
    for data, changes in names.items():
        for count in counts:
            settings = PanSvmSettings(data=data, data_dir=str(data_dir), landmarks=count, **changes)  # type: ignore[arg-type]
            started = time.perf_counter()
            strategy = train_in_process(settings)
            assert isinstance(strategy, PanSVM)
            seconds = time.perf_counter() - started
            accuracy = strategy.evaluation.accuracy or 0.0
            rounds = max(state.rounds for state in strategy.training.progress)
            found.append(Reading(data, count, accuracy, rounds, seconds))
            show(f"{data}, {count} landmarks: {accuracy:.4f}, {rounds} rounds, {seconds:.1f} s")
    return found


def curve_markdown(found: Sequence[Reading]) -> str:
    """Return the curves as a table."""
    rows = [
        [one.data, str(one.landmarks), f"{100 * one.accuracy:.2f}", str(one.cut_rounds), f"{one.seconds:.1f}"]
        for one in found
    ]
    return markdown(
        ["data", "landmarks", "test accuracy, %", "cutting-plane rounds", "seconds, all sites"], rows
    )


def plot_curve(found: Sequence[Reading], file: Path) -> None:
    """Plot accuracy against the number of landmarks."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for data in dict.fromkeys(one.data for one in found):
        own = [one for one in found if one.data == data]
        axes.semilogx(
            [one.landmarks for one in own], [100 * one.accuracy for one in own], marker="o", label=data
        )
    axes.set(xlabel="landmarks", ylabel="test accuracy, %")
    counts = sorted({one.landmarks for one in found})
    axes.set_xticks(counts, labels=[str(count) for count in counts])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=130)


def race(data_dir: Path, name: str, C: float, gamma: float, landmarks: int) -> Race:
    """Time the federated model beside central ones; reading the data is not counted.

    Parameters
    ----------
    data_dir : Path
        Folder of data sets.
    name : str
        A data set with a test half ``name.t``, both LIBSVM text.
    C, gamma : float
        Parameters of all three.
    landmarks : int
        Of the federated and of the central Nyström model.
    """
    settings = PanSvmSettings(
        data=name,
        data_dir=str(data_dir),
        C=C,
        gamma=gamma,
        landmarks=landmarks,
        scaling="none",
        test_fraction=0.0,
    )
    X, y, X_test, y_test = _halves(data_dir, name)
    train_in_process(PanSvmSettings(data=name, data_dir=str(data_dir), landmarks=5, tol=0.5, scaling="none"))
    seconds, accuracy = {}, {}
    started = time.perf_counter()
    strategy = train_in_process(settings)
    assert isinstance(strategy, PanSVM)
    seconds["federated"] = time.perf_counter() - started
    accuracy["federated"] = float(np.mean(strategy.model.predict(X_test).astype(float) == y_test))
    cells, test_cells = X.to_numpy(), X_test.to_numpy()
    started = time.perf_counter()
    centres = KMeans(landmarks, n_init=1, random_state=0).fit(cells).cluster_centers_
    nystroem = Nystroem(gamma=gamma, n_components=landmarks).fit(centres)
    linear = LinearSVC(C=C, loss="hinge").fit(nystroem.transform(cells), y)
    seconds["central k-means, Nystroem, LinearSVC"] = time.perf_counter() - started
    accuracy["central k-means, Nystroem, LinearSVC"] = linear.score(nystroem.transform(test_cells), y_test)
    started = time.perf_counter()
    svc = SVC(C=C, gamma=gamma).fit(cells, y)
    seconds["central SVC"] = time.perf_counter() - started
    accuracy["central SVC"] = svc.score(test_cells, y_test)
    return Race(seconds, accuracy, strategy.training.progress[0].rounds)


def race_markdown(found: Race) -> str:
    """Return a table of seconds and accuracy."""
    ours = found.seconds["federated"]
    rows = [
        [name, f"{taken:.1f}", f"{taken / ours:.1f}", f"{100 * found.accuracy[name]:.2f}"]
        for name, taken in found.seconds.items()
    ]
    return markdown(["", "seconds", "times the federated", "test accuracy, %"], rows)


def _halves(data_dir: Path, name: str) -> tuple[pd.DataFrame, NDArray[Any], pd.DataFrame, NDArray[Any]]:
    files = [str(data_dir / f"{half}.libsvm.gz") for half in (name, f"{name}.t")]
    X, y, X_test, y_test = load_svmlight_files(files)
    columns = [f"f{number}" for number in range(1, X.shape[1] + 1)]
    return (
        pd.DataFrame(X.toarray(), columns=columns),
        y,
        pd.DataFrame(X_test.toarray(), columns=columns),
        y_test,
    )


def _score(strategy: PanSVM, X: pd.DataFrame, labels: "pd.Series[str]") -> float:
    return float(np.mean(strategy.model.predict(X).astype(str) == labels.to_numpy()))


@contextmanager
def _as_file(X: pd.DataFrame, labels: "pd.Series[str]") -> Iterator[str]:
    """Give the rows as a CSV file for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        X.assign(label=labels).to_csv(file, index=False)
        yield str(file)

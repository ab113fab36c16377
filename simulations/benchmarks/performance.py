"""Federated training against central solvers.

``python -m simulations.benchmarks.performance --data-dir DIR --out DIR`` writes ``performance.md`` with the tables of
``docs/performance.md`` and the plot of time, memory and bytes against sizes. Every contestant has its own process,
so that its peak of memory is its own; all sites of a federated run are in one. Reading the table is not counted. Where
ThunderSVM is installed it takes part, too.
"""

import importlib.util
import logging
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_svmlight_files
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from simulations.benchmarks import sizes
from simulations.engines.flower_log import quieter
from simulations.engines.running import train_in_process
from simulations.markdown import machine, markdown
from strategies.pan_svm import PanSVM
from strategies.pan_svm_settings import PanSvmSettings

Rows = tuple[pd.DataFrame, NDArray[Any]]


class Contest(NamedTuple):
    """A data set and the parameters that all contestants train with."""

    read: Callable[[Path], tuple[Rows, Rows]]  # the training rows and the test rows
    landmarks: int
    C: float
    gamma: float
    scaling: str = "standard"


class Entry(NamedTuple):
    """What one contestant took, and how well its model does."""

    seconds: float  # wall clock
    processor_seconds: float
    peak_gigabytes: float
    megabytes: float | None  # from all sites to the coordinator; None for a central solver
    cut_rounds: int | None
    accuracy: float


def letter(data_dir: Path) -> tuple[Rows, Rows]:
    """Return letter and its test half: 26 classes."""
    train, test = (pd.read_csv(data_dir / f"{name}.csv.gz") for name in ("letter", "letter.t"))
    return _rows_of(train), _rows_of(test)


def cod_rna(data_dir: Path) -> tuple[Rows, Rows]:
    """Return four fifths and the last fifth of cod-rna."""
    return _split(*_rows_of(pd.read_csv(data_dir / "cod-rna.scaled.csv.gz")))


def a9a(data_dir: Path) -> tuple[Rows, Rows]:
    """Return a9a and its test half."""
    X, y, X_test, y_test = load_svmlight_files(
        [str(data_dir / f"{half}.libsvm.gz") for half in ("a9a", "a9a.t")]
    )
    columns = [f"f{number}" for number in range(X.shape[1])]
    return (
        (pd.DataFrame(X.toarray(), columns=columns), y.astype(int).astype(str)),
        (pd.DataFrame(X_test.toarray(), columns=columns), y_test.astype(int).astype(str)),
    )


def ijcnn_like(data_dir: Path, rows: int = 40_000) -> tuple[Rows, Rows]:  # noqa: ARG001
    """Return generated rows of the shape of ijcnn1: 22 columns, and a rare class of a tenth of the rows.

    It is six of sixty clouds; one label in a hundred is wrong.
    """
    generator = np.random.default_rng(0)
    centres, groups = generator.normal(size=(60, 22)), generator.integers(0, 60, rows)
    X = centres[groups] + 0.5 * generator.normal(size=(rows, 22))
    y = (groups < 6) ^ (generator.random(rows) < 0.01)
    return _split(pd.DataFrame(X, columns=[f"x{i}" for i in range(22)]), y.astype(int).astype(str))


CONTESTS: Mapping[str, Contest] = {
    "letter": Contest(letter, 1000, 10.0, 1 / 16),
    "ijcnn1-like": Contest(ijcnn_like, 1000, 32.0, 1 / 22),
    "cod-rna": Contest(cod_rna, 1000, 32.0, 0.5, "none"),
    "a9a": Contest(a9a, 300, 1.0, 0.05, "none"),
}


def federated(contest: Contest, data_dir: Path, preset: str) -> Entry:
    """Train with five sites in this process; the table is read by a short run before."""
    (X, y), test = contest.read(data_dir)
    with tempfile.TemporaryDirectory() as folder, quieter(logging.ERROR):
        file = Path(folder) / "rows.csv"
        X.assign(label=y).to_csv(file, index=False)
        settings = PanSvmSettings(
            data=str(file),
            sites=5,
            C=contest.C,
            gamma=contest.gamma,
            landmarks=contest.landmarks,
            scaling=contest.scaling,
            preset=preset,
            test_fraction=0.0,
        )
        train_in_process(replace(settings, landmarks=5, tol=0.5))
        strategy, seconds, processor_seconds = _timed(lambda: train_in_process(settings))
    assert isinstance(strategy, PanSVM)
    return Entry(
        seconds,
        processor_seconds,
        _peak(),
        strategy.federation.costs.bytes_up / 1e6,
        max(state.rounds for state in strategy.training.progress),
        float(np.mean(strategy.model.predict(test[0]).astype(str) == test[1])),
    )


def pipeline(contest: Contest, data_dir: Path) -> Entry:
    """Train k-means, Nystroem and one-versus-rest LinearSVC on all rows together."""

    def train(X: NDArray[np.float64], y: NDArray[Any]) -> Callable[[NDArray[np.float64]], NDArray[Any]]:
        centres = KMeans(contest.landmarks, n_init=1, random_state=0).fit(X).cluster_centers_
        nystroem = Nystroem(gamma=contest.gamma, n_components=contest.landmarks).fit(centres)
        linear = LinearSVC(C=contest.C, loss="hinge").fit(nystroem.transform(X), y)
        return lambda rows: linear.predict(nystroem.transform(rows))

    return _central(contest, data_dir, train)


def svc(contest: Contest, data_dir: Path, module: str = "sklearn.svm") -> Entry:
    """Train an SVC, of scikit-learn or of a module with the same interface, on all rows together."""
    estimator = SVC if module == "sklearn.svm" else importlib.import_module(module).SVC
    return _central(
        contest, data_dir, lambda X, y: estimator(C=contest.C, gamma=contest.gamma).fit(X, y).predict
    )


def contestants() -> dict[str, Callable[[Contest, Path], Entry]]:
    """Return all contestants that are installed, by name."""
    found: dict[str, Callable[[Contest, Path], Entry]] = {
        "federated, exact": _exact,
        "federated, private": _private,
        "k-means, Nystroem, LinearSVC": pipeline,
        "SVC": svc,
    }
    return found | ({"ThunderSVM": _thunder} if importlib.util.find_spec("thundersvm") else {})


def race(name: str, data_dir: Path, show: Callable[[str], None]) -> dict[str, Entry]:
    """Let all contestants train on one set, one after the other."""
    found = {}
    for who, enter in contestants().items():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found[who] = pool.submit(enter, CONTESTS[name], data_dir).result()
        show(f"{name}, {who}: {found[who].seconds:.1f} s, {100 * found[who].accuracy:.2f} %")
    return found


def markdown_of(found: Mapping[str, Entry]) -> str:
    """Return a table of one race; ratios are to the federated run with exact sums."""
    ours = found["federated, exact"]
    rows = [
        [
            who,
            f"{entry.seconds:.1f} ({entry.seconds / ours.seconds:.2f})",
            f"{entry.processor_seconds:.1f} ({entry.processor_seconds / ours.processor_seconds:.2f})",
            f"{entry.peak_gigabytes:.2f}",
            "" if entry.megabytes is None else f"{entry.megabytes:,.0f}",
            "" if entry.cut_rounds is None else str(entry.cut_rounds),
            f"{100 * entry.accuracy:.2f}",
        ]
        for who, entry in found.items()
    ]
    header = [
        "",
        "seconds (ratio)",
        "processor seconds (ratio)",
        "peak GB",
        "MB sent",
        "rounds",
        "accuracy, %",
    ]
    return markdown(header, rows)


def main(
    data_dir: Annotated[Path, typer.Option(help="Folder of data sets.")],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")],
    only: Annotated[str, typer.Option(help="One data set, or sizes; all if left out.")] = "",
) -> None:
    """Measure federated training beside central solvers, and how it grows."""
    known = [*CONTESTS, "sizes"]
    chosen = [only] if only else known
    if not set(chosen) <= set(known):
        raise typer.BadParameter(f"There is no part '{only}'. Choose one of: {', '.join(known)}.")
    out.mkdir(parents=True, exist_ok=True)
    parts = [machine()]
    for name in chosen:
        if name == "sizes":
            found = sizes.measure(_show)
            sizes.plot(found, out / "performance.png")
            parts.append(f"## sizes\n\n{sizes.markdown_of(found)}")
        else:
            parts.append(f"## {name}\n\n{markdown_of(race(name, data_dir, _show))}")
    if "ThunderSVM" not in contestants():
        parts.append("ThunderSVM is not installed and took no part.\n")
    (out / "performance.md").write_text("\n\n".join(parts), encoding="utf-8")


def _exact(contest: Contest, data_dir: Path) -> Entry:
    return federated(contest, data_dir, "exact")


def _private(contest: Contest, data_dir: Path) -> Entry:
    return federated(contest, data_dir, "private")


def _thunder(contest: Contest, data_dir: Path) -> Entry:
    return svc(contest, data_dir, "thundersvm")


def _central(contest: Contest, data_dir: Path, train: Callable[..., Callable[..., NDArray[Any]]]) -> Entry:
    (X, y), (X_test, y_test) = contest.read(data_dir)
    scaler = make_pipeline(StandardScaler() if contest.scaling == "standard" else FunctionTransformer())
    predict, seconds, processor_seconds = _timed(lambda: train(scaler.fit_transform(X.to_numpy()), y))
    accuracy = float(np.mean(predict(scaler.transform(X_test.to_numpy())) == y_test))
    return Entry(seconds, processor_seconds, _peak(), None, None, accuracy)


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    started, used = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - started, time.process_time() - used


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _rows_of(frame: pd.DataFrame) -> Rows:
    return frame.drop(columns="label"), frame["label"].astype(str).to_numpy()


def _split(X: pd.DataFrame, y: NDArray[Any]) -> tuple[Rows, Rows]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    return (X_train, y_train), (X_test, y_test)


def _show(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    typer.run(main)

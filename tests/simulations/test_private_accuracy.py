"""The benchmark of private models measures what it says, and nothing twice."""

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from flower_pansvm.errors import SettingError
from simulations.benchmarks import private_accuracy, private_methods, private_tables
from simulations.benchmarks.private_methods import Measured, measure
from simulations.benchmarks.private_tables import PrivateRun
from simulations.engines.running import train_in_process
from strategies.settings import make_settings

NO_FOLDER = Path()


def call(*arguments: str) -> str:
    app = private_accuracy.typer.Typer()
    app.command()(private_accuracy.main)
    result = CliRunner().invoke(app, list(arguments))
    return result.output + str(result.exception or "")


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_a_model_is_judged_on_the_rows_that_the_sites_kept_without_noise() -> None:
    found = measure("breast_cancer", NO_FOLDER, "dp-svm", 20.0, seed=1)
    settings = make_settings(
        strategy="dp-svm", data="breast_cancer", epsilon=20.0, seed=1, data_dir=str(NO_FOLDER)
    )
    strategy = train_in_process(settings)
    assert strategy.outcome.evaluation is not None
    told = strategy.outcome.evaluation.accuracy
    assert told is not None
    # The run's own figure has the noise of epsilon 20 in it.
    assert found.accuracy == pytest.approx(told, abs=0.02)
    assert found.accuracy * 114 == pytest.approx(round(found.accuracy * 114), abs=0.51)
    assert found.round_trips == strategy.federation.costs.round_trips
    sent = {one["task"]: 0 for one in strategy.federation.costs.disclosed()}
    for one in strategy.federation.costs.disclosed():
        sent[one["task"]] += one["numbers_per_site"]
    assert found.numbers_per_site == sum(n for task, n in sent.items() if task.startswith("private"))


def test_central_models() -> None:
    exact, majority = (
        measure("breast_cancer", NO_FOLDER, method, 0.0, 0) for method in ("exact", "majority")
    )
    assert exact.accuracy > 0.93
    assert majority.accuracy == pytest.approx(357 / 569, abs=0.02)
    assert exact.numbers_per_site == majority.round_trips == 0


def test_a_stopped_benchmark_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, float, int]] = []
    allowed = 3

    def measured(name: str, data_dir: Path, method: str, epsilon: float, seed: int) -> Measured:
        if len(done) == allowed:
            raise KeyboardInterrupt
        done.append((method, epsilon, seed))
        return Measured(0.6 + 0.1 * seed, 7, 13)

    monkeypatch.setattr(private_accuracy, "measure", measured)
    what = [
        "--data-dir",
        "x",
        "--sets",
        "heart",
        "--methods",
        "dp-svm,majority",
        "--epsilons",
        "1,4",
        "--splits",
        "2",
    ]
    call(*what, "--out", str(tmp_path))
    assert len(lines(tmp_path / "runs.csv")) == 1 + 3
    allowed = 100
    call(*what, "--out", str(tmp_path))
    call(*what, "--out", str(tmp_path))
    assert len(done) == len(set(done)) == 6
    assert len(lines(tmp_path / "runs.csv")) == 1 + 6
    assert "| heart | 65.0 ± 7.1 (2) | 65.0" in (tmp_path / "figures.md").read_text(encoding="utf-8")
    assert (tmp_path / "accuracy-epsilon.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--sets", "hart"], "There is no data set 'hart' here"),
        (["--methods", "dp-svn"], "dp-svn"),
        (["--methods", "pan-svm"], "epsilon"),
    ],
)
def test_what_cannot_be_measured(tmp_path: Path, arguments: list[str], told: str) -> None:
    usual = ["--data-dir", str(tmp_path), "--out", str(tmp_path), "--sets", "breast_cancer", "--splits", "1"]
    assert told in " ".join(call(*usual, *arguments).replace("│", " ").split())
    assert not (tmp_path / "figures.md").exists()


def test_without_diffprivlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib.models", None)
    with pytest.raises(SettingError, match=r"environment of its own: pip install .*diffprivlib==0\.6\.6"):
        measure("breast_cancer", NO_FOLDER, private_methods.DIFFPRIVLIB, 1.0, 0)


def test_tables_are_of_means() -> None:
    runs = [
        PrivateRun("heart", method, epsilon, seed, accuracy, 948, 13)
        for method, epsilon, accuracies in (
            ("dp-svm", 1.0, (0.80, 0.82)),
            ("dp-svm", 4.0, (0.83,)),
            ("hybrid-svm", 1.0, (0.70, 0.71)),
            ("exact", 0.0, (0.84, 0.85)),
        )
        for seed, accuracy in enumerate(accuracies)
    ]
    text = private_tables.markdown_of(runs)
    spread = 100 * np.std([0.80, 0.82], ddof=1)
    assert f"| heart | 81.0 ± {spread:.1f} (2) | 83.0 (1) | 84.5 ± 0.7 (2) |  |" in text
    assert "| heart | 1 | 81.0 | 70.5 |" in text
    assert "| heart | 4 | 83.0 |  |" in text
    assert "| heart | 1 | 948 | 13 |" in text

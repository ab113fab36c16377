"""What systems give away, counted in the same way: the systems, not the numbers, differ."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from flower_pansvm.terms import Scalar
from simulations.benchmarks.privacy_compared import SYSTEMS, System, lines_of, main, nothing_about_rows
from strategies.registry import all_strategies


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write 600 rows of which two columns are 0 and 1."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((600, 5))
    X[:, :2] = X[:, :2] > 0
    label = (X[:, 0] + X[:, 2] > 0.5).astype(int)
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(label=label).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("name", "attacker", "train", "test"),
    [
        ("svm-ensemble", "a coordinator that looks", "0 / ", "120 / 120 of 120"),
        ("random-kernel", "another hospital", "480 / ", ""),
        ("local-only", "a coordinator that looks", "0 / ", "0 / 0 of 120"),
        pytest.param("dp-svm, epsilon=1", "a coordinator that asks", "0 / ", "", marks=pytest.mark.slow),
    ],
)
def test_rows_that_are_known_to_be_read_are_counted(
    table: Path, name: str, attacker: str, train: str, test: str
) -> None:
    (line,) = lines_of(name, str(table), "", 0.01)
    assert (line[0], line[2], line[5]) == (name, attacker, test)
    assert line[4].startswith(train)  # exactly; in five columns some are near by chance


@pytest.mark.slow
def test_who_took_part_is_told_by_a_model_that_has_learned_rows_by_heart(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are drawn: what a model says better of training rows than of others it knows by heart."""
    drawn = np.random.default_rng(1).integers(2, size=600)
    pd.read_csv(table).assign(label=drawn).to_csv(table, index=False)
    by_heart: dict[str, Scalar] = {
        "preset": "exact",
        "landmarks": "300",
        "min-cluster": 1,
        "gamma": "1",
        "C": "100",
    }
    for name, settings in (("by heart", by_heart), ("private", {"strategy": "dp-svm"})):
        monkeypatch.setitem(SYSTEMS, name, System(dict(settings), (nothing_about_rows,)))
    by_heart_area, private_area = (
        float(next(iter(lines_of(name, str(table), "", 0.01)))[6].split(" ± ")[0])
        for name in ("by heart", "private")
    )
    assert by_heart_area > 0.65
    assert abs(private_area - 0.5) < 0.15  # five standard deviations of guesses


def test_every_strategy_that_trains_on_rows_is_compared() -> None:
    compared = {str(system.settings.get("strategy", "pan-svm")) for system in SYSTEMS.values()}
    selections = {"voted-wrapper", "filter-wrapper", "svm-rfe", "rsvm", "svm-t"}
    release = {
        "private-svm",
        "hybrid-svm",
    }  # exact sums as pan-svm's, to a coordinator that is trusted with them
    assert compared | selections | release == set(all_strategies())


def test_a_system_that_does_not_exist_is_named(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(main)
    found = CliRunner().invoke(app, ["--out", str(tmp_path), "--systems", "svm-admn"])
    assert found.exit_code == 2
    assert "svm-admm" in found.output

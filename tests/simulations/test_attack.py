"""The attacker: it finds rows in exact sums, counts them rightly, and finds next to none under the default preset."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from flower_pansvm.errors import SettingError
from flower_pansvm.multiclass import signs
from simulations.attack.attack import attack
from simulations.attack.differences_of_models import DifferencesOfModels, sums_of_rows
from simulations.attack.equations import Equations
from simulations.attack.findings import Found, found, landmark_baseline, random_baseline
from simulations.attack.fit import fit, start_from_landmarks, with_factors
from simulations.attack.guess import Guess
from simulations.attack.knowledge import Knowledge, feature_map_of, knowledge_of
from simulations.attack.linearised import determined
from simulations.attack.replacing import Replacement
from simulations.audit.consensus import ConsensusAudit
from simulations.audit.sites import SimulatedSites
from simulations.engines import running
from strategies.federation.transcript import read_transcript
from strategies.settings import Settings, make_settings

Floats = NDArray[np.float64]
SITES = 3


class EnoughError(Exception):
    """So many rows were found that the attack need not go on."""


def run(folder: Path, preset: str, **more: object) -> tuple[Settings, Path]:
    """Train on 75 rows of three columns, and keep the record of what came back."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((75, 3))
    label = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * generator.standard_normal(75) > 0).astype(int)
    file = folder / "rows.csv"
    pd.DataFrame(np.column_stack([X, label]), columns=["a", "b", "c", "label"]).to_csv(file, index=False)
    out = folder / preset
    chosen: dict[str, object] = {"sites": SITES, "preset": preset, "C": 4.0, "test_fraction": 0.0, **more}
    settings = make_settings(data=str(file), audit=True, out=str(out), **chosen)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "remove_transcript", lambda _: None)
        running.run(settings, "in-process", lambda _: None)
    return settings, out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Settings, Path]]:
    folder = tmp_path_factory.mktemp("attack")
    return {preset: run(folder, preset, landmarks="0.5", min_cluster=2) for preset in ("exact", "private")}


def facts(settings: Settings, folder: Path) -> tuple[Knowledge, Floats, Floats]:
    record = read_transcript(folder)
    knowledge = knowledge_of(settings, record)
    sites = SimulatedSites(settings).before(record[-1])
    truth = np.vstack([site.scaled(site.train().X) for site in sites])
    return knowledge, truth, signs(np.concatenate([site.train().classes for site in sites]), knowledge.pair)


def nearest(knowledge: Knowledge, X: Floats) -> NDArray[np.int64]:
    return np.square(X[:, None] - knowledge.landmarks[None]).sum(axis=2).argmin(axis=1)


def test_each_guess_counts_for_one_row_and_constant_columns_for_nothing() -> None:
    truth = np.array([[0.0, 1.0, 5.0], [0.01, 1.0, 5.0], [3.0, 0.0, 5.0], [9.0, 9.0, 5.0]])
    spread = np.array([1.0, 1.0, 0.0])
    assert found(truth, truth[:1], spread) == Found(1, 1, 1)
    assert found(truth, np.array([[0.0, 1.0, 0.0], [3.05, 0.0, 0.0]]), spread) == Found(1, 1, 2)
    assert found(truth, np.empty((0, 3)), spread) == Found(0, 0, 0)
    assert landmark_baseline(truth, truth[2:], spread) == Found(2, 2, 2)
    assert random_baseline(truth, truth, spread, 0.0).exact == len(truth)


@pytest.mark.slow
def test_what_the_coordinator_has_is_what_the_sites_hold(runs: dict[str, tuple[Settings, Path]]) -> None:
    knowledge, truth, y = facts(*runs["exact"])
    assert knowledge.rows == len(truth)
    assert knowledge.sides() == (int((y > 0).sum()), int((y < 0).sum()))
    np.testing.assert_allclose(knowledge.total, truth.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(knowledge.square, np.square(truth).sum(axis=0), rtol=1e-9)
    assert knowledge.noise is None
    assert facts(*runs["private"])[0].noise is not None
    # At the origin every row is in the cut, but for those that are blurred.
    origin = knowledge.asked[0]
    assert not origin.question.points[0].any()
    F = knowledge.feature_map.transform(truth)
    blurred = origin.question.blur * SITES
    assert np.linalg.norm(origin.cuts.a[0] - y @ F) <= blurred


@pytest.mark.slow
def test_the_step_is_made_of_the_derivatives_of_what_is_missed(
    runs: dict[str, tuple[Settings, Path]],
) -> None:
    knowledge, truth, y = facts(*runs["private"])
    equations = Equations(knowledge, SITES)
    generator = np.random.default_rng(0)
    X = truth + 0.1 * generator.standard_normal(truth.shape)
    guess = with_factors(equations, Guess(X, y, nearest(knowledge, X)))
    at = equations.residuals(guess)
    weights = equations.weights(at, joint=True)
    _, gradient = equations.normal_equations(guess, at, weights, 0.0)
    gradient = gradient.reshape(X.shape)
    for row, column in ((0, 0), (10, 2), (40, 1)):
        costs = []
        for step in (1e-5, -1e-5):
            moved = X.copy()
            moved[row, column] += step
            tried = replace(guess, X=moved)
            costs.append(equations.cost(tried, equations.residuals(tried, same=at), weights))
        assert (costs[0] - costs[1]) / 2e-5 == pytest.approx(-2.0 * gradient[row, column], rel=1e-4, abs=1e-3)


@pytest.mark.slow
def test_a_fit_to_exact_sums_finds_rows_again_and_one_to_noisy_sums_does_not(
    runs: dict[str, tuple[Settings, Path]],
) -> None:
    def found_by(preset: str, seconds: float, enough: int) -> int:
        knowledge, truth, y = facts(*runs[preset])
        equations, spread = Equations(knowledge, SITES), truth.std(axis=0)
        start = truth + 0.3 * np.random.default_rng(0).standard_normal(truth.shape)
        assert found(truth, start, spread).within_10 <= 15
        most = 0

        def count(seconds: float, cost: float, X: Floats) -> None:
            nonlocal most
            most = max(most, found(truth, X, spread).within_10)
            if most >= enough:
                raise EnoughError

        with contextlib.suppress(EnoughError):
            guess = with_factors(equations, Guess(start, y, nearest(knowledge, truth)))
            fit(equations, guess, seconds, count, joint=False)
        return most

    assert found_by("exact", seconds=120.0, enough=50) >= 50
    assert found_by("private", seconds=5.0, enough=75) <= 15


@pytest.mark.slow
def test_rows_that_have_come_to_rest_are_not_replaced(runs: dict[str, tuple[Settings, Path]]) -> None:
    knowledge, truth, y = facts(*runs["exact"])
    equations = Equations(knowledge, SITES)
    replacement = Replacement(equations, np.random.default_rng(0))
    guess = replacement(with_factors(equations, Guess(truth, y, nearest(knowledge, truth))))
    restless = np.arange(len(truth)) < 0.8 * len(truth)
    for _ in range(5):
        moved = replace(guess, X=guess.X + restless[:, None] * equations.spread)
        guess = replacement(moved)
        changed = (guess.X != moved.X).any(axis=1)
        assert changed.any()
        assert not changed[~restless].any()
        assert (guess.v[changed] >= 0).all()


@pytest.mark.slow
def test_exact_sums_determine_rows_and_noisy_ones_hardly_any(tmp_path: Path) -> None:
    """With landmarks as by default; many of them, means of two rows each, would say nearly as much as the rows."""
    _, exact = determined(*facts(*run(tmp_path, "exact")), SITES)
    _, private = determined(*facts(*run(tmp_path, "private")), SITES)
    assert exact >= 60
    assert private <= 7


def test_a_start_at_the_landmarks_knows_nothing_of_the_rows(runs: dict[str, tuple[Settings, Path]]) -> None:
    knowledge, truth, _ = facts(*runs["exact"])
    guess = start_from_landmarks(knowledge, Equations(knowledge, SITES), seed=0)
    assert guess.X.shape == truth.shape
    assert (guess.y > 0).sum() == knowledge.sides()[0]


@pytest.mark.slow
def test_the_whole_attack_reports_all_it_tried(runs: dict[str, tuple[Settings, Path]]) -> None:
    lines: list[str] = []
    report = attack(*runs["private"], 0.01, lines.append)
    assert set(report.attempts) == {
        "spaces of cuts", "fitted, jointly", "differences of cuts", "upper limit, fitted, jointly from the truth",
    }, "there is no curvature to fit rows to"  # fmt: skip
    assert report.rows == 75
    assert report.unknown == 225
    assert "cuts: curvature" not in report.numbers
    assert report.numbers["cuts: a"] > 0
    assert "within 10 %" in str(report)
    assert report.test_rows == 0
    assert "test rows" not in str(report)
    assert "numbers" in str(report)


@pytest.mark.slow
def test_the_published_sums_which_have_no_curvature_are_attacked_too(tmp_path: Path) -> None:
    report = attack(*run(tmp_path, "paper", min_cluster=1), 0.01, lambda _: None)
    assert {"fitted, jointly", "differences of cuts"} <= set(report.attempts)
    assert "cuts: curvature" not in report.numbers
    assert report.determined_10 is not None
    assert report.determined_10 > 5


@pytest.mark.slow
def test_rows_that_had_no_part_are_counted_beside(tmp_path: Path) -> None:
    """What is found of them is found by chance."""
    report = attack(*run(tmp_path, "exact", test_fraction=0.2), 0.05, lambda _: None)
    assert report.rows + report.test_rows == 75
    assert report.test_rows == 15
    assert set(report.by_chance) == set(report.attempts)
    assert not any(one.exact for one in report.by_chance.values())
    best = "upper limit, fitted, curvature from the truth"
    assert report.attempts[best].within_10 >= 50
    assert report.by_chance[best].within_10 <= 3
    assert f"; of {report.test_rows} test rows: 0 exact" in str(report)


@pytest.fixture(scope="module")
def consensus_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Path]:
    """One of ``svm-admm``, which the preset does not protect."""
    chosen = {"strategy": "svm-admm", "landmarks": "0.5", "min_cluster": 2, "rel_tol": 1e-3}
    return run(tmp_path_factory.mktemp("consensus"), "private", **chosen)


@pytest.mark.slow
def test_sums_of_models_are_sums_of_rows_and_their_differences_give_rows_away(
    consensus_run: tuple[Settings, Path],
) -> None:
    settings, folder = consensus_run
    record = read_transcript(folder)
    sites = SimulatedSites(settings).before(record[-1])
    truth = np.vstack([site.scaled(site.train().X) for site in sites])
    (factors,) = ConsensusAudit().factors(SimulatedSites(settings), record)
    duals = settings.C * np.hstack([np.array(own) for own in factors.by_site])  # type: ignore[attr-defined]
    (sums,), units = sums_of_rows(record, settings.terms)
    feature_map = feature_map_of(record[-1], 0)
    attacker = DifferencesOfModels(feature_map, sums, units[:, 0], 1.0, np.empty((0, 3)))
    np.testing.assert_allclose(sums, duals @ attacker.spaces.g(truth), atol=1e-7)
    # The last steps: nearly all rows that still change are read, and nothing else is taken for one.
    last = len(sums) - 1
    changing = truth[np.abs(np.diff(duals[last - 30 :], axis=0)).max(axis=0) > 1e-6]
    rows = attacker.in_window(last - 30, last, np.empty((0, 3)))
    assert len(changing) >= 5
    assert found(changing, rows, truth.std(axis=0)).exact == len(rows) >= 0.8 * len(changing)


@pytest.mark.slow
def test_an_attack_on_consensus_is_counted_beside_chance(consensus_run: tuple[Settings, Path]) -> None:
    report = attack(*consensus_run, 0.02, lambda _: None)
    assert report.attempts["differences of models"].exact >= 5
    assert report.baselines["landmarks"].exact <= 2
    assert report.determined_10 is None
    assert "made linear" not in str(report)
    assert report.numbers["consensus: models"] > 0


def test_other_kernels_are_refused_before_anything_is_tried(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="rbf"):
        attack(make_settings(kernel="linear"), tmp_path, 1.0, lambda _: None)


@pytest.mark.slow
def test_the_command_line_writes_it_into_the_result(
    tmp_path: Path, runs: dict[str, tuple[Settings, Path]]
) -> None:
    settings = replace(runs["private"][0], out=str(tmp_path / "out"))
    lines: list[str] = []
    running.run(settings, "in-process", lines.append, attack_minutes=0.01)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["attack"]["rows"] == 75
    assert result["attack"]["attempts"]["fitted, jointly"]["exact"] == 0
    assert any("made linear at the truth" in line for line in lines)

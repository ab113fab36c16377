"""The attacker: it finds records in exact sums, counts them rightly, and at level perturbed finds copies."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.systems.scaling import scaled
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.systems.pan_svm.tasks import CUTS
from flower_pansvm.systems.scaling import MOMENTS
from simulations import running
from simulations.attack import attack as attacking
from simulations.attack.attack import attack, solve
from simulations.attack.copies import SiteRecords, filtered, records_of, whole_copy
from simulations.attack.counting import counted
from simulations.attack.equations import Equations, Guess, determined
from simulations.attack.findings import Reconstructed, membership, reconstructed
from simulations.attack.fit import Replacement, fit, start_from_landmarks
from simulations.attack.knowledge import Knowledge, knowledge_of, sums_by_map
from simulations.attack.moments import records_in_moments
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.settings import Settings, make_settings

SITES = 3


def run(folder: Path, level: str, **more: object) -> tuple[Settings, Path]:
    """Train on 75 rows of three columns, and keep the record of what came back."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((75, 3))
    label = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * generator.standard_normal(75) > 0).astype(int)
    file = folder / "rows.csv"
    pd.DataFrame(np.column_stack([X, label]), columns=["a", "b", "c", "label"]).to_csv(file, index=False)
    out = folder / level
    chosen: dict[str, object] = {"sites": SITES, "privacy": level, "C": 4.0, "test_fraction": 0.0, **more}
    settings = make_settings(data=str(file), audit=True, out=str(out), **chosen)
    running.run(settings, "in-process", lambda _: None, audit="record")
    return settings, out


Runs = dict[str, tuple[Settings, Path]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("attack")
    usual = {"tol": 1e-3, "landmarks": "0.5", "min_cluster": 2}
    return {level: run(folder, level, **usual) for level in ("exact", "perturbed")}


def facts(settings: Settings, folder: Path) -> tuple[Knowledge, Floats]:
    """Return what the coordinator knows, and the scaled rows that systems have seen."""
    record = read_transcript(folder)
    knowledge = knowledge_of(record)
    sites = SimulatedSites(settings).before(record[-1])
    return knowledge, np.vstack([scaled(site, site.train().X) for site in sites])


def drawn(rows: int, noise: float, seed: int = 0) -> SiteRecords:
    """Return records of which two columns are nearly the same, and copies with noise."""
    generator = np.random.default_rng(seed)
    true = generator.standard_normal((rows, 3))
    true[:, 1] = true[:, 0] + 0.01 * true[:, 1]
    seen = true + noise * generator.standard_normal(true.shape)
    trained = np.arange(rows) % 2 == 0
    measured = np.ones(true.shape, dtype=np.bool_)
    return SiteRecords(
        true,
        seen,
        true,
        np.zeros_like(measured),
        trained,
        measured,
        true.mean(axis=0),
        true.std(axis=0),
        noise,
        1.0,
    )


def test_each_guess_counts_for_one_row_and_constant_columns_for_nothing() -> None:
    truth = np.array([[0.0, 1.0, 5.0], [0.01, 1.0, 5.0], [3.0, 0.0, 5.0], [9.0, 9.0, 5.0]])
    spread = np.array([1.0, 1.0, 0.0])
    assert reconstructed(truth, truth[:1], spread) == Reconstructed(1, 1, 1)
    assert reconstructed(truth, np.array([[0.0, 1.0, 0.0], [3.05, 0.0, 0.0]]), spread) == Reconstructed(
        1, 1, 2
    )
    assert reconstructed(truth, np.empty((0, 3)), spread) == Reconstructed(0, 0, 0)
    assert membership(truth[:2], truth[2:], truth[:2], spread) == 1.0
    assert membership(truth[:2], truth[:0], truth[:2], spread) is None


def moments_over(*tables: Floats) -> list[TranscriptSum]:
    """Return a record of moments over tables, one after the other."""
    record = []
    for X in tables:
        powers = {"count": X**0, "total": X, "square": X**2}
        sums = {name: np.where(np.isnan(X), 0, part).sum(axis=0)[None] for name, part in powers.items()}
        record.append(TranscriptSum(MOMENTS.name, {}, {}, (), sums))
    return record


def test_a_record_that_is_added_is_the_difference_of_moments() -> None:
    X = np.random.default_rng(0).standard_normal((40, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 1000.0, 0.0, 5.0]
    np.testing.assert_allclose(records_in_moments(moments_over(X[:39], X)), X[39:], rtol=1e-6)
    # Without the same records in both, a difference of one record is none; and two records are not one.
    assert not len(records_in_moments(moments_over(X[:20], X[19:])))
    assert not len(records_in_moments(moments_over(X[:38], X)))
    assert not len(records_in_moments(moments_over(X, X)))
    assert records_in_moments([]).size == 0


def test_a_missing_cell_of_an_added_record_is_taken_for_the_mean() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[39, 1] = np.nan
    (row,) = records_in_moments(moments_over(X[:39], X))
    assert row[1] == pytest.approx(np.nanmean(X[:, 1]))
    np.testing.assert_allclose(row[[0, 2]], X[39, [0, 2]], rtol=1e-6)


def test_the_best_filter_takes_off_what_columns_tell_of_each_other() -> None:
    one = drawn(4000, 0.5)
    error = np.sqrt(np.mean(np.square(filtered([one])[0] - one.true), axis=0))
    np.testing.assert_allclose(error, [1 / 3, 1 / 3, 0.447], atol=0.02)
    copy = whole_copy([one])
    assert copy.copy_distance == pytest.approx(0.5, abs=0.02)
    assert copy.filtered_distance == pytest.approx(np.sqrt((2 / 9 + 0.2) / 3), abs=0.02)
    assert copy.codes_right is None


def test_who_took_part_is_told_by_the_nearest_copy_and_less_so_with_more_noise() -> None:
    little, much = (whole_copy([drawn(400, noise)]).membership for noise in (0.25, 1.0))
    assert little > much + 0.05
    assert much > 0.4


def test_what_is_found_of_copies_is_held_against_the_true_records() -> None:
    one = drawn(200, 0.25)
    report = counted("perturbed", [one], {"read": one.seen[one.trained]}, [])
    assert report.attempts["all together"].exact == report.rows == 100
    assert report.found_distance == pytest.approx(report.found_copy_distance)
    assert "never nearer" in str(report)
    # An attack that had more than the copies would be noticed.
    more = one.true + 0.9 * (one.seen - one.true)
    nearer = counted("perturbed", [one], {"read": more[one.trained]}, [])
    assert nearer.attempts["read"].within_10 > 50
    assert "NEARER" in str(nearer)


def test_parts_of_records_count_as_cells() -> None:
    one = replace(drawn(50, 0.0), noise=0.25)
    parts = one.true.copy()
    parts[:10, 2] = np.nan
    report = counted("exact", [replace(one, trained=np.ones(50, dtype=np.bool_))], {"read": parts[:20]}, [])
    assert report.attempts["read"].exact == 10
    assert (report.cells, report.unknown) == (30, 150)
    assert report.error == pytest.approx(np.sqrt(40 / 50), abs=0.2)


def test_the_copies_of_a_site_are_those_that_its_systems_see(runs: Runs) -> None:
    settings, folder = runs["perturbed"]
    sites = SimulatedSites(settings).before(read_transcript(folder)[-1])
    of_site = records_of(sites[0])
    np.testing.assert_array_equal(of_site.seen[of_site.trained], sites[0].train().X)
    assert whole_copy([records_of(site) for site in sites]).copy_distance == pytest.approx(0.25, abs=0.05)
    exact = SimulatedSites(runs["exact"][0]).before(read_transcript(runs["exact"][1])[-1])[0]
    np.testing.assert_array_equal(records_of(exact).seen, of_site.true)


@pytest.mark.slow
def test_all_sums_over_a_map_are_looked_at_together(tmp_path: Path) -> None:
    folds = 2
    record = read_transcript(run(tmp_path, "exact", cv_folds=folds, gamma="0.1,1", tol=0.1)[1])
    # Each gamma and each fold has a map; and the model.
    maps = sums_by_map(record)
    assert len(maps) in (2 * folds + 1, 2 * folds + 2)
    asked = sum(one.inputs["count"].sum() for one in record if one.task == "cuts")
    assert sum(len(sums) for _, sums in maps) >= asked


def test_what_the_coordinator_has_is_what_the_sites_hold(runs: Runs) -> None:
    knowledge, truth = facts(*runs["exact"])
    assert knowledge.rows == len(truth)
    np.testing.assert_allclose(knowledge.total, truth.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(knowledge.square, np.square(truth).sum(axis=0), rtol=1e-9)
    equations = Equations(knowledge)
    at = Guess(truth, np.zeros(len(truth), dtype=np.int64), equations.factors(truth))
    assert np.abs(equations.residuals(at).hessians).max() < 1e-2


def test_late_hessians_are_taken_whole_although_early_ones_are_of_fewer_coordinates(tmp_path: Path) -> None:
    folder = run(tmp_path, "exact", tol=1e-5, landmarks="0.5", min_cluster=2)[1]
    record = read_transcript(folder)
    leading = [int(one.inputs["leading"].max()) for one in record if one.task == CUTS.name]
    assert max(leading) > min(one for one in leading if one >= 0)
    knowledge = knowledge_of(record)
    assert {len(H) for H in knowledge.hessians} == {max(leading) + 1}
    assert len(knowledge.hessians) == leading.count(max(leading))


def test_the_step_goes_downhill(runs: Runs) -> None:
    knowledge, truth = facts(*runs["exact"])
    equations = Equations(knowledge)
    X = truth + 0.02 * np.random.default_rng(0).standard_normal(truth.shape)
    guess = Guess(X, np.zeros(len(X), dtype=np.int64), equations.factors(X))
    at = equations.residuals(guess)
    weights = equations.weights(at)
    moved = X + 0.1 * equations.step(guess, at, weights, 1e-3)
    then = replace(guess, X=moved, v=equations.factors(moved))
    after = equations.cost(then, equations.residuals(then), weights)
    assert after < equations.cost(guess, at, weights)


@pytest.mark.slow
def test_a_fit_to_exact_hessians_finds_rows_again(runs: Runs) -> None:
    """Here between all coordinates of the map: a run of this project asks for a part of them."""
    knowledge, truth = facts(*runs["exact"])
    ((known, _),) = sums_by_map(read_transcript(runs["exact"][1]))
    G = np.column_stack([known.feature_map.transform(truth), np.ones(len(truth))])
    near = np.random.default_rng(1).random((9, len(truth))) < 0.5
    knowledge = replace(knowledge, known=known, hessians=[G[rows].T @ G[rows] for rows in near])
    equations, spread = Equations(knowledge), truth.std(axis=0)
    start = truth + 0.2 * np.random.default_rng(0).standard_normal(truth.shape)
    guess = Guess(start, np.zeros(len(start), dtype=np.int64), equations.factors(start))
    assert reconstructed(truth, start, spread).within_10 <= 25
    assert reconstructed(truth, fit(equations, guess, 20.0).X, spread).within_10 >= 50
    assert determined(knowledge, truth)[1] >= 50


def test_rows_that_have_come_to_rest_are_not_replaced(runs: Runs) -> None:
    knowledge, _ = facts(*runs["exact"])
    equations = Equations(knowledge)
    replacement = Replacement(equations, np.random.default_rng(0))
    guess = replacement(start_from_landmarks(knowledge, equations))
    restless = np.arange(knowledge.rows) < 0.8 * knowledge.rows
    for _ in range(2):
        moved = replace(guess, X=guess.X + restless[:, None] * equations.spread)
        guess = replacement(moved)
        changed = (guess.X != moved.X).any(axis=1)
        assert changed.any()
        assert not changed[~restless].any()
        assert (guess.v[changed] >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_the_whole_attack_reports_all_it_tried(level: str, runs: Runs) -> None:
    report = attack(*runs[level], 0.3, lambda _: None)
    ways = {"moments", "spaces of sums", "differences of sums", "fit to Hessians", "all together"}
    assert set(report.attempts) == ways
    assert (report.rows, report.unknown, report.test_rows) == (75, 225, 0)
    assert report.attempts["all together"].within_10 >= 10
    assert report.determined >= 30
    if level == "exact":
        assert report.copy is None
        assert report.error < 1.0
    else:
        assert report.copy is not None
        # The deviation that the noise is a share of is settled with noise, too: of 25 records by a tenth or so.
        assert report.found_distance >= 0.85 * runs["perturbed"][0].noise
        assert "never nearer" in str(report)


@pytest.mark.slow
def test_rows_that_had_no_part_are_counted_beside(tmp_path: Path) -> None:
    """What is found of them is found by chance."""
    report = attack(*run(tmp_path, "exact", test_fraction=0.2), 0.1, lambda _: None)
    assert report.rows + report.test_rows == 75
    assert report.test_rows in (14, 15, 16)
    assert report.by_chance["all together"].exact == 0
    assert f"; of {report.test_rows} test records: 0 exact" in str(report)


@pytest.mark.slow
def test_differences_of_models_give_rows_away(tmp_path: Path) -> None:
    chosen = {"strategy": "svm-admm", "landmarks": "0.5", "min_cluster": 2}
    report = attack(*run(tmp_path, "exact", **chosen), 0.05, lambda _: None)
    assert report.attempts["spaces of sums"].exact >= 5
    assert report.determined is None


# Several runs


def test_runs_of_other_sites_are_refused(tmp_path: Path, runs: Runs) -> None:
    settings, folder = runs["exact"]
    with pytest.raises(SettingError, match="seed"):
        attack(replace(settings, seed=1), folder, 0.1, lambda _: None, [folder])
    with pytest.raises(SettingError, match="privacy"):
        attack(settings, folder, 0.1, lambda _: None, [runs["perturbed"][1]])
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "result.json").write_text((folder / "result.json").read_text())
    with pytest.raises(SettingError, match="record"):
        attack(settings, folder, 0.1, lambda _: None, [tmp_path / "empty"])


@pytest.mark.slow
def test_sums_of_several_runs_are_attacked_together(
    tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, folder = runs["exact"]
    cuts: list[int] = []

    def counting(record: list[TranscriptSum], *others: Any) -> dict[str, Floats]:
        cuts.append(sum(one.sums["a"].size for one in record if one.task == CUTS.name))
        return solve(record, *others)

    monkeypatch.setattr(attacking, "solve", counting)
    other, last = (
        replace(settings, C=C, out=str(tmp_path / out)) for C, out in ((1.0, "other"), (2.0, "last"))
    )
    running.run(other, "in-process", lambda _: None, audit="record")
    lines: list[str] = []
    also = [folder, Path(other.out)]
    running.run(last, "in-process", lines.append, audit="attack", minutes=0.02, also=also)
    assert "attack" in json.loads((tmp_path / "last" / "result.json").read_text())
    attack(settings, folder, 0.01, lambda _: None)
    of_three, alone = cuts
    assert of_three > alone
    assert any("attack on 75 training records" in line for line in lines)
    assert not (tmp_path / "last" / "transcript").exists()
    assert (tmp_path / "other" / "transcript").exists()

"""``pansvm run --audit``: the truth about every sum, and which rows the sums give away."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from clients.systems.pan_svm import mapped, mapped_train
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.systems.common import MOMENTS
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, FEATURE_MAP, CutsAnswer
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from simulations.audit.audit import Audit, audit
from simulations.audit.cutting_planes import factors_by_site, questions_by_map
from simulations.audit.isolation import isolated_by_pairs, isolated_by_quads
from simulations.audit.scaling import ScalingAudit
from simulations.audit.selection import row_factors_by_site
from simulations.audit.sites import SimulatedSites
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.transcript import read_transcript
from strategies.master.search import curvature_matrix
from strategies.selection.voted_wrapper import VotedWrapper
from strategies.settings import Settings, make_settings
from strategies.steps.packing import unpack_answers
from tests.grids import KilledError, from_message, kill, silence

Run = Callable[..., tuple[int, str, str]]
Matrix = NDArray[np.float64]
Sums = dict[str, Matrix]


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[Sums]:
    """Return a list that gets the sums of cutting planes that the coordinator receives from now on."""
    sums: list[Sums] = []
    write = Checkpoint.write

    def note(self: Checkpoint, task: str, sites: tuple[str, ...], found: Sums) -> None:
        if task == CUTS.name:
            sums.append(found)
        write(self, task, sites, found)

    monkeypatch.setattr(Checkpoint, "write", note)
    return sums


def of_run(folder: Path, **settings: Any) -> Audit:
    """Return the audit of a run."""
    chosen = make_settings(**{"data": "wine", "sites": 3, "audit": True, **settings})
    run(in_process_grid(chosen), chosen, folder)
    return audit(chosen, folder)


@dataclass
class Compared:
    """The answer to one question, and what it follows from."""

    question: Question
    answer: Answer
    feature_map: NystromMap
    F: Matrix
    """Mapped training rows of all sites."""
    factors: Matrix

    @property
    def expected(self) -> Cuts:
        """The cuts that the factors make up, without their loss."""
        c = self.factors[: len(self.question.points)]
        return Cuts(c @ self.F, c.sum(axis=1), np.abs(c).sum(axis=1), np.empty(0))

    @property
    def curvatures(self) -> tuple[Matrix, Matrix]:
        """The curvature that was received, and what the factors make up."""
        extended, rank = np.column_stack([self.F, np.ones(len(self.F))]), self.F.shape[1]
        real = curvature_matrix(self.answer.curvature, rank, self.question.leading)
        return real, (extended * self.factors[-1][:, None]).T @ extended


def compared(settings: Settings, folder: Path, received: list[Sums]) -> Iterator[Compared]:
    sites, asked = SimulatedSites(settings), read_transcript(folder)
    sums_of_cuts = [one for one in asked if one.task == CUTS.name]
    assert len(sums_of_cuts) == len(received) > 0
    by_sum: dict[int, list[Any]] = {id(one): [] for one in sums_of_cuts}
    for questions in questions_by_map(sites, asked).values():
        for one in questions:
            by_sum[id(one.asked)].append(one)
    for asked_sum, sums in zip(sums_of_cuts, received, strict=True):
        # By feature map, and within one in the order of the sum.
        found = sorted(by_sum[id(asked_sum)], key=lambda one: one.problem.feature_map)
        order = np.argsort(np.argsort(asked_sum.inputs["feature_map"], kind="stable"), kind="stable")
        in_order = [found[place] for place in order]
        answers = unpack_answers(CutsAnswer(**sums), [one.question for one in in_order])
        for one, answer in zip(in_order, answers, strict=True):
            factors = np.hstack(factors_by_site(sites, [one]))
            parts = []
            for site in sites.before(one.asked):
                mapped = mapped_train(site, one.problem.feature_map)
                parts.append(mapped(slice(0, len(site.train().classes))))
            feature_map = sites.before(one.asked)[0].feature_map(one.problem.feature_map)
            yield Compared(one.question, answer, feature_map, np.vstack(parts), factors)


def assert_the_factors_make_up_the_sums(settings: Settings, folder: Path, received: list[Sums]) -> None:
    for one in compared(settings, folder, received):
        cuts, expected = one.answer.cuts, one.expected
        np.testing.assert_allclose(expected.a, cuts.a, atol=1e-6)
        np.testing.assert_allclose(expected.d, cuts.d, atol=1e-6)
        np.testing.assert_allclose(expected.m, cuts.m, atol=1e-6)
        if one.question.leading >= 0:
            real, made_up = one.curvatures
            np.testing.assert_allclose(real[real != 0], made_up[real != 0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"data": "breast_cancer", "class_weight": "balanced"},
        *(
            pytest.param(settings, marks=pytest.mark.slow)
            for settings in (
                {"data": "breast_cancer", "sites": 5},
                {"search": "published"},
                {"privacy": "perturbed"},
                {"multi_class": "ovo", "probability": True, "cv_folds": 2},
                {"C": "auto", "C_grid": "1,10", "cv_folds": 2},
                {"aggregation": "plain"},
            )
        ),
    ],
    ids=lambda settings: " ".join(f"{name}={value}" for name, value in settings.items()),
)
def test_the_factors_make_up_the_sums_that_were_received(
    settings: dict[str, Any], tmp_path: Path, received: list[Sums]
) -> None:
    chosen = make_settings(**{"data": "wine", "sites": 3, "privacy": "exact", "audit": True, **settings})
    run(in_process_grid(chosen), chosen, tmp_path)
    assert_the_factors_make_up_the_sums(chosen, tmp_path, received)


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.slow
def test_a_lost_site_has_no_part_in_later_sums(at: int, tmp_path: Path, received: list[Sums]) -> None:
    settings = make_settings(data="wine", sites=4, timeout=0.05, privacy="exact", audit=True)
    strategy = run(silence(in_process_grid(settings), from_message(4, at, "cuts")), settings, tmp_path)
    assert strategy.federation.costs.dropped == ["site-002"]
    assert_the_factors_make_up_the_sums(settings, tmp_path, received)


def test_the_default_is_looked_at_whole(tmp_path: Path) -> None:
    settings = make_settings(audit=True)
    strategy = run(in_process_grid(settings), settings, tmp_path)
    found = audit(settings, tmp_path)
    assert found.figures["smallest_cluster"] == 5
    assert found.sums["cut"] == sum(
        len(question.points) for asked in strategy.training.questions for question in asked.values()
    )
    assert found.looked_at_by_quads == sum(found.sums.values())


@pytest.mark.slow
def test_a_row_that_is_reported_does_follow_from_the_sums(tmp_path: Path, received: list[Sums]) -> None:
    settings = make_settings(privacy="exact", tol=1e-3, audit=True)
    strategy = run(in_process_grid(settings), settings, tmp_path)
    found = audit(settings, tmp_path)
    assert found.isolated_by_pairs > 0
    assert found.isolated_by_quads >= found.isolated_by_pairs
    sites = SimulatedSites(settings)
    (questions,) = questions_by_map(sites, read_transcript(tmp_path)).values()
    rows = isolated_by_pairs(np.hstack(factors_by_site(sites, questions)))
    assert len(rows) == found.isolated_by_pairs
    F = np.vstack([mapped(site, site.train().X, 0) for site in sites.before(questions[0].asked)])
    rank = strategy.model.feature_map_.rank
    a = np.vstack([np.zeros((1, rank)), *(sums["a"].reshape(-1, rank) for sums in received)])
    differences = np.array([one - other for one, other in itertools.permutations(a, 2)])
    for row in rows:
        assert np.abs(differences - F[row]).max(axis=1).min() < 1e-6


@pytest.mark.slow
def test_a_protocol_that_protects_nothing_leaves_each_site_by_itself(tmp_path: Path) -> None:
    protected, not_protected = (
        of_run(tmp_path / name, data="breast_cancer", privacy="exact", aggregation=name)
        for name in ("ring", "plain")
    )
    assert not_protected.isolated_by_pairs > protected.isolated_by_pairs
    assert not_protected.looked_at_by_quads == protected.looked_at_by_quads


@pytest.mark.slow
def test_the_published_search(tmp_path: Path) -> None:
    found = of_run(
        tmp_path, data="breast_cancer", privacy="exact", search="published", min_cluster=1, landmarks="0.25"
    )
    assert found.sums["curvature"] == 0
    assert found.sums["cut"] == json.loads((tmp_path / "result.json").read_text())["cut_rounds"]
    assert found.figures["smallest_cluster"] == 1


@pytest.mark.slow
def test_model_choice_is_looked_at_too(tmp_path: Path) -> None:
    found = of_run(tmp_path, C="auto", C_grid="1,10", cv_folds=2)
    result = json.loads((tmp_path / "result.json").read_text())
    # Two values of C, two folds and three classes ask for two points and a curvature at once.
    assert found.sums["cut"] >= 2 * 2 * 3 * 2 + 2 * 3 * result["cut_rounds"]
    assert found.figures["smallest_cluster"] == 5


@pytest.fixture
def three_groups(tmp_path: Path) -> str:
    """Three sites with groups of 6, 8 and 11 rows far from each other."""
    generator, files = np.random.default_rng(0), []
    for number in range(3):
        centres = np.repeat([[0.0, 0.0], [60.0, 60.0], [200.0, 200.0]], [6, 8, 11], axis=0)
        frame = pd.DataFrame(centres + generator.normal(size=centres.shape), columns=["x", "y"])
        frame["label"] = np.arange(len(frame)) % 2
        files.append(str(tmp_path / f"site{number}.csv"))
        frame.to_csv(files[-1], index=False)
    return "|".join(files)


@pytest.mark.parametrize(
    ("min_cluster", "smallest"),
    [(1, 6), (7, 7)],
)
@pytest.mark.slow
def test_the_smallest_cluster(min_cluster: int, smallest: int, three_groups: str, tmp_path: Path) -> None:
    settings = {"data": three_groups, "landmarks": "9", "test_fraction": 0.0}
    found = of_run(tmp_path / "run", min_cluster=min_cluster, **settings)
    assert found.figures["smallest_cluster"] == smallest


def found_with(looked_at: int, sums: dict[str, int], **more: Any) -> Audit:
    return Audit(1, 2, looked_at, sums, {"smallest_cluster": 5}, **more)


def test_the_line_says_if_not_all_sums_were_looked_at() -> None:
    whole = str(found_with(40, {"cut": 30, "curvature": 10}))
    assert whole == "audit: smallest cluster 5 rows; 1 rows isolated by pairs of sums, 2 by quads"
    assert str(found_with(35, {"cut": 30, "curvature": 10})).endswith("2 by quads among 35 of 40 sums")
    assert str(found_with(45, {"cut": 30, "row": 16})).endswith("2 by quads among 45 of 46 sums")


def test_the_second_line_holds_numbers_against_unknowns() -> None:
    numbers = {"cuts: curvature": 300, "cuts: a": 60, "moments: total": 4, "cuts: d": 2}
    line = str(found_with(40, {"cut": 40}, numbers=numbers, unknown=100)).splitlines()[1]
    assert line.startswith("audit: 3.7 numbers received for each of 100 unknown cells")
    assert "(3.0 from cuts: curvature, 0.6 from cuts: a, 0.0 from moments: total)" in line


def test_what_nobody_has_looked_at_is_named_and_not_counted_as_0() -> None:
    found = found_with(40, {"cut": 40}, not_examined=["scores", "warm_start"])
    assert str(found).splitlines()[-1] == "audit: not examined: scores, warm_start"
    nothing = str(Audit(None, None, 0, {}, not_examined=["votes"]))
    assert nothing.splitlines()[-1] == "audit: not examined: votes"
    assert "no sum was looked at" in nothing
    assert "0" not in nothing


def test_the_command_line_shows_it_and_keeps_it(pansvm: Run, tmp_path: Path) -> None:
    code, out, err = pansvm("run", "--engine", "in-process", "--data", "wine", "--out", "out", "--audit")
    assert (code, err) == (0, "")
    assert "audit: smallest cluster 5 rows; " in out
    found = json.loads((tmp_path / "out" / "result.json").read_text())["audit"]
    assert found["smallest_cluster"] == 5
    assert f"{found['isolated_by_pairs']} rows isolated by pairs of sums" in out
    assert found["cut_sums"] > 10
    assert found["unknown"] == 13 * json.loads((tmp_path / "out" / "result.json").read_text())["rows_train"]
    assert f"for each of {found['unknown']} unknown cells" in out
    assert found["numbers"]["moments: total"] == 13
    assert found["alone_in_bins"] > 10
    assert found["whole_copy"]["copy_distance"] == pytest.approx(0.25, abs=0.02)
    assert "level perturbed, the whole copy" in out
    assert found["not_examined"] == ["warm_start"]
    assert "not examined: warm_start" in out
    assert "tasks whose results were not examined" in (tmp_path / "out" / "report.html").read_text()
    assert "curious coordinator" in (tmp_path / "out" / "report.html").read_text()
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["model.npz", "report.html", "result.json"]


@pytest.mark.slow
def test_without_it_nothing_is_kept_or_shown(pansvm: Run, tmp_path: Path) -> None:
    code, out, _ = pansvm("run", "--engine", "in-process", "--data", "wine", "--out", "out")
    assert code == 0
    assert "audit" not in out
    assert "audit" not in json.loads((tmp_path / "out" / "result.json").read_text())
    assert "curious coordinator" not in (tmp_path / "out" / "report.html").read_text()
    assert not (tmp_path / "out" / "transcript").exists()


@pytest.mark.parametrize("from_the_start", [True, False])
@pytest.mark.slow
def test_a_resumed_run_has_the_same_audit(from_the_start: bool, pansvm: Run, tmp_path: Path) -> None:
    whole = of_run(tmp_path / "whole", privacy="exact")
    settings = make_settings(data="wine", sites=3, privacy="exact", audit=from_the_start)
    with pytest.raises(KilledError):
        run(kill(in_process_grid(settings), 9), settings, tmp_path / "cut")
    code, out, err = pansvm("run", "--engine", "in-process", "--resume", tmp_path / "cut", "--audit")
    assert (code, err) == (0, "")
    assert str(whole) in out
    assert whole.isolated_by_pairs > 0


# Feature selection


def write_tables(folder: Path, features: int, apart: float) -> str:
    """Write tables of three sites, 40 rows each; return the setting ``data``.

    Two features tell the classes apart, the others say nothing.
    """
    generator, files = np.random.default_rng(0), []
    for number in range(3):
        y = np.arange(40) % 2
        X = generator.normal(size=(40, features))
        X[:, :2] += apart * np.outer(y, [1.0, 0.6])
        files.append(str(folder / f"table{number}.csv"))
        pd.DataFrame(X, columns=[f"x{j}" for j in range(features)]).assign(label=y).to_csv(
            files[-1], index=False
        )
    return "|".join(files)


@pytest.fixture
def small_table(tmp_path: Path) -> str:
    """Three sites with four features."""
    return write_tables(tmp_path, 4, 1.2)


@pytest.fixture
def received_of_rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Sums]]:
    """Return the sums about rows that the coordinator of a selection receives from now on, by task."""
    found: dict[str, list[Sums]] = {task.name: [] for task in (SUPPORT, CLASS_MOMENTS, MOMENTS)}
    write = Checkpoint.write

    def note(self: Checkpoint, task: str, sites: tuple[str, ...], sums: Sums) -> None:
        if task in found:
            found[task].append(sums)
        write(self, task, sites, sums)

    monkeypatch.setattr(Checkpoint, "write", note)
    return found


@pytest.mark.slow
def test_the_factors_make_up_the_sums_of_a_selection(
    small_table: str, tmp_path: Path, received_of_rows: dict[str, list[Sums]]
) -> None:
    settings = make_settings(
        data=small_table, sites=3, strategy="voted-wrapper", privacy="exact", class_weight="balanced", cv_folds=2,
        tol=0.1, audit=True,
    )  # fmt: skip
    strategy = run(in_process_grid(settings), settings, tmp_path / "run")
    sites, asked = SimulatedSites(settings), read_transcript(tmp_path / "run")
    factors = np.hstack(row_factors_by_site(sites, asked))
    assert isinstance(strategy, VotedWrapper)
    feature, sums = strategy.selection.ranking[0], received_of_rows
    rows = sites.before(asked[-1])
    x = np.concatenate([site.scaled(site.train().X)[:, feature] for site in rows])
    support = [one for one in asked if one.task == SUPPORT.name]
    assert len(support) == len(sums["support"]) == 3
    for place, (one, found) in enumerate(zip(support, sums["support"], strict=True)):
        number = int(one.inputs["feature_map"][0])
        looks = one.heard(FEATURE_MAP.numbered(number)).features
        column = np.count_nonzero(looks[:feature])
        signed, *sides = factors[3 * place : 3 * place + 3]
        np.testing.assert_allclose(signed @ x * one.inputs["beta"].sum(), found["weights"][0, column])
        for side, own in enumerate(sides):
            np.testing.assert_allclose(own @ x, found["total"][0, side, column])
            np.testing.assert_allclose(own @ x**2, found["square"][0, side, column])
            np.testing.assert_allclose(own.sum(), found["count"][0, side])
    by_class, by_side = np.split(factors[9:], [2])
    (by_fold,) = (np.hstack(found.by_site) for found in ScalingAudit().factors(sites, asked))
    np.testing.assert_allclose(by_class @ x, sums["class_moments"][0]["total"][:, feature], atol=1e-9)
    np.testing.assert_allclose(by_fold.sum(axis=1), sums["moments"][0]["rows"].sum(axis=1))
    balanced = np.array([support[0].inputs[f"{side}_weight"][0] for side in ("positive", "negative")])
    np.testing.assert_allclose(by_side, balanced[:, None] * by_class[::-1])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear"},
        {"strategy": "filter-wrapper"},
    ],
    ids=str,
)
@pytest.mark.slow
def test_a_selection_is_looked_at_whole(settings: dict[str, str], small_table: str, tmp_path: Path) -> None:
    found = of_run(tmp_path / "run", **{"data": small_table, "strategy": "voted-wrapper", **settings})
    # For each of three steps the weights and both sides; and two classes, five folds, two sides.
    assert found.sums["row"] == (7 if settings.get("strategy") else 9 + 9)
    if "kernel" not in settings:
        assert found.looked_at_by_quads == sum(found.sums.values())


@pytest.mark.slow
def test_support_vectors_give_rows_away(tmp_path: Path) -> None:
    settings = make_settings(
        data=write_tables(tmp_path, 12, 2.5), sites=3, strategy="svm-rfe", kernel="linear", cv_folds=2, tol=0.1,
        privacy="exact", audit=True, seed=1,
    )  # fmt: skip
    run(in_process_grid(settings), settings, tmp_path / "run")
    factors = np.hstack(row_factors_by_site(SimulatedSites(settings), read_transcript(tmp_path / "run")))
    by_sums_about_rows = set(isolated_by_quads(factors)[0])
    assert by_sums_about_rows
    assert audit(settings, tmp_path / "run").isolated_by_quads >= len(by_sums_about_rows)


@pytest.mark.slow
def test_a_site_that_is_lost_has_no_part_in_later_sums_of_a_selection(tmp_path: Path) -> None:
    settings = make_settings(
        data="wine",
        sites=4,
        timeout=0.05,
        audit=True,
        strategy="svm-rfe",
        step="0.8",
        C=0.1,
        landmarks="20",
        tol=0.1,
        cv_folds=2,
    )
    run(silence(in_process_grid(settings), from_message(4, 1, "cuts")), settings, tmp_path)
    by_site = row_factors_by_site(SimulatedSites(settings), read_transcript(tmp_path))
    assert [bool(factors[:9].any()) for factors in by_site] == [True, True, False, True]


@pytest.mark.slow
def test_the_command_line_audits_a_selection(pansvm: Run, small_table: str, tmp_path: Path) -> None:
    data = [part for file in small_table.split("|") for part in ("--data", file)]
    quick = ["--set", "tol=0.1", "--set", "cv-folds=2"]
    arguments = [*data, "--strategy", "voted-wrapper", *quick, "--out", "out"]
    code, _, err = pansvm("run", "--engine", "in-process", "--audit", *arguments)
    assert (code, err) == (0, "")
    assert json.loads((tmp_path / "out" / "result.json").read_text())["audit"]["row_sums"] == 9 + 6

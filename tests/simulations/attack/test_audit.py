"""``pansvm run --audit``: what each system says, what the level keeps, and what nobody has looked at."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message

from simulations.attack.audit import Audit, audit
from simulations.attack.systems import scaling
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.app import run
from strategies.federation.transcript import TranscriptSum
from strategies.report.words.system import every_system, sentences, words_of_tasks
from strategies.settings import make_settings
from tests.command_line import Run


def of_run(folder: Path, **settings: Any) -> Audit:
    """Return the audit of a run."""
    chosen = make_settings(**{"data": "wine", "sites": 3, "audit": True, **settings})
    run(in_process_grid(chosen), chosen, folder)
    return audit(chosen, folder)


def test_what_is_disclosed_is_not_examined_either(tmp_path: Path) -> None:
    found = of_run(tmp_path, scaling="minmax", landmarks="12", tol=0.05)
    assert found.not_examined == ["extremes", "warm_start"]
    disclosed = {one["task"] for one in json.loads((tmp_path / "result.json").read_text())["disclosed"]}
    examined = {task for task, words in words_of_tasks().items() if words.examined}
    assert disclosed == (disclosed & examined) | set(found.not_examined)


@pytest.mark.slow
def test_a_system_says_what_is_examined_and_counts_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def figures(_: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
        return {"starts": sum(one.task == "warm_start" for one in transcript) or None}

    usual = of_run(tmp_path / "usual")
    monkeypatch.setattr(scaling, "figures", figures)
    pan_svm = every_system()["pan_svm"]
    starts = {"warm_start": replace(pan_svm.tasks["warm_start"], examined=True)}
    told = replace(
        pan_svm,
        tasks={**pan_svm.tasks, **starts},
        figures={"starts": ("{} warm starts", "no warm start")},
    )
    monkeypatch.setitem(every_system(), "pan_svm", told)
    found = of_run(tmp_path / "found")
    assert set(usual.not_examined) - set(found.not_examined) == {"warm_start"}
    assert found.entries["starts"] == 1
    assert "1 warm starts" in str(found)


def test_figures_of_which_there_are_none_have_a_sentence_too() -> None:
    assert sentences({"smallest_cluster": None}) == ["no landmark is a mean of rows"]
    assert sentences({"smallest_cluster": 7}) == ["smallest cluster 7 rows"]
    assert sentences({}) == []


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


@pytest.mark.parametrize(("min_cluster", "smallest"), [(1, 6), (7, 7)])
@pytest.mark.slow
def test_the_smallest_cluster(min_cluster: int, smallest: int, three_groups: str, tmp_path: Path) -> None:
    settings = {"data": three_groups, "landmarks": "9", "test_fraction": 0.0, "privacy": "exact"}
    found = of_run(tmp_path / "run", min_cluster=min_cluster, **settings)
    assert found.figures["smallest_cluster"] == smallest


def test_counts_by_subgroup_are_examined(tmp_path: Path) -> None:
    """Four visits a patient, and one patient who alone is old."""
    draw, patients = np.random.default_rng(0), np.repeat(np.arange(60), 4)
    ages = np.where(patients == 0, 99, 30 + patients % 40)
    frame = pd.DataFrame(
        {"age": ages, "dose": draw.normal(size=240).round(3), "mrn": patients, "label": patients % 2}
    )
    frame.to_csv(tmp_path / "ward.csv", index=False)
    ranges = "[columns.age]\nrange = [0, 120]\n[columns.dose]\nrange = [-9, 9]\n"
    (tmp_path / "ours.toml").write_text(f'patient-id = "mrn"\n{ranges}')
    settings = {"data": str(tmp_path / "ward.csv"), "schema": str(tmp_path / "ours.toml"), "privacy": "exact"}
    own = {"test_fraction": 0.9, "min_cluster": 1, "by": "age:98"}
    found = of_run(tmp_path / "run", landmarks="4", **settings, **own)
    groups = json.loads((tmp_path / "run" / "result.json").read_text())["subgroups"]["groups"]
    counts = np.array([group["confusion"] for group in groups])
    assert found.figures["alone_in_groups"] == np.count_nonzero(counts == 1)
    assert np.sum(groups[1]["confusion"]) == 4
    assert found.figures["groups_of_one_patient"] == 1
    assert "subgroups" not in found.not_examined


@pytest.mark.slow
def test_at_level_exact_it_counts_the_rows_that_hessians_determine(tmp_path: Path) -> None:
    found = of_run(tmp_path, data="iris", privacy="exact", landmarks="0.5", min_cluster=2, tol=1e-3)
    assert found.determined > 0
    assert found.whole_copy is None
    assert f"determine {found.determined} of {found.rows} training records" in str(found)


def test_what_nobody_has_looked_at_is_named_and_not_counted_as_0() -> None:
    text = str(Audit(not_examined=["votes"]))
    assert text.splitlines()[-1] == "audit: not examined: votes"
    assert "0" not in text


def test_the_command_line_shows_it_and_keeps_it(pansvm: Run, tmp_path: Path) -> None:
    out = pansvm.output("run", "--engine", "in-process", "--data", "wine", "--out", "out", "--audit")
    assert "smallest cluster 5 rows" in out
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = result["audit"]
    assert found["smallest_cluster"] == 5
    assert found["fewest_rows"] == min(result["rows_train_by_class"])
    assert found["unknown"] == 13 * result["rows_train"]
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
def test_a_resumed_run_has_the_same_audit(
    from_the_start: bool, pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = of_run(tmp_path / "whole", privacy="exact")
    settings = make_settings(data="wine", sites=3, privacy="exact", audit=from_the_start)
    push, round_trips = InProcessGrid.push_messages, itertools.count()

    def push_until_stopped(grid: InProcessGrid, messages: Iterable[Message]) -> Iterable[str]:
        if next(round_trips) == 8:
            raise KeyboardInterrupt
        return push(grid, messages)

    with monkeypatch.context() as patched:
        patched.setattr(InProcessGrid, "push_messages", push_until_stopped)
        with pytest.raises(KeyboardInterrupt):
            run(in_process_grid(settings), settings, tmp_path / "cut")
    out = pansvm.output("run", "--engine", "in-process", "--resume", tmp_path / "cut", "--audit")
    assert str(whole) in out


@pytest.mark.slow
def test_of_a_selection_it_counts_the_fewest_support_vectors(tmp_path: Path) -> None:
    settings = {"strategy": "voted-wrapper", "tol": 0.1, "cv_folds": 2, "step": "0.8", "landmarks": "20"}
    found = of_run(tmp_path, **settings)
    assert found.figures["fewest_support_vectors"] > 0
    assert "support" not in found.not_examined

"""What no phase has looked at is named, whether it was summed or disclosed."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flower_pansvm.systems.pan_svm.tasks import WARM_START
from simulations.audit.audit import Audit, audit, sentences, sums_of
from simulations.audit.phase import PHASES, Factors, Phase, every_phase, no_rows
from simulations.audit.sites import SimulatedSites
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.federation.transcript import TranscriptSum
from strategies.settings import make_settings


def of_run(folder: Path, **settings: Any) -> Audit:
    chosen = make_settings(
        **{"data": "wine", "sites": 3, "landmarks": "12", "tol": 0.05, "audit": True, **settings}
    )
    run(in_process_grid(chosen), chosen, folder)
    return audit(chosen, folder)


def test_what_is_disclosed_is_not_examined_either(tmp_path: Path) -> None:
    found = of_run(tmp_path, scaling="minmax")
    assert found.not_examined == ["extremes", "warm_start"]
    disclosed = {one["task"] for one in json.loads((tmp_path / "result.json").read_text())["disclosed"]}
    examined = {task for phase in every_phase() for task in phase.tasks}
    assert disclosed == (disclosed & examined) | set(found.not_examined)


@pytest.mark.slow
def test_the_moments_are_a_sum_over_the_rows_of_each_fold(tmp_path: Path) -> None:
    found = of_run(tmp_path / "whole")
    folds = of_run(tmp_path / "folds", probability=True, cv_folds=3)
    assert (found.sums["row"], folds.sums["row"]) == (1, 3)
    assert found.looked_at_by_quads == sum(found.sums.values())


@pytest.mark.slow
def test_a_phase_of_its_own_is_one_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class WarmStarts(Phase):
        tasks = (WARM_START.name,)
        texts = {"starts": ("{} warm starts", "no warm start")}  # noqa: RUF012

        def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
            parts = [np.vstack(part) for part in no_rows(sites, transcript)]
            only = np.zeros((1, parts[0].shape[1]))
            only[0, 4] = 1.0
            # As if a sum were about a single row of the first site.
            yield Factors(
                [only, *(np.zeros((1, part.shape[1])) for part in parts[1:])], {"start": 1}, of_rows=True
            )

        def figures(
            self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]
        ) -> dict[str, int | None]:
            return {"starts": sum(one.task in self.tasks for one in transcript) or None}

    usual = of_run(tmp_path / "usual")
    monkeypatch.setitem(PHASES.data, "warm_start", WarmStarts)
    found = of_run(tmp_path / "found")
    assert usual.isolated_by_pairs is not None
    assert found.isolated_by_pairs == usual.isolated_by_pairs + 1
    assert set(usual.not_examined) - set(found.not_examined) == {"warm_start"}
    assert found.entries["start_sums"] == 1
    assert "1 warm starts" in str(found)
    assert sums_of(found.entries) == found.sums


def test_figures_of_which_there_are_none_have_a_sentence_too() -> None:
    assert sentences({"smallest_cluster": None}) == ["no landmark is a mean of rows"]
    assert sentences({"smallest_cluster": 7}) == ["smallest cluster 7 rows"]
    assert sentences({}) == []

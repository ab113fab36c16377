"""A run that is started again, or stopped and resumed, gives the coordinator no number that it has not had."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message
from numpy.typing import NDArray

from clients.app import app
from clients.gate.blur import KEY_FILE
from flower_pansvm import records
from flower_pansvm.tasks.task import Broadcast
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from simulations.engines.running import resumed
from strategies.app import run
from strategies.federation.federation import Federation
from strategies.federation.transcript import Transcript, TranscriptSum, read_transcript
from strategies.registry import all_strategies
from strategies.settings import Settings, make_settings

Sums = Mapping[str, NDArray[np.float64]]
Bits = dict[str, tuple[tuple[int, ...], bytes]]
Node = dict[str, Scalar]

JOBS: dict[str, dict[str, Any]] = {
    "training": {},
    "federated landmarks": {"landmark_method": "federated-k-means"},
    "random landmarks": {"landmark_method": "random", "aggregation": "k-secure"},
    "model choice": {"C": "auto", "C_grid": "1,16", "cv_folds": 2},
    "voted wrapper": {"strategy": "voted-wrapper", "cv_folds": 2},
    "filter and wrapper": {"strategy": "filter-wrapper", "filter_welch": "2", "candidates": 2, "cv_folds": 2},
}
TASKS = {
    "training": {"landmarks", "warm_start"},
    "federated landmarks": {"assign"},
    "random landmarks": {"box"},
    "model choice": {"landmarks"},
    "voted wrapper": {"class_moments", "support"},
    "filter and wrapper": {"class_moments"},
}
"""What they ask for besides moments, cuts and scores: together every sum but that of rows after a site was lost."""


@pytest.fixture
def nodes(tmp_path: Path) -> list[Node]:
    """Return the node configs of three hospitals with small tables, state folders of their own, and keys."""
    generator, found = np.random.default_rng(0), []
    for name in ("hospital0", "hospital1", "hospital2"):
        y = np.arange(40) % 2
        X = generator.normal(size=(40, 3)) + y[:, None] * np.array([1.5, 0.0, 0.7])
        frame = pd.DataFrame(X.round(3), columns=["age", "dose", "pulse"]).assign(label=y)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        places: Node = {"data": str(tmp_path / f"{name}.csv"), "state": str(tmp_path / f"state of {name}")}
        # Always the same, as the number of round trips depends on them.
        (tmp_path / f"state of {name}").mkdir(mode=0o700)
        (tmp_path / f"state of {name}" / KEY_FILE).write_bytes(hashlib.sha256(name.encode()).digest())
        found.append({"name": name, **places, "min-cluster": 2, "exact-sums": "defended"})
    return found


def settings_of(job: str) -> Settings:
    return make_settings(**{"sites": 3, "min_cluster": 2, "landmarks": "12", "tol": 0.2, **JOBS[job]})


def bits(task: str, sums: Sums) -> Bits:
    """Return sums as they can be compared: in which slots the landmarks are is drawn anew in each run."""
    if task == "landmarks":
        rows = np.concatenate([sums["centres"], sums["filled"][..., None]], axis=-1)
        sums = {"rows": np.stack([one[np.lexsort(one.T[::-1])] for one in rows])}
    return {name: (values.shape, values.tobytes()) for name, values in sums.items()}


def question(task: str, inputs: Mapping[str, Any], told: Mapping[str, records.Values]) -> tuple[str, ...]:
    """Return what a sum is asked with, and all that the sites were told by then."""
    digests = sorted(f"{name} {records.digest(values)}" for name, values in told.items())
    return task, records.digest(dict(inputs)), *digests


# Runs that are started again


def record_of_a_run(nodes: list[Node], settings: Settings, run_id: int, folder: Path) -> list[TranscriptSum]:
    """Return all that the coordinator has asked and learned in a run."""
    strategy = all_strategies()[settings.strategy](settings, None, Transcript(folder))
    strategy.start(InProcessGrid(app, nodes, settings.to_config(), run_id))
    return read_transcript(folder)


@pytest.mark.parametrize(
    ("job", "runs"),
    [
        *((job, 2) for job in ("training", "federated landmarks")),
        *(pytest.param(job, 3, marks=pytest.mark.slow) for job in JOBS),
    ],
)
def test_identical_runs_have_identical_sums(
    job: str, runs: int, nodes: list[Node], tmp_path: Path, forget: Callable[[], None]
) -> None:
    """Bit by bit: there is nothing to take a mean of. Tables and keys are read anew each time."""
    learned = []
    for run_id in range(1, runs + 1):
        forget()
        record = record_of_a_run(nodes, settings_of(job), run_id, tmp_path / str(run_id))
        learned.append(
            [(question(one.task, one.inputs, one.told), bits(one.task, one.sums)) for one in record]
        )
    assert {"moments", "cuts", "scores", *TASKS[job]} <= {asked[0] for asked, _ in learned[0]}
    for other in learned[1:]:
        assert [asked for asked, _ in other] == [asked for asked, _ in learned[0]]
        for (asked, sums), (_, first) in zip(other, learned[0], strict=True):
            assert sums == first, asked[0]


def test_with_other_keys_the_same_run_has_other_sums(nodes: list[Node], tmp_path: Path) -> None:
    """What is compared above does depend on what the keys are for, and else the runs would not differ."""
    runs = []
    for run_id in (1, 2):
        for node in nodes:
            (Path(str(node["state"])) / KEY_FILE).unlink(missing_ok=True)
        runs.append(record_of_a_run(nodes, settings_of("training"), run_id, tmp_path / str(run_id)))
    for task, same in {"moments": True, "landmarks": False}.items():
        one, other = (next(bits(task, one.sums) for one in record if one.task == task) for record in runs)
        assert (one == other) == same


# Runs that are stopped and resumed


class StoppedError(Exception):
    """The coordinator's process is killed."""


class Openings:
    """All that the coordinator opens, in a run and in those that resume it.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
        Puts this in the way of the coordinator.

    Attributes
    ----------
    found : list of tuple
        What was asked, and the sums as they can be compared.
    left : int
        So many sums with noise, landmarks, warm start or cuts, until the coordinator is killed: it has seen the last
        one and has not written it down.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[tuple[tuple[str, ...], Bits]] = []
        self.left = 10**6
        self.told: dict[str, records.Values] = {}
        usual_open, usual_broadcast = Federation.open, Federation.broadcast

        def opened(federation: Federation, replies: Iterable[Message]) -> dict[str, NDArray[np.float64]]:
            sums = usual_open(federation, replies)
            task, inputs = federation._request.task.name, records.values_of(federation._request.question)
            self.found.append((question(task, inputs, self.told), bits(task, sums)))
            self.left -= task in ("landmarks", "warm_start", "cuts")
            if self.left == 0:
                raise StoppedError
            return sums

        def broadcast(federation: Federation, kind: Broadcast[Any], message: object) -> None:
            self.told[kind.name] = records.values_of(message)
            usual_broadcast(federation, kind, message)

        monkeypatch.setattr(Federation, "open", opened)
        monkeypatch.setattr(Federation, "broadcast", broadcast)

    def run(self, nodes: list[Node], settings: Settings, run_id: int, folder: Path, stop: int = 0) -> str:
        """Run or resume; return the digest of the model, or nothing if the coordinator was killed at a sum."""
        self.left, self.told = stop or 10**6, {}
        try:
            return run(
                InProcessGrid(app, nodes, settings.to_config(), run_id), settings, folder
            ).model.sha256()
        except StoppedError:
            return ""


@pytest.mark.parametrize(
    ("job", "stops"),
    [("training", (1, 1, 1)), ("training", (4, 1, 1)), ("voted wrapper", (5, 1, 2))],
    ids=str,
)
@pytest.mark.slow
def test_a_run_resumed_three_times_tells_nothing_new(
    job: str,
    stops: tuple[int, ...],
    nodes: list[Node],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    forget: Callable[[], None],
) -> None:
    openings, settings = Openings(monkeypatch), replace(settings_of(job), tol=0.02)
    model = openings.run(nodes, settings, 1, tmp_path / "whole")
    whole = dict(openings.found)
    openings.found.clear()
    folder = tmp_path / "stopped"
    for run_id, stop in enumerate(stops, start=2):
        forget()
        begun = settings if run_id == 2 else resumed(folder)
        assert not openings.run(nodes, begun, run_id, folder, stop)
    assert openings.run(nodes, resumed(folder), 5, folder) == model
    asked = [one for one, _ in openings.found]
    twice = {one[0] for one in asked if asked.count(one) > 1}
    # Each sum that it was killed at was asked for again.
    assert {"moments", "cuts" if sum(stops) > 4 else "landmarks"} <= twice
    assert set(asked) == set(whole)
    for one, sums in openings.found:
        assert sums == whole[one], one[0]

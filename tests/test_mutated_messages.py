"""Thousands of mutated messages, to every handler of a site and as replies to the coordinator.

Each is answered, in bounded time and memory; no error tells a cell of the table or how many rows there are; and the
coordinator's program ends with an error of this project or not at all.
"""

import copy
import faulthandler
import re
import resource
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import Context, Message, RecordDict

from clients.app import app
from clients.budget import new_ledger
from clients.gate.replay_guard import FOLDER
from clients.ledger.home import tables_home
from flower_pansvm import records
from flower_pansvm.consents import AGREED, CONSENTS
from flower_pansvm.constraints import key_of, setting_fields
from flower_pansvm.errors import PanSVMError
from flower_pansvm.printable import is_printable
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies import admm
from strategies.pan_svm.strategy import PanSVM
from strategies.registry import STRATEGIES
from strategies.settings import Settings, make_settings
from tests import mutations
from tests.conftest import write_identities
from tests.tasks import TASKS

# In a hospital a warning is no error.
pytestmark = pytest.mark.filterwarnings("ignore")

Change = Callable[[dict[str, Any]], dict[str, Any]]

CELL = 61.8033
ROWS = 173
"""Rows of each table; a number that nothing else in the tests has."""

SECONDS_EACH = 40.0
GIGABYTES = 4

RUNS: dict[str, dict[str, Any]] = {
    "training": {"C": "1,8", "cv_folds": 2, "probability": True},
    "hops": {"aggregation": "ring-hops"},
    "k-secure": {"aggregation": "k-secure", "scaling": "minmax"},
    "selection": {"strategy": "svm-t", "cv_folds": 2},
    "test on true records": {"test_epsilon": 20.0},
    "subgroups": {"by": "age:0"},
    # What is nothing like PAN-SVM may have tasks of its own.
    **{name: {"strategy": name} for name, kind in STRATEGIES.items() if not issubclass(kind, PanSVM)},
    # private-svm has the tasks of a release.
    "hybrid-svm": {"strategy": "hybrid-svm", "privacy": "dp"},
}
SMALL: dict[str, Any] = {"sites": 3, "min_cluster": 2, "landmarks": "8", "tol": 0.3, "timeout": 0.05}


@dataclass(frozen=True)
class Recorded:
    """A message of a run, what Flower and the site remembered when it came, and its reply."""

    message_type: str
    content: RecordDict
    state: RecordDict
    remembered: bytes
    reply: Message


class Recorder(InProcessGrid):
    """Writes down what each site receives and answers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.recorded: dict[int, list[Recorded]] = defaultdict(list)

    def _answer(self, number: str, message: Message) -> Message:
        node, kind = message.metadata.dst_node_id, message.metadata.message_type
        content, state = mutations.copied(message.content), copy.deepcopy(self._contexts[node].state)
        file = self.file_of(node)
        remembered = file.read_bytes() if file.exists() else b""
        reply = super()._answer(number, message)
        assert reply.has_content(), reply.error.reason
        self.recorded[node].append(Recorded(kind, content, state, remembered, reply))
        return reply

    def file_of(self, node: int) -> Path:
        """Return where a hospital keeps what it remembers of the run."""
        return Path(str(self._contexts[node].node_config["state"])) / FOLDER / f"{self.run.run_id}-{node}"


class Replay(InProcessGrid):
    """Answers with the replies of a recorded run, one of them mutated; a site that has none left falls silent."""

    def __init__(self, before: Recorder, place: int, generator: np.random.Generator) -> None:
        super().__init__(before.app, [{}] * 3, {})
        self.left = {node: list(recorded) for node, recorded in before.recorded.items()}
        self.place, self.generator = place, generator

    def push_messages(self, asked: Iterable[Message]) -> Iterable[str]:
        numbers = []
        for message in asked:
            number, node = str(next(self._numbers)), message.metadata.dst_node_id
            numbers.append(number)
            if not self.left[node] or self.left[node][0].message_type != message.metadata.message_type:
                continue
            message.metadata.__dict__["_message_id"] = number
            content = self.left[node].pop(0).reply.content
            if node == 3:
                self.place -= 1
                if self.place == -1:
                    content = mutations.mutate(content, self.generator)
            self._replies[number] = Message(content, reply_to=message)
        return numbers


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Tables of three hospitals whose cells would be recognised anywhere."""
    folder, generator = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    paths = []
    for number in range(3):
        X = CELL + np.round(generator.normal(size=(ROWS, 3)), 4)
        y = np.where(X[:, 0] + X[:, 1] > 2 * CELL, "FEVER", "0")
        paths.append(folder / f"hospital{number}.csv")
        pd.DataFrame(X, columns=["age", "dose", "pulse"]).assign(label=y).to_csv(paths[-1], index=False)
    (folder / "ranges.toml").write_text(
        "".join(f"[columns.{name}]\nrange = [50, 70]\n" for name in ("age", "dose", "pulse"))
    )
    (folder / "public.csv").write_text(
        "age,dose,pulse\n" + "".join(f"{n},{n * n % 13},{n % 5}\n" for n in range(9))
    )
    write_identities(folder, [path.stem for path in paths])
    return paths


def _state(table: Path) -> Path:
    """Return where a hospital keeps what outlives runs."""
    return table.with_suffix(".state")


def _ledgers(tables: list[Path], run: str) -> Path:
    """Return where the ledgers are that the tables had at the end of a run."""
    return tables[0].with_name(f"ledgers.{run}")


@pytest.fixture
def _nameless_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every sum the same name: otherwise sites would refuse each changed message at once, and only for that."""
    monkeypatch.setattr("clients.membership.sum_name", lambda *_, **__: "sum")
    monkeypatch.setattr("strategies.federation.federation.sum_name", lambda *_, **__: "sum")


@pytest.fixture
def _consensus_in_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have svm-admm end when its sites nearly agree: not after a hundred messages that are as the first ten."""
    monkeypatch.setitem(admm.PENALTIES, "fast", replace(admm.PENALTIES["fast"], absolute=0.01, relative=0.1))


@pytest.fixture(scope="module")
def recorded_run(tables: list[Path]) -> Callable[[str], tuple[Settings, Recorder]]:
    """Return a function that records one of the runs, once for all tests: none of them changes what is recorded."""

    @cache
    def run(name: str) -> tuple[Settings, Recorder]:
        config = RUNS[name]
        for path in tables:
            shutil.rmtree(_state(path), ignore_errors=True)
        shutil.rmtree(tables_home())
        own = setting_fields(STRATEGIES[config.get("strategy", "pan-svm")].settings_class)
        small = {name: value for name, value in SMALL.items() if key_of(name) in own}
        private: dict[str, Scalar] = {}
        if "epsilon" in own or "test_epsilon" in config:
            roster = str(tables[0].with_name("roster.json"))
            private = {"epsilon": 20.0, "classes": "0,FEVER", "roster": roster}
            small["schema"] = str(tables[0].with_name("ranges.toml"))
        if "public" in own:
            small["public"] = str(tables[0].with_name("public.csv"))
        settings = make_settings(**{**small, **config})
        for path in tables:
            new_ledger(_state(path), 0.2)
        nodes: list[dict[str, Scalar]] = [
            {
                "data": str(path),
                "name": path.stem,
                "min-cluster": 2,
                "risk-bound": 1,
                "scaling": settings.terms.scaling,
                "state": str(_state(path)),
                **private,
                **({"identity": str(path.with_suffix(".pem"))} if private else {}),
                # What a strategy's own task discloses, too, and no more than it says that it needs.
                **dict.fromkeys(CONSENTS, AGREED),
                "privacy": settings.level,
                "noise": 0.25,
            }
            for path in tables
        ]
        grid = Recorder(app, nodes, settings.to_config())
        STRATEGIES[settings.strategy](settings).start(grid)
        for path in tables:
            shutil.copytree(_state(path), path.with_suffix(f".{name}"))
        shutil.copytree(tables_home(), _ledgers(tables, name))
        return settings, grid

    return run


@pytest.fixture
def record(
    _nameless_sums: None, _consensus_in_fewer_steps: None, recorded_run: Any, tables: list[Path]
) -> Any:
    """Return a function that gives a run's settings and messages; hospitals keep what they kept at its end."""

    def run(name: str) -> tuple[Settings, Recorder]:
        found: tuple[Settings, Recorder] = recorded_run(name)
        for path in tables:
            shutil.rmtree(_state(path))
            shutil.copytree(path.with_suffix(f".{name}"), _state(path))
        shutil.rmtree(home := tables_home())
        shutil.copytree(_ledgers(tables, name), home)
        return found

    return run


@pytest.fixture
def _bounded() -> Iterator[None]:
    """End the process if the test takes an hour, and let no message take gigabytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTES * 2**30, hard))
    faulthandler.dump_traceback_later(3600, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def assert_tells_nothing(reason: str, table: pd.DataFrame) -> None:
    assert len(reason) <= 2002
    assert "FEVER" not in reason
    assert str(CELL)[:4] not in reason
    assert "MemoryError" not in reason
    counts = {ROWS, *table["label"].value_counts(), *(round(share * ROWS) for share in (0.2, 0.4, 0.5, 0.8))}
    for number in re.findall(r"(?<![\w.])\d+(?![\w.])", reason):
        assert int(number) not in counts, reason


MANY = pytest.param(500, marks=pytest.mark.slow)


@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize("count", [10, MANY])
@pytest.mark.parametrize("run", RUNS)
def test_sites_answer_every_mutated_message(run: str, count: int, record: Any, tables: list[Path]) -> None:
    settings, grid = record(run)
    by_type: dict[str, list[Recorded]] = defaultdict(list)
    for one in grid.recorded[3]:
        by_type[one.message_type].append(one)
    generator, table = np.random.default_rng(len(run)), pd.read_csv(tables[1], dtype=str)
    outcomes: dict[str, int] = defaultdict(int)
    for _ in range(count):
        chosen = by_type[mutations.pick(list(by_type), generator)]
        one = mutations.pick(chosen, generator)
        content = mutations.mutate(one.content, generator)
        started = time.monotonic()
        reply = ask_again(settings, grid, one, content)
        assert time.monotonic() - started < SECONDS_EACH, (one.message_type, content)
        outcomes["error" if reply.has_error() else "answer"] += 1
        if reply.has_error():
            assert reply.error.code >= PanSVMError.code
            assert_tells_nothing(reply.error.reason, table)
    assert outcomes["error"] > 0.3 * count


def ask_again(settings: Settings, grid: Recorder, one: Recorded, content: RecordDict) -> Message:
    """Return the reply of a site to a message, from what it knew when the recorded one came."""
    # As if no message had followed.
    grid.file_of(3).write_bytes(one.remembered)
    state, node = mutations.copied(one.state), grid._contexts[3].node_config
    context = Context(grid.run.run_id, 3, node, state, {**settings.to_config()})
    message = Message(content, 3, one.message_type)
    message.metadata.__dict__["_message_id"] = "1"
    return app(message, context)


def filled(part: str, value: int) -> Change:
    """Return a change of a group's values that puts one number into a part of it, wherever it has one."""
    return lambda old: {part: np.full_like(old[part], value) if isinstance(old[part], np.ndarray) else value}


def many_points(count: int) -> Change:
    """Return a change of a question for cuts to one at so many points on a segment of each problem."""

    def change(old: dict[str, Any]) -> dict[str, Any]:
        size = count * len(old["points"])
        points = np.full_like(old["points"], count)
        return {"points": points, "segment": np.zeros(size, dtype=np.int64), "fraction": np.full(size, 0.5)}

    return change


@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize(
    ("kind", "group", "change", "reason"),
    [
        ("train.cuts", "inputs", filled("leading", 10**6), "for more than"),
        ("train.cuts", "inputs", filled("leading", 2**62), "for more than"),
        ("train.cuts", "inputs", many_points(10**5), "for more than"),
        ("train.cuts", "inputs", many_points(10**6), "for more than"),
        ("train.warm_start", "inputs", filled("rank", 10**9), "for more than|not those"),
        ("train.moments", "broadcast.schema", filled("folds", 2**31), "too few patients for"),
        ("train.landmarks", "inputs", filled("slots", 0), "landmark slots"),
    ],
)
def test_a_few_bytes_do_not_ask_for_gigabytes(
    kind: str, group: str, change: Change, reason: str, record: Any
) -> None:
    """They are refused before there is room for what they ask."""
    settings, grid = record("training")
    one = [one for one in grid.recorded[3] if one.message_type == kind][-1]
    content, values = mutations.copied(one.content), records.get(one.content, group)
    records.put(content, group, {**values, **change(values)})
    reply = ask_again(settings, grid, one, content)
    assert reply.has_error()
    assert re.search(reason, reply.error.reason)


@pytest.mark.parametrize("run", ["training", "k-secure"])
def test_large_answers_are_refused_before_there_is_room_for_them(
    run: str, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, grid = record(run)
    monkeypatch.setattr("clients.site.MOST_NUMBERS", 5)
    refused = set()
    for one in grid.recorded[3]:
        reply = ask_again(settings, grid, one, one.content)
        if reply.has_error():
            assert "for more than 5 numbers" in reply.error.reason
            refused.add(one.message_type)
    assert refused == {"train.landmarks", "train.warm_start", "train.cuts", "evaluate.scores"}


def test_the_runs_have_every_task(record: Any) -> None:
    asked = {one.message_type for run in RUNS for one in record(run)[1].recorded[3]}
    assert asked == {task.message_type for task in TASKS if task.name != "rows" and not task.simulated}


@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize("count", [5, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", RUNS)
def test_the_coordinator_ends_with_a_clear_error_or_goes_on(run: str, count: int, record: Any) -> None:
    settings, grid = record(run)
    generator = np.random.default_rng(len(run))
    types = [one.message_type for one in grid.recorded[3]]
    outcomes: dict[str, int] = defaultdict(int)
    for _ in range(count):
        # Each task is as likely as the others, and of those asked often each message.
        kind = mutations.pick(sorted(set(types)), generator)
        place = mutations.pick([i for i, one in enumerate(types) if one == kind], generator)
        started = time.monotonic()
        try:
            STRATEGIES[settings.strategy](settings).start(Replay(grid, place, generator))
            outcomes["finished"] += 1
        except PanSVMError as error:
            outcomes["printable" if is_printable(str(error)) else "not printable"] += 1
        assert time.monotonic() - started < SECONDS_EACH
    assert outcomes["not printable"] == 0
    assert outcomes["printable"] > 0.3 * count

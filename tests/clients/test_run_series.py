"""Flower gives a run the state of the last run of its series, whatever app that was: it is worth nothing to anybody."""

import copy
import shutil
from pathlib import Path

import pytest
from flwr.app import RecordDict
from flwr.common.serde import recorddict_to_proto

from clients.gate.replay_guard import FOLDER, turn
from clients.ledger.lasting_split import lasting_secret
from flower_pansvm import records
from flower_pansvm.errors import PanSVMError
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.registry import STRATEGIES
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid

RUNS: dict[str, dict[str, object]] = {
    "pan-svm": {"landmarks": "8", "tol": 0.3},
    "k-secure": {"landmarks": "8", "tol": 0.3, "aggregation": "k-secure"},
    "paillier": {"landmarks": "8", "tol": 0.3, "aggregation": "paillier"},
    "svm-admm": {"strategy": "svm-admm", "landmarks": "8"},
}
AGREED: dict[str, Scalar] = {"min-cluster": 2}
LEAST_BYTES = 16
"""Anything as long that a hospital remembers counts as a secret here."""


def settings_of(run: str) -> Settings:
    return make_settings(sites=3, min_cluster=2, **RUNS[run])  # type: ignore[arg-type]


def in_a_series(grid: InProcessGrid, before: InProcessGrid | None) -> InProcessGrid:
    """Return the grid with what the series' last run has left in Flower's hands."""
    if before is not None:
        for node, context in grid._contexts.items():
            context.state = copy.deepcopy(before._contexts[node].state)
    return grid


def train(grid: InProcessGrid, settings: Settings) -> str:
    strategy = STRATEGIES[settings.strategy](settings)
    strategy.start(grid)
    return str(strategy.outcome.model.sha256())


@pytest.mark.parametrize("second", ["k-secure", pytest.param("svm-admm", marks=pytest.mark.slow)])
def test_three_runs_of_a_series_end_as_three_runs_alone_do(
    second: str, hospitals: MakeGrid, hospital_files: list[Path]
) -> None:
    before = None
    for run in ("pan-svm", second, "pan-svm"):
        settings = settings_of(run)
        grid = in_a_series(hospitals(settings, hospital_files, AGREED), before)
        assert train(grid, settings) == train(hospitals(settings, hospital_files, AGREED), settings)
        before = grid


def test_neither_a_table_that_changes_nor_a_run_that_failed_ends_the_series(
    hospitals: MakeGrid, hospital_files: list[Path]
) -> None:
    """A site that has withdrawn from one run takes part in the next."""
    settings, table = settings_of("pan-svm"), hospital_files[0].read_text()
    before = hospitals(settings, hospital_files, AGREED)
    hospital_files[0].write_text(table.replace("\n", "\n1e300,1e300,0\n", 1))
    with pytest.raises(PanSVMError):
        train(before, settings)
    for changed in (table, table[: table.rindex("\n", 0, -1) + 1]):
        hospital_files[0].write_text(changed)
        grid = in_a_series(hospitals(settings, hospital_files, AGREED), before)
        train(grid, settings)
        before = grid


@pytest.mark.parametrize(
    "run",
    ["pan-svm", "k-secure", *(pytest.param(run, marks=pytest.mark.slow) for run in ("paillier", "svm-admm"))],
)
def test_another_app_of_the_series_finds_no_secret(
    run: str, hospitals: MakeGrid, hospital_files: list[Path]
) -> None:
    settings = settings_of(run)
    own: dict[str, Scalar] = {"aggregation": "paillier"} if run == "paillier" else {}
    grid = hospitals(settings, hospital_files, {**AGREED, **own})
    train(grid, settings)
    assert len(grid._contexts) == len(hospital_files)
    for context in grid._contexts.values():
        left = recorddict_to_proto(context.state).SerializeToString()
        with turn(context) as hospital:
            secrets = set(values_of(hospital.state)) | {lasting_secret(hospital)}
            keys = records.get(hospital.state, "keys")
        assert keys["private"] in secrets
        assert not any(secret in left for secret in secrets)
        assert len(left) < 1000


def test_state_of_another_app_is_not_believed_and_left_alone(
    hospitals: MakeGrid, hospital_files: list[Path]
) -> None:
    """A key that it knows, withdrawals, broadcasts: whatever it writes under names of ours."""
    settings = settings_of("pan-svm")
    grid = hospitals(settings, hospital_files, AGREED)
    planted = RecordDict()
    for group in ("keys", "sums", "withdrawn", "first.slots", "first.table", "broadcast.schema", "told"):
        records.put(planted, group, {"private": bytes(32), "value": bytes(32)})
    for context in grid._contexts.values():
        context.state = copy.deepcopy(planted)
    assert train(grid, settings) == train(hospitals(settings, hospital_files, AGREED), settings)
    for context in grid._contexts.values():
        assert all(context.state[name] == planted[name] for name in planted)


def test_without_the_file_of_a_run_its_keys_are_new(
    hospitals: MakeGrid, hospital_files: list[Path], state_home: Path
) -> None:
    settings, keys = settings_of("pan-svm"), set()
    for _ in range(2):
        grid = hospitals(settings, hospital_files, AGREED, run_id=7)
        train(grid, settings)
        for context in grid._contexts.values():
            with turn(context) as hospital:
                keys.add(records.get(hospital.state, "keys")["private"])
        for folder in state_home.glob("site-*"):
            shutil.rmtree(folder / FOLDER)
    assert len(keys) == 6


def values_of(state: RecordDict) -> list[bytes]:
    """Return all bytes that a site remembers."""
    names = {name.removesuffix(".values").removesuffix(".arrays") for name in state}
    values = [value for name in names for value in records.get(state, name).values()]
    found = [value if isinstance(value, bytes) else getattr(value, "tobytes", bytes)() for value in values]
    return [value for value in found if len(value) >= LEAST_BYTES]

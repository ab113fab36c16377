"""What the tests share: real data where a machine has it, and small tables of hospitals."""

import ast
import gc
import hashlib
import logging
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# As many tests run at a time as there are processors: further threads of the libraries would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

import hypothesis
import numpy as np
import pandas as pd
import pytest
from flwr.supercore.task_identity import TaskIdentity
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from clients.budget import new_ledger
from clients.checking import perturbation
from clients.deployment import hospital
from clients.gate import private
from clients.ledger import ledger as budget
from clients.ledger import tables
from clients.ledger import tables as ledger_tables
from clients.ledger.lasting_split import lasting_split
from clients.ledger.ledger import LINK_FILE
from clients.ledger.tables import KnownTables, link_table
from clients.table.reading import read_table
from flower_pansvm.arrays import Bools
from flower_pansvm.bundle import installed_files
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.terms import Scalar
from simulations.app import app
from simulations.engines.in_process import InProcessGrid
from strategies.deployment import coordinator
from strategies.output_perturbation import strategies as output_perturbation
from strategies.settings import Settings
from tests.command_line import Run

ROOMS = {"flower_pansvm", "clients", "strategies", "simulations"}
SHARED_DATA = Path(__file__).parents[1] / ".." / "shared" / "data"

logging.getLogger("flwr").handlers.clear()

# No test fails because a machine is slow; in CI the same examples are tried every time.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
hypothesis.settings.load_profile("project")

MakeGrid = Callable[..., InProcessGrid]


def kept_rows(file: Path) -> Bools:
    """Return which rows of a hospital's table are kept for evaluation, after its grid was made."""
    folder = Path(os.environ["XDG_STATE_HOME"]) / "pansvm" / f"site-{file.stem}"
    table = read_table(file)
    return lasting_split(folder, table, link_table(folder, table).test_fraction).held_out


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take minutes, or of the short ones longest, so that none is alone at the end.

    Then those that share the messages of runs: at the end, two processes divide what is left, and both had to record.
    """
    first = {"test_style.py": 0.2, "test_mutated_messages.py": 0.1}

    def minutes(item: pytest.Item) -> float:
        marker = item.get_closest_marker("slow")
        return marker.kwargs.get("minutes", 0) if marker else first.get(item.path.name, 0)

    items.sort(key=minutes, reverse=True)


# Thousands of tests and all modules that they import stay for good: no collection looks for garbage among them.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, of what tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real benchmark data, where a machine has it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no benchmark data on this machine")
    return SHARED_DATA.resolve()


@pytest.fixture(autouse=True, scope="session")
def _a_run_in_this_process() -> None:
    """Tell Flower who writes the messages; its own processes do so when they start."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 0


@pytest.fixture(autouse=True, scope="session")
def _one_attack_a_check() -> Iterator[None]:
    """Have `pansvm check` attack one copy of a small table, not ten: the other tests look at other findings.

    tests/clients/checking/test_perturbation.py has what the ten tell.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perturbation, "WIDE", 0)
        patch.setattr(perturbation, "TIMES_WIDE", 1)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Have the system write to the disk when it likes: no test cuts the power, and there are thousands of such waits.

    A descriptor that is none is refused as before; the tests of what fails on a disk put their own in its place.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture(autouse=True, scope="session")
def _local_models_in_a_tenth_of_the_steps() -> Iterator[None]:
    """Have the sites of private-svm and hybrid-svm find their own models less exactly: a run takes seconds otherwise.

    The test of how exact they are, in tests/strategies/test_private_svm.py, sets it back.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_perturbation, "LOCAL_TOL", 1e-4)
        yield


@pytest.fixture(autouse=True, scope="session")
def _plots_are_not_laid_out() -> Iterator[None]:
    """Have plots drawn with fixed margins: a layout takes twice as long as the drawing, and hundreds are drawn.

    The tests of how each plot of a report is laid out, in tests/strategies/report/test_plots.py, set it back.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _software_is_read_once() -> Iterator[None]:
    """Have the set-up of studies hash the installed files once: no test of one changes them."""
    read_once = cache(installed_files)
    with pytest.MonkeyPatch.context() as patch:
        for module in (hospital, coordinator):
            patch.setattr(module, "installed_files", read_once)
        yield


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what hospitals remember from run to run out of the account's own folder; return where it is.

    No folder is there before a hospital makes it: of thousands of tests few need one.
    """
    home = tmp_path_factory.getbasetemp() / f"state-{secrets.token_hex(8)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home / "pansvm"


@pytest.fixture(autouse=True)
def same_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a table the same key, and so the same perturbed copy, in each run of a test: no accuracy is one of chance.

    If a test begins several ledgers for one table, each has a key of its own.
    """
    begin, begun = tables._new_ledger, Counter[bytes]()

    def with_same_key(home: Path, known: list[KnownTables], test_fraction: float) -> str:
        cells = known[0]._X.tobytes()
        begun[cells] += 1
        name = begin(home, known, test_fraction)
        key = hashlib.sha256(b"%d" % begun[cells] + cells).hexdigest()
        budget.write_ledger(home / name, replace(budget.ledger_in(home / name), key=key))
        return name

    monkeypatch.setattr(tables, "_new_ledger", with_same_key)


@pytest.fixture(autouse=True)
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each answer of a hospital new noise, which is the same in each run of a test: none fails by chance."""
    keys = count()
    drawn = SimpleNamespace(token_bytes=lambda size: hashlib.sha256(b"%d" % next(keys)).digest()[:size])
    for module in (private, output_perturbation):
        monkeypatch.setattr(module, "secrets", drawn)


@pytest.fixture
def begun_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a person begin a ledger in whichever state folder a hospital looks for one."""
    read = budget.read_link

    def begun(folder: Path) -> budget.Link:
        if not (folder / LINK_FILE).exists():
            new_ledger(folder, 0.2)
        return read(folder)

    for module in (budget, ledger_tables):
        monkeypatch.setattr(module, "read_link", begun)


Reorder = Callable[..., Any]


def in_order(number: int, X: NDArray[Any], *of_rows: NDArray[Any]) -> Any:
    """Return rows and columns, and what belongs to the rows, in another order; number 0 is the one that they have."""
    if number == 0:
        return X, *of_rows
    generator = np.random.default_rng(number)
    rows, columns = generator.permutation(len(X)), generator.permutation(X.shape[1])
    return X[np.ix_(rows, columns)], *(part[rows] for part in of_rows)


@pytest.fixture(params=range(3), ids=lambda number: f"order {number}")
def reordered(request: pytest.FixtureRequest) -> Reorder:
    """Return a function that puts rows and columns in another order: what has to hold in each of three.

    Sums in another order round otherwise, as they do on a processor for which BLAS chooses another kernel.
    """
    return partial(in_order, request.param)


def write_hospitals(folder: Path, rows: int, hospitals: int = 3, noise: float = 0.15) -> list[Path]:
    """Write tables of hospitals, two features of different size, not linearly separable; return where they are."""
    X, y = make_moons(rows, noise=noise, random_state=0)
    frame = pd.DataFrame({"age": 50 + 10 * X[:, 0], "dose": X[:, 1] / 100, "label": y})
    paths = [folder / f"hospital{number}.csv" for number in range(hospitals)]
    for path, part in zip(paths, np.array_split(np.arange(rows), hospitals), strict=True):
        frame.iloc[part].to_csv(path, index=False)
    return paths


def write_identities(folder: Path, names: Sequence[str]) -> list[dict[str, Scalar]]:
    """Make an identity for each hospital and a roster of all; return what each one's node config says of them."""
    lines = [f'"{name}": "{create_identity(folder / f"{name}.pem")}"' for name in names]
    (folder / "roster.json").write_text("{\n" + ",\n".join(lines) + "\n}")
    return [
        {"identity": str(folder / f"{name}.pem"), "roster": str(folder / "roster.json")} for name in names
    ]


@pytest.fixture
def hospital_files(tmp_path: Path) -> list[Path]:
    """Return the tables of three hospitals with 60 rows each."""
    return write_hospitals(tmp_path, 180)


@pytest.fixture
def hospitals(tmp_path_factory: pytest.TempPathFactory, state_home: Path) -> MakeGrid:
    """Return a function that makes a grid of hospitals, each with a table and a name in its node config.

    Those with a budget have an identity and a roster, too, as they have to. The others agree to every level, and have
    begun the ledger of their table.
    """

    def make(
        settings: Settings,
        files: Sequence[Path],
        nodes: dict[str, Scalar] | None = None,
        run_id: int | None = None,
    ) -> InProcessGrid:
        pins = {"min-cluster": 2, **(nodes or {})}
        if "epsilon" not in pins:
            pins = {"privacy": "exact", "noise": 0.25, **pins}
        configs: list[dict[str, Scalar]] = [{"data": str(file), "name": file.stem, **pins} for file in files]
        if "epsilon" in pins:
            known = write_identities(tmp_path_factory.mktemp("identities"), [file.stem for file in files])
            configs = [{**own, **config} for own, config in zip(known, configs, strict=True)]
        if pins.get("privacy", "dp") != "dp":
            for config in configs:
                folder = Path(str(config.get("state", state_home / f"site-{config['name']}")))
                if not (folder / LINK_FILE).exists():
                    new_ledger(folder, settings.test_fraction)
        return InProcessGrid(app, configs, settings.to_config(), run_id)

    return make


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what names a web proxy of this machine."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def pansvm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Run(monkeypatch, capsys)


@pytest.fixture(scope="session")
def imported() -> Callable[[Path], set[str]]:
    """Return a function that lists the packages that a file imports anywhere, in functions too."""

    def packages(file: Path) -> set[str]:
        names = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(str(node.module).split(".")[0])
        return names - set(sys.stdlib_module_names) - ROOMS

    return packages

"""Imports go along the arrows of the design: simulations -> strategies, clients -> flower_pansvm."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from flower_pansvm.cli import COMMANDS

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "flower_pansvm": {"flower_pansvm"},
    "clients": {"clients", "flower_pansvm"},
    "strategies": {"strategies", "flower_pansvm"},
    "simulations": {"simulations", "strategies", "clients", "flower_pansvm"},
}
# Doors for other people's Flower apps, and what they offer from above.
DOORS = {
    "flower_pansvm/clientapp.py": {"simulations.own_app"},
    "flower_pansvm/secagg.py": {"clients.secagg.app", "strategies.secagg.strategy"},
    "flower_pansvm/serverapp.py": {
        "strategies.dp_svm.strategy",
        "strategies.pan_svm.strategy",
        "strategies.selection.filter_wrapper",
        "strategies.selection.voted_wrapper",
    },
}


# The layers of a room from bottom to top: each imports only from those before it. Whatever is not named, such as a new
# strategy, is where the dots are; of a room without dots every package and module is named.
FROM_BOTTOM_TO_TOP = {
    "clients": (
        "cache", "policy", "hospital", "state_folder",
        "table", "patients", "dealing", "ledger", "runs", "label_check", "classes", "labels_told", "perturb", "rows",
        "column_blocks", "membership", "site", "groups", "tested", "folds", "seeds", "systems", "gate",
        "app", "node", "budget", "checking", "unknown_cells", "prediction", "deployment", "cli", "secagg",
    ),
    "strategies": (
        "registry", "constraints", "settings", "promise_settings", "svm_settings", "outcome",
        "master", "federation", "own_app", "steps", "strategy", "api",
        ..., "results", "app", "secagg", "report", "run_display", "run_folder", "deployment", "cli",
    ),
    "simulations": (
        "data", "app", "engines", "trial", "own_app", ..., "running", "federated_svc", "testing",
        "comparison", "papers", "result_files", "result_plots", "privacy_tables", "figures", "benchmarks", "cli",
    ),
}  # fmt: skip


# A slice that is made of another one: the votes of local models, and subsets of PAN-SVM's features.
BUILT_ON = {"ensemble": {"local_only"}, "selection": {"pan_svm"}}


def modules_named(source: str) -> set[str]:
    """Return every module that a source imports or imports from, by statement or by a name handed to import_module."""
    named = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            named.update((node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)))
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            named.update(arg.value for arg in node.args if isinstance(arg, ast.Constant))
    return named


def against_the_arrows(room: str, source: str) -> set[str]:
    return {name for name in modules_named(source) if name.split(".")[0] in ALLOWED.keys() - ALLOWED[room]}


@pytest.mark.parametrize("room", ALLOWED)
def test_imports_follow_the_arrows(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for file in files:
        wrong = against_the_arrows(room, file.read_text())
        door = DOORS.get(file.relative_to(ROOT).as_posix(), set())
        assert {name if name in door else name.rpartition(".")[0] for name in wrong} == door, file


@pytest.mark.parametrize("room", FROM_BOTTOM_TO_TOP)
def test_packages_import_what_is_below_them(room: str) -> None:
    folder, order = ROOT / room, FROM_BOTTOM_TO_TOP[room]
    there = {path.stem if path.suffix == ".py" else path.name for path in folder.iterdir()}
    unnamed = there - {*order, "__init__", "__pycache__", "py.typed"}
    assert not unnamed or ... in order
    assert {*order} - {...} <= there
    for file in folder.rglob("*.py"):
        own = file.relative_to(folder).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        below = order[: order.index(... if own in unnamed else own) + 1]
        allowed = {*below, *(unnamed if ... in below else ())}
        named = {
            name.split(".")[1] for name in modules_named(file.read_text()) if name.startswith(f"{room}.")
        }
        assert named <= allowed, f"{file}: {named - allowed}"


def test_a_strategy_imports_what_the_page_for_authors_says() -> None:
    """The api, and its own slice; what is above it in the order is no strategy."""
    folder, order = ROOT / "strategies", FROM_BOTTOM_TO_TOP["strategies"]
    slices = {path.stem for path in folder.iterdir()} - {*order, "__init__", "__pycache__"}
    assert slices > BUILT_ON.keys()
    for name in slices:
        files = [folder / f"{name}.py"] if (folder / f"{name}.py").exists() else (folder / name).rglob("*.py")
        for file in files:
            named = {
                one.split(".")[1] for one in modules_named(file.read_text()) if one.startswith("strategies.")
            }
            assert named <= {"api", name, *BUILT_ON.get(name, ())}, file


@pytest.mark.parametrize(
    ("room", "commands"),
    [
        ("clients", {"hospital", "budget", "predict", "check", "schema"}),
        ("strategies", {"coordinator", "report"}),
        ("flower_pansvm", {"inspect", "export"}),
    ],
)
def test_a_command_is_where_it_is_called(room: str, commands: set[str]) -> None:
    """By the arrows the hospital's commands load nothing of the coordinator's, and neither anything of simulations."""
    assert {name for name, row in COMMANDS.items() if row.target.startswith(f"{room}.")} == commands


def test_below_the_gate_nothing_sees_flowers_context() -> None:
    """Node config, run config and state are read once, into a Hospital."""
    folder = ROOT / "clients"
    allowed = {folder / "node" / "node.py", folder / "hospital.py", *(folder / "gate").iterdir()}
    # They ask the gate as a run would, before anything is sent.
    allowed |= {folder / "deployment" / "checks.py"}
    # Of other people's apps, which have no gate.
    allowed |= {*(folder / "secagg").iterdir()}
    seeing = {file for file in folder.rglob("*.py") if "flwr.app.Context" in modules_named(file.read_text())}
    assert folder / "hospital.py" in seeing
    assert seeing <= allowed


def test_a_system_has_one_name_in_all_rooms() -> None:
    """Among the strategies a system may be a file or a folder, or a step of several; tests on true records are one."""
    shared, *others = (
        {path.stem for path in (ROOT / folder).iterdir() if path.stem[0] != "_"} - {"system"}
        for folder in ("flower_pansvm/systems", "clients/systems", "strategies/report/words")
    )
    assert all(other == shared for other in others)
    strategies = ROOT / "strategies"
    own = {path.stem for folder in (strategies, strategies / "steps") for path in folder.iterdir()}
    assert shared - {"common", "evaluation"} <= own


def test_a_wrong_import_is_noticed() -> None:
    assert against_the_arrows("clients", "from strategies.app import app")
    assert against_the_arrows("flower_pansvm", "import clients.site")
    assert against_the_arrows("clients", "importlib.import_module('simulations.data.sites')")
    assert not against_the_arrows("simulations", "from strategies.app import app")


@pytest.mark.parametrize("room", ALLOWED)
def test_neither_modules_nor_packages_import_each_other_in_a_circle(room: str) -> None:
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in (ROOT / room).rglob("*.py")
    }
    modules = {name: files.keys() & modules_named(file.read_text()) - {name} for name, file in files.items()}
    assert len(list(TopologicalSorter(modules).static_order())) == len(files)
    packages: dict[str, set[str]] = {}
    for name, others in modules.items():
        above = {one.split(".")[1] for one in others if one.count(".")}
        if name.split(".")[1] != "__init__":
            packages.setdefault(name.split(".")[1], set()).update(above - {name.split(".")[1]})
    TopologicalSorter(packages).prepare()


def test_only_benchmarks_import_benchmarks() -> None:
    """They need what their readers do not install, such as a library to compare with."""
    benchmarks = ROOT / "simulations" / "benchmarks"
    users = {
        file
        for room in ALLOWED
        for file in (ROOT / room).rglob("*.py")
        if any("benchmarks" in name.split(".") for name in modules_named(file.read_text()))
    }
    assert users
    assert all(file.is_relative_to(benchmarks) for file in users)


def test_no_two_classes_have_one_name() -> None:
    names = [
        node.name
        for room in ALLOWED
        for file in (ROOT / room).rglob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in names if names.count(name) > 1} == set()

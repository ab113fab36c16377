"""What a hospital's process loads: what its auditor has to read, and which packages have to be trusted."""

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.app import TASKS
from clients.gate.levels import SUMS

ROOT = Path(__file__).parents[2]
MOST_LINES = {("common", "dp_svm"): 5900, ("common", "dp_svm", "pan_svm", "scaling"): 7700}
"""Of what the SuperNode loads as it starts, its connection to the server among it, with the systems that a hospital
agrees to: to join is in all. Round hundreds, which a change may lower and never raises."""

MOST_LINES_IN_ALL = 16700
"""And with what all systems, a table or a node config bring in besides: the schema file, sources of tables, copies,
identities, the log of runs, Paillier sums."""

PACKAGES = {"cryptography", "flwr", "numpy", "scipy", "sklearn"}
"""What the hospital's part imports besides the standard library, some of it only when it is needed."""

ROOMS = ("flower_pansvm", "clients")
Imported = Callable[[Path], set[str]]


def printed(program: str, *arguments: str) -> list[str]:
    """Return the lines that a program prints in a new process."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def loaded(*systems: str) -> dict[str, Path]:
    """Return every module of this project that a new process has after loading its SuperNode and some systems."""
    modules = ", ".join(["clients.node.node", *(f"clients.systems.{name}" for name in systems)])
    lines = printed(
        f"import sys, {modules}\n"
        "rooms = ('flower_pansvm', 'clients', 'strategies', 'simulations')\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.split('.')[0] in rooms: print(name, module.__file__)\n"
    )
    return {name: Path(file) for name, file in (line.split(" ", 1) for line in lines)}


def ever_loaded(modules: dict[str, Path]) -> dict[str, Path]:
    """Return these modules, and those that they import inside of functions or by a text, and so on."""
    found = dict(modules)
    # The package itself offers its model, to researchers.
    new = {name: file for name, file in modules.items() if name != "flower_pansvm"}
    while new:
        named = set()
        for file in new.values():
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom):
                    named |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
                # A module and what it holds, for pkgutil.resolve_name.
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    named.add(node.value.partition(":")[0].rstrip("."))
        files = {name: file_of(name) for name in named - found.keys()}
        new = {name: file for name, file in files.items() if name.split(".")[0] in ROOMS and file.exists()}
        found |= new
    return found


def file_of(module: str) -> Path:
    folder = ROOT / module.replace(".", "/")
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def lines_of(modules: dict[str, Path]) -> int:
    return sum(len(file.read_text().splitlines()) for file in modules.values())


@pytest.mark.parametrize("systems", MOST_LINES, ids=" ".join)
def test_a_hospital_loads_its_own_part_only(systems: tuple[str, ...]) -> None:
    modules = loaded(*systems)
    assert "clients.gate.reply" in modules
    assert {name.split(".")[0] for name in modules} == set(ROOMS)
    assert {name for name in modules if name.startswith("clients.systems.")} == {
        f"clients.systems.{name}" for name in systems
    }
    assert lines_of(modules) <= MOST_LINES[systems]


WITHOUT_CONSENT = {row.system for row in TASKS.values() if row.leaves == SUMS and not row.consents}

ASKED = """
import sys
from itertools import count
from pathlib import Path
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity
from clients.app import TASKS, app
from clients.budget import new_ledger
from clients.gate.levels import DP
from flower_pansvm import records
from flower_pansvm.systems.common import JoinQuestion
from strategies.settings import make_settings

folder = Path(sys.argv[1])
TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 7, 0
new_ledger(folder, 0.2)
join = RecordDict()
records.write(join, "inputs", JoinQuestion(()))
runs = count(1)
for privacy in ("exact", "perturbed"):
    config = make_settings(privacy=privacy).to_config()
    for name, row in TASKS.items():
        if row.leaves == DP or name == "relay":
            continue
        node = {"name": "north", "state": str(folder), **eval(sys.argv[2])}
        content = join if name == "join" else RecordDict()
        context = Context(next(runs), 7, node, RecordDict(), config)
        reply = app(Message(content, 7, f"{row.category}.{name}"), context)
        assert not reply.has_content(), name
print(*sorted(name for name in sys.modules if name.startswith("clients.systems.")))
"""


@pytest.mark.parametrize(
    ("policy", "systems"),
    [
        # What a hospital agrees to unless it says otherwise.
        ({}, set()),
        # One that agrees to sums over copies has still agreed to no consent.
        ({"privacy": "exact"}, WITHOUT_CONSENT),
    ],
)
def test_what_a_hospital_has_not_agreed_to_is_not_loaded(
    policy: dict[str, str], systems: set[str], tmp_path: Path
) -> None:
    (names,) = printed(ASKED, str(tmp_path / "state"), repr(policy))
    assert {name.split(".")[2] for name in names.split()} == systems


def test_a_site_loads_the_source_of_its_own_table_only(tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_text("age,label\n61,1\n")
    (names,) = printed(
        "import sys, pathlib\n"
        "from clients.table.reading import read_table\n"
        "read_table(pathlib.Path(sys.argv[1]))\n"
        "print(*(name for name in sys.modules if name.startswith('clients.table.sources.')))\n",
        str(tmp_path / "ward.csv"),
    )
    assert {name.split(".")[-1] for name in names.split()} == {"csv", "rows"}


@pytest.mark.slow
def test_what_is_loaded_only_when_it_is_needed_is_counted_too() -> None:
    systems = {row.system for row in TASKS.values()}
    modules = ever_loaded(loaded(*systems))
    assert {
        "clients.table.file",
        "clients.table.sources.sql",
        "flower_pansvm.table_schema",
        "flower_pansvm.secure_sum.identities",
    } <= modules.keys()
    assert lines_of(modules) <= MOST_LINES_IN_ALL


def test_a_hospital_trusts_no_package_that_only_the_coordinator_needs(imported: Imported) -> None:
    found = set().union(*(imported(file) for file in loaded().values()))
    assert found <= PACKAGES


def test_an_import_in_a_function_is_noticed(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "one.py").write_text("import os, numpy.linalg\ndef f():\n    from piqp import DenseSolver\n")
    assert imported(tmp_path / "one.py") == {"numpy", "piqp"}

"""What a hospital's process loads: what its auditor has to read, and which packages have to be trusted."""

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 10416
"""Of what the executor loads, which answers a SuperNode's messages. A commit that needs more says why."""

MOST_LINES_IN_ALL = 12854
"""And with what a table or a node config brings in besides: the schema file, sources of tables, copies, identities,
Paillier sums."""

PACKAGES = {"cryptography", "flwr", "numpy", "scipy", "sklearn"}
"""What the hospital's part imports besides the standard library, some of it only when it is needed."""

ROOMS = ("flower_pansvm", "clients")
Imported = Callable[[Path], set[str]]


def loaded() -> dict[str, Path]:
    """Return every module of this project that a new process has after loading the executor with the ClientApp."""
    code = (
        "import sys, clients.executor\n"
        "rooms = ('flower_pansvm', 'clients', 'strategies', 'simulations')\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.split('.')[0] in rooms: print(name, module.__file__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: Path(file) for name, file in (line.split(" ", 1) for line in done.stdout.splitlines())}


def ever_loaded(modules: dict[str, Path]) -> dict[str, Path]:
    """Return these modules, and those that they import inside of functions, and so on."""
    found = dict(modules)
    # The package itself offers its model, to researchers.
    new = {name: file for name, file in modules.items() if name != "flower_pansvm"}
    while new:
        named = set()
        for file in new.values():
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom):
                    named |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        files = {name: ROOT / f"{name.replace('.', '/')}.py" for name in named - found.keys()}
        new = {name: file for name, file in files.items() if name.split(".")[0] in ROOMS and file.exists()}
        found |= new
    return found


def lines_of(modules: dict[str, Path]) -> int:
    return sum(len(file.read_text().splitlines()) for file in modules.values())


def test_a_hospital_loads_its_own_part_only() -> None:
    modules = loaded()
    assert "clients.gate.reply" in modules
    assert {name.split(".")[0] for name in modules} == set(ROOMS)
    assert lines_of(modules) <= MOST_LINES


@pytest.mark.slow
def test_what_is_loaded_only_when_it_is_needed_is_counted_too() -> None:
    modules = ever_loaded(loaded())
    assert {
        "clients.table.file",
        "clients.table.cache",
        "clients.table.sources.sql",
        "flower_pansvm.table_schema",
        "flower_pansvm.secure_sum.identities",
    } <= modules.keys()
    assert lines_of(modules) <= MOST_LINES_IN_ALL


def test_a_hospital_trusts_no_package_that_only_the_coordinator_needs(imported: Imported) -> None:
    found = set().union(*(imported(file) for file in loaded().values()))
    assert found <= PACKAGES
    assert not found & {"piqp", "matplotlib", "typer", "ray", "rich", "jinja2", "phe"}


def test_an_import_in_a_function_is_noticed(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "one.py").write_text("import os, numpy.linalg\ndef f():\n    from piqp import DenseSolver\n")
    assert imported(tmp_path / "one.py") == {"numpy", "piqp"}

"""What a hospital's process loads: what its auditor has to read, and which packages have to be trusted."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 8561
"""As few as can be; a change that needs more says why. Of these 1,110 are for differential privacy."""

PACKAGES = {"cryptography", "flwr", "numpy", "scipy", "sklearn"}
"""What the hospital's part imports besides the standard library, some of it only when it is needed."""

ROOMS = ("flower_pansvm", "clients")
Imported = Callable[[Path], set[str]]


def loaded() -> dict[str, Path]:
    """Return every module of this project that a new process has after loading the ClientApp."""
    code = (
        "import sys, clients.app\n"
        "rooms = ('flower_pansvm', 'clients', 'strategies', 'simulations')\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.split('.')[0] in rooms: print(name, module.__file__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: Path(file) for name, file in (line.split(" ", 1) for line in done.stdout.splitlines())}


def test_a_hospital_loads_its_own_part_only() -> None:
    modules = loaded()
    assert "clients.gate.door" in modules
    assert {name.split(".")[0] for name in modules} == set(ROOMS)
    lines = sum(len(file.read_text().splitlines()) for file in modules.values())
    assert lines <= MOST_LINES


def test_a_hospital_trusts_no_package_that_only_the_coordinator_needs(imported: Imported) -> None:
    found = set().union(*(imported(file) for file in loaded().values()))
    assert found <= PACKAGES
    assert not found & {"piqp", "matplotlib", "typer", "ray", "rich", "jinja2", "phe"}


def test_an_import_in_a_function_is_noticed(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "one.py").write_text("import os, numpy.linalg\ndef f():\n    from piqp import DenseSolver\n")
    assert imported(tmp_path / "one.py") == {"numpy", "piqp"}

"""Who installs what: a hospital the core only, and whoever lacks an extra is told its name."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.cli import EXTRAS
from flower_pansvm.errors import EngineError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.version import VERSION
from simulations.engines.flower_engine import run_on_flower
from strategies.steps.feature_maps import fit_map

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROOMS = {
    "flower_pansvm": [],
    "clients": [],
    "strategies": [],
    "simulations": ["export", "parquet", "report", "simulation"],
}
"""The extras that each room needs besides the core."""

SOURCES = ("excel", "parquet", "sql")
"""Extras of the file in clients/table/sources/ that has their name."""

COMMAND_LINE = "from flower_pansvm.cli import main; main()"
IMPORTED_AS = {"scikit_learn": "sklearn", "xgboost_cpu": "xgboost"}
Imported = Callable[[Path], set[str]]

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def packages(requirements: list[str]) -> set[str]:
    """Return the names under which required packages are imported."""
    names = set()
    for requirement in requirements:
        name = requirement.split("[")[0].split(">")[0].split("=")[0].replace("-", "_")
        names.add(IMPORTED_AS.get(name, name))
        if requirement.startswith("flwr[simulation]"):
            names.add("ray")
    return names


CORE = packages(PROJECT["dependencies"])
OF_EXTRA = {name: packages(needed) for name, needed in PROJECT["optional-dependencies"].items()}
ONLY_IN_EXTRAS = set().union(*OF_EXTRA.values()) - CORE - {"flower_pansvm"}


def run_without(blocked: list[str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process in which some packages are not installed."""
    command = [sys.executable, "-c", BLOCK.format(blocked=blocked) + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_imports_only_what_its_users_install(room: str, imported: Imported) -> None:
    allowed = CORE.union(*(OF_EXTRA[extra] for extra in ROOMS[room]))
    for file in (ROOT / room).rglob("*.py"):
        own = OF_EXTRA.get(file.stem, set()) if file.stem in ("boosting", "paillier", *SOURCES) else set()
        # Flower runs its SuperLink with it, which the coordinator closes to other accounts.
        own |= {"uvicorn"} if file.stem == "flower_program" else set()
        # Both are needed by one command or page, which says so where they are not installed.
        own |= {"export": OF_EXTRA["export"], "report": OF_EXTRA["report"]}.get(
            file.relative_to(ROOT).parts[1], set()
        )
        assert imported(file) <= allowed | own, file


def test_the_core_is_no_more_than_a_hospital_needs(imported: Imported) -> None:
    files = [file for room in ("flower_pansvm", "clients") for file in (ROOT / room).rglob("*.py")]
    # Of click only the versions that work are named: Flower brings it. The others are of the coordinator's part of an
    # app, for which `flwr run` installs the core.
    assert set().union(*map(imported, files)) >= CORE - {"click", "piqp", "threadpoolctl"}


def test_the_command_line_knows_which_extra_brings_what() -> None:
    for package, extra in EXTRAS.items():
        assert package in OF_EXTRA[extra]


# flwr and scikit-learn need these themselves, so a hospital has them whether it wants to or not.
NOT_AT_HOSPITALS = sorted(ONLY_IN_EXTRAS - {"joblib", "sqlalchemy", "tomli_w", "threadpoolctl"} | {"ray"})


@pytest.mark.slow
def test_a_hospital_reads_its_table_with_the_core_alone(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [50.0, 61.0], "label": ["a", "b"]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "table.libsvm").write_text("1 1:50\n2 1:61\n")
    done = run_without(
        NOT_AT_HOSPITALS,
        "import clients.app\n"
        "from flwr.app import Context, RecordDict\n"
        "from clients.hospital import hospital_of\n"
        "from clients.table.opening import open_table\n"
        "for file in sys.argv[1:]:\n"
        "    node = {'data': file}\n"
        "    assert open_table(hospital_of(Context(1, 2, node, RecordDict(), {}))).X.shape == (2, 1)\n",
        *(str(tmp_path / f"table.{kind}") for kind in ("csv", "libsvm")),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_hospital_joins_with_the_core_alone(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,label\n50,0\n61,1\n")
    table, folder = str(tmp_path / "table.csv"), str(tmp_path / "h")
    joined = ["hospital", "init", "--name", "north", "--data", table, "--folder", folder]
    done = run_without([*NOT_AT_HOSPITALS, "piqp"], COMMAND_LINE, *joined)
    assert (done.returncode, done.stderr) == (0, "")
    for arguments in (["accept", f"{folder}/north.registration.json", "--code", "x"], ["start"]):
        done = run_without(NOT_AT_HOSPITALS, COMMAND_LINE, "hospital", *arguments, "--folder", folder)
        assert done.stderr.startswith("Error: ")
        assert "is not installed" not in done.stderr
    # They are made of it, and Flower brings it.
    assert any(needed.startswith("typer") for needed in requires("flwr") or [])


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("jinja2", "report folder", "report"),
        ("xgboost", "compare --data wine --strategies fedxgb:bagging --out HERE/compared", "boosting"),
        *(
            (package, "export HERE/model.npz --out HERE/model.onnx", "export")
            for package in ("onnx", "onnxruntime")
        ),
    ],
)
@pytest.mark.slow
def test_a_command_without_its_extra_names_it_and_leaves_no_file(
    package: str, command: str, extra: str, tmp_path: Path
) -> None:
    model = PanSVC.from_parts(
        Schema(("age",), ("no", "yes")),
        Scaling(np.zeros(1), np.zeros(1), np.ones(1)),
        fit_map(Kernel("linear"), np.array([[2.0]])),
        np.ones((1, 2)),
    )
    model.save(tmp_path / "model.npz")
    done = run_without([package], COMMAND_LINE, *command.replace("HERE", str(tmp_path)).split())
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    named = re.findall(r"pip install '\.\[(\w+)\]'", done.stderr)
    # What most commands need has no onnx.
    assert set(named) <= ({extra, "simulation"} if extra == "report" else {extra})
    assert named[0] == extra
    assert package in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["model.npz"]


def test_the_engine_without_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"'\.\[simulation\]'"):
        run_on_flower({}, 3, print)


def test_a_simulated_site_without_tables_says_which_app_has_them() -> None:
    done = run_without(
        ["simulations"],
        "from flwr.app import RecordDict\n"
        "from clients.hospital import SimulatedContext\n"
        "from clients.hospital import hospital_of\n"
        "from clients.table.opening import open_table\n"
        "open_table(hospital_of(SimulatedContext(1, 2, {'partition-id': 0, 'num-partitions': 3}, RecordDict(), {})))\n",
    )
    assert "simulations.app" in done.stderr.splitlines()[-1]


def test_the_version_is_that_of_the_project() -> None:
    assert PROJECT["version"] == VERSION


def test_the_release_page_names_each_file_that_has_the_version_and_what_writes_the_third() -> None:
    """Sites of two versions that both say the old one would join one run."""
    page = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    assert "`pyproject.toml` and `flower_pansvm/version.py`" in page
    assert "`python -m simulations.references`" in page
    assert page.index("flower_pansvm/version.py") < page.index("Run all tests")

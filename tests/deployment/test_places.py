"""A hospital's commands run where no coordinator's code can be loaded, and the coordinator's without the hospital's."""

import subprocess
import sys
from pathlib import Path

import pytest

from simulations.running import run
from strategies.settings import make_settings
from tests.deployment.conftest import Study

pytestmark = pytest.mark.slow

WITHOUT = """
import sys
from flower_pansvm.cli import main
away = set(sys.argv.pop(1).split(","))
try:
    main()
finally:
    if found := sorted(name for name in sys.modules if name.split(".")[0] in away):
        sys.exit(f"loaded: {found}")
"""


def pansvm(without: str, *arguments: object) -> str:
    """Return what a command prints in a process, which fails if it has loaded some rooms."""
    command = [sys.executable, "-c", WITHOUT, without, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_hospitals_commands_need_its_own_room_only(
    invited: Study, hospital_files: list[Path], tmp_path: Path
) -> None:
    run(
        make_settings(data=str(hospital_files[0]), sites=3, out=str(tmp_path / "run")),
        "in-process",
        lambda _: None,
    )
    away, north, table = "strategies,simulations", invited.hospitals["north"], hospital_files[0]
    pansvm(away, "hospital", "init", "--name", "new", "--data", table, "--folder", tmp_path / "new")
    code = invited.coordinator.invitation().code
    pansvm(away, "hospital", "accept", invited.invitation, "--code", code, "--folder", north)
    assert "level: dp" in pansvm(away, "hospital", "check", "--folder", north)
    assert "epsilon" in pansvm(away, "budget", north / "state")
    assert "fits" in pansvm(away, "check", table)
    assert "[columns" in pansvm(away, "schema", table)
    model = tmp_path / "run" / "model.npz"
    assert "pan-svc" in pansvm(away, "inspect", model)
    assert "prediction" in pansvm(away, "predict", model, table)


def test_a_coordinators_commands_need_its_own_room_only(study: Study, tmp_path: Path) -> None:
    away, folder = "clients,simulations", tmp_path / "another"
    pansvm(away, "coordinator", "init", "--address", "localhost:8443", "--folder", folder)
    pansvm(away, "coordinator", "invite", *study.files.values(), "--folder", folder, "--schema", study.schema)
    run(make_settings(data="wine", sites=3, out=str(tmp_path / "run")), "in-process", lambda _: None)
    pansvm(away, "report", tmp_path / "run")

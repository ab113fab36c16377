"""What the log says at the end of a run: how to resume one that was stopped, and what stays running on the machine."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from strategies.app import resume_hint, superlink_hint
from strategies.settings import make_settings


class InMemoryGrid:
    """By its name the grid of Flower's simulation."""


class HttpGrid:
    """By its name the grid of a deployment."""


@pytest.mark.parametrize(
    ("grid", "settings", "said"),
    [
        (InMemoryGrid(), {}, "pansvm run --resume /out"),
        (InMemoryGrid(), {"strategy": "dp-svm"}, "pansvm run --resume /out"),
        (InMemoryGrid(), {"C": "auto"}, "pansvm tune --resume /out"),
        (InMemoryGrid(), {"strategy": "voted-wrapper"}, "pansvm select --resume /out"),
        (HttpGrid(), {"C": "auto"}, "pansvm coordinator train --resume --out /out, or flwr run as before with resume"),
    ],
)  # fmt: skip
def test_the_command_is_the_one_that_the_run_was_started_with(
    grid: object, settings: dict[str, str], said: str
) -> None:
    hint = resume_hint(grid, make_settings(**settings), Path("/out"))  # type: ignore[arg-type]
    assert said in hint
    # The sum that failed.
    assert ("charged once more" in hint) == (settings.get("strategy") == "dp-svm")


@pytest.mark.parametrize(
    ("grid", "module"),
    [(HttpGrid, "flwr.superlink.grid.http_grid"), (InMemoryGrid, "flwr.superlink.grid.inmemory_grid")],
)
def test_flower_still_calls_its_grids_so(grid: type, module: str) -> None:
    assert hasattr(import_module(module), grid.__name__)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("grid", [InMemoryGrid(), HttpGrid()], ids=lambda one: type(one).__name__)
def test_only_what_flwr_run_leaves_is_told(
    grid: object, left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    if left:
        (tmp_path / "local-superlink").mkdir()
        (tmp_path / "local-superlink" / "superlink.log").touch()
    text = superlink_hint(grid)  # type: ignore[arg-type]
    assert bool(text) == (left and isinstance(grid, InMemoryGrid))
    if text:
        assert "End it with: pkill -f local-superlink/superlink.log" in text


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="ids of processes are looked up in /proc")
def test_what_is_left_is_told_by_process_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    log_file = tmp_path / "local-superlink" / "superlink.log"
    log_file.parent.mkdir()
    log_file.touch()
    command = [sys.executable, "-c", "print(flush=True); input()", "--log-file", str(log_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left:
        assert left.stdout is not None
        left.stdout.readline()
        text = superlink_hint(InMemoryGrid())  # type: ignore[arg-type]
        left.communicate(b"\n")
    assert text.endswith(f"End it with: kill {left.pid}")

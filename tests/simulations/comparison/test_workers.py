"""Processes that run pieces of work end with the one that wants it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.flower_pansvm.study.test_processes import assert_ended, exists

PARENT = """
import os
from pathlib import Path

from simulations.comparison.workers import run_each
from tests.simulations.comparison.test_workers import busy

if __name__ == "__main__":
    list(run_each([{folder!r}], 1, busy))
"""


def busy(folder: str) -> None:
    """Say who works here, then work for ten minutes."""
    file = Path(folder) / "pid"
    file.with_suffix(".new").write_text(str(os.getpid()))
    file.with_suffix(".new").rename(file)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        pass


@pytest.mark.slow
def test_a_busy_process_ends_when_the_one_that_wants_its_work_is_killed(tmp_path: Path) -> None:
    script, file = tmp_path / "parent.py", tmp_path / "pid"
    script.write_text(PARENT.format(folder=str(tmp_path)))
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, str(script)], cwd=root, env=environment) as parent:
        while not file.exists():
            assert parent.poll() is None
            time.sleep(0.05)
        pid = int(file.read_text())
        assert exists(pid)
        parent.kill()
    assert_ended(pid)

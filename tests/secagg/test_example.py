"""The example app of secure sums, as a stranger runs it: from a folder of its own, with this project installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simulations.engines.flower_engine import run_app, temporary_folder

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "secure_sums"

IN_PROCESS = """
import sys
from types import SimpleNamespace
from simulations.engines.in_process import InProcessGrid
from digits.client import app
from digits.server import main
sites = [{"partition-id": site, "num-partitions": 4} for site in range(4)]
for protocol in sys.argv[1:]:
    main(InProcessGrid(app, sites, {}, None), SimpleNamespace(run_config={"protocol": protocol}))
"""


def test_the_example_is_short() -> None:
    files = [EXAMPLE / "pyproject.toml", *(EXAMPLE / "digits").glob("*.py")]
    assert len(files) == 4
    assert sum(len(file.read_text().splitlines()) for file in files) < 60


def test_the_example_trains_by_each_protocol(tmp_path: Path) -> None:
    """Paillier and plain need a site's consent, and have a test of their own."""
    shutil.copytree(EXAMPLE, tmp_path / "app")
    protocols = ("ring", "k-secure", "double-mask", "ring-hops", "k-secure-hops")
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS, *protocols],
        cwd=tmp_path / "app",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    accuracies = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("accuracy")]
    assert len(accuracies) == len(protocols)
    assert len({*accuracies}) == 1
    assert accuracies[0] > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
def test_flwr_run_of_the_example(protocol: str) -> None:
    with temporary_folder() as folder:
        shutil.copytree(EXAMPLE, folder / "app")
        project = folder / "app" / "pyproject.toml"
        project.write_text(project.read_text().replace("k-secure", protocol))
        lines: list[str] = []
        # Raises an error unless the run has finished.
        run_app(folder, 3, lines.append)
    assert lines.count("aggregate_train: Received 1 results and 0 failures") == 5
    assert not any("skipped" in line for line in lines if "evaluation" not in line)

"""The app on a real SuperLink with three SuperNodes on this machine, each with its own CSV file."""

import json
import os
import socket
import subprocess
import sysconfig
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from flower_pansvm.model import PanSVC
from simulations.processes import free_port, running

APP = Path(__file__).parents[2]
HOSPITALS = ("hospital-a", "hospital-b", "hospital-c")
ROWS = 180


def write_tables(folder: Path) -> None:
    table = load_breast_cancer(as_frame=True).frame.sample(ROWS, random_state=0)
    for part, name in enumerate(HOSPITALS):
        table[part :: len(HOSPITALS)].to_csv(folder / f"{name}.csv", index=False)


def environment(home: Path) -> dict[str, str]:
    home.mkdir()
    return {
        **os.environ,
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "NO_PROXY": "127.0.0.1",
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    }


def wait_for(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.slow
def test_three_supernodes_train_together(tmp_path: Path) -> None:
    write_tables(tmp_path)
    port = free_port()
    address = f"127.0.0.1:{port}"
    coordinator = environment(tmp_path / "coordinator")
    (tmp_path / "coordinator" / "config.toml").write_text(
        f'[superlink]\ndefault = "test"\n[superlink.test]\naddress = "{address}"\ninsecure = true\n'
    )
    superlink = ["flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", str(port)]
    superlink += ["--isolation", "process"]
    superexec = ["flower-superexec", "--insecure", "--runtime-api-address", address]
    with ExitStack() as processes:
        processes.enter_context(running(superlink, tmp_path, coordinator, tmp_path / "superlink.log"))
        wait_for(port)
        processes.enter_context(running(superexec, tmp_path, coordinator, tmp_path / "superexec.log"))
        for name in HOSPITALS:
            supernode = ["flower-supernode", "--insecure", "--superlink", address, "--port", str(free_port())]
            supernode += ["--node-config", f"data='{tmp_path / name}.csv' label='target' name='{name}'"]
            home = environment(tmp_path / name)
            processes.enter_context(running(supernode, tmp_path, home, tmp_path / f"{name}.log"))
        settings = f"sites=3 out='{tmp_path / 'results'}' tol=0.1"
        subprocess.run(
            ["flwr", "run", str(APP), "--stream", "--run-config", settings],
            env=coordinator,
            check=True,
            timeout=600,
        )
        runs = subprocess.run(
            ["flwr", "ls", "--format", "json"], env=coordinator, check=True, capture_output=True
        )
    assert [run["status"] for run in json.loads(runs.stdout)["runs"]] == ["finished:completed"]
    result = json.loads((tmp_path / "results" / "result.json").read_text())
    assert result["sites"] == len(HOSPITALS)
    assert result["rows_train"] + result["rows_test"] == ROWS
    assert result["accuracy"] > 0.85
    model = PanSVC.load(tmp_path / "results" / "model.npz")
    assert model.score(*load_breast_cancer(return_X_y=True, as_frame=True)) > 0.85

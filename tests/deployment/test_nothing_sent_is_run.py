"""A coordinator that changed its checkout, and another account of the machine, against real hospitals."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flower_pansvm.bundle import PACKAGES
from flower_pansvm.study.processes import flower_environment
from flower_pansvm.version import VERSION
from simulations.study_processes import processes_about
from simulations.trial import CONNECTED, READY, generated_tables, set_up, started_command, wait_for
from strategies.deployment.accounts import CONNECTIONS
from strategies.deployment.coordinator import FLOWER_FOLDER
from strategies.deployment.superlink import CONNECTION, checkout, flwr, train

NOBODY = 65534
TRAVERSAL = f"{VERSION}.b6bd5424/../../../trap/."

ANOTHER_ACCOUNT = """
import os
import httpx
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

guess = SuperExecAuthHttpInterceptor(
    master_secret=b"guess", protected_methods={{"/flwr.proto.Runtime/AcquireTask"}}
)
version = RuntimeVersionHttpInterceptor("SuperExec")

def ask(*chain):
    client = RuntimeHttpClient("https://{address}", interceptors=chain, verify=False)
    try:
        print("TASK", client.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-serverapp"])))
    except httpx.HTTPStatusError as error:
        print("refused", error.response.status_code)

ask(version)  # loads all modules, which the other account may not be able to read
os.setgid({nobody})
os.setuid({nobody})
for path in {files!r}:
    try:
        print("READ", path, len(open(path, "rb").read()))
    except PermissionError:
        print("closed", path)
ask(version)
ask(version, guess)
"""


def marking(marker: Path) -> str:
    """Return a line of code that writes down where it is run: each of Flower's homes is one actor's."""
    return f"import os; open({str(marker)!r}, 'a').write(os.environ['FLWR_HOME'] + '\\n')\n"


def changed_code(app: Path, marker: Path) -> None:
    """Nothing of the coordinator's own part, which runs what it likes."""
    for name in ("clients/app.py", "clients/__init__.py", "simulations/__init__.py"):
        file = app / name
        file.write_text(marking(marker) + file.read_text())


def changed_version(app: Path, _marker: Path) -> None:
    project = app / "pyproject.toml"
    project.write_text(project.read_text().replace(f'version = "{VERSION}"', f'version = "{TRAVERSAL}"', 1))


def old_bundle(app: Path, marker: Path) -> None:
    """Take a module away, and add one that the installed software does not have."""
    (app / "clients" / "site.py").rename(app / "clients" / "place.py")
    app_file = app / "clients" / "app.py"
    app_file.write_text(marking(marker) + app_file.read_text())


ATTACKS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "changed code": (changed_code, "clients/__init__.py, clients/app.py"),
    "changed version": (changed_version, "its version"),
    "old bundle": (old_bundle, "clients/site.py"),
}


@pytest.mark.slow(minutes=4)
def test_no_hospital_runs_a_line_of_what_is_sent_and_another_account_gets_no_task(tmp_path: Path) -> None:
    """Hospitals are started by nothing but their own three commands; at last the honest run ends well."""
    study, marker = tmp_path / "study", tmp_path / "marker"
    study.mkdir()
    tables = generated_tables(study, hospitals=3, rows=120)
    coordinator, _ = set_up(study, tables, {"steps": 0})
    names = list(tables)
    for name in names:
        home = study / name / FLOWER_FOLDER
        for place in (study / name, home, study, home / "apps"):
            trap = place / "trap" / "clients"
            trap.mkdir(parents=True, exist_ok=True)
            for file in ("__init__.py", "app.py"):
                (trap / file).write_text(marking(marker))
    home, seen = coordinator.folder / FLOWER_FOLDER, set()

    def run(app: Path) -> str:
        """Start a run of a checkout as Flower would, without our checks, and return why it has ended."""
        config = {**coordinator.invitation().settings, "out": str(tmp_path / "out")}
        text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in config.items())
        (file := tmp_path / "run.toml").write_text(text)
        command = ["flwr", "run", str(app), CONNECTION, "--stream", "--run-config", str(file)]
        done = subprocess.run(
            command, env=flower_environment(home), capture_output=True, text=True, check=False, timeout=600
        )
        runs = flwr(coordinator, "ls", CONNECTION, "--format", "json")["runs"]
        assert runs, done.stdout + done.stderr
        (newest,) = [one for one in runs if one["run-id"] not in seen]
        seen.add(newest["run-id"])
        assert newest["status"] == "finished:failed", newest
        return str(newest["status-details"])

    with started_command("coordinator", study) as link:
        wait_for({"coordinator": link}, study, READY)
        started = {name: started_command("hospital", study, name) for name in names}
        nodes = {name: started[name].__enter__() for name in names}
        try:
            wait_for(nodes, study, CONNECTED)
            for attack, (change, said) in ATTACKS.items():
                app = tmp_path / attack.replace(" ", "-") / "flower-pansvm"
                for package in (*PACKAGES, "simulations"):
                    shutil.copytree(checkout() / package, app / package)
                for file in ("pyproject.toml", "README.md"):
                    shutil.copy(checkout() / file, app)
                change(app, marker)
                before = {name: (study / f"{name}.log").read_text() for name in names}
                reason = run(app)
                assert "nothing of the coordinator's bundle was executed" in reason, (attack, reason)
                for name in names:
                    log = (study / f"{name}.log").read_text()[len(before[name]) :]
                    assert name in reason
                    assert "nothing of the coordinator's bundle was executed" in log, (attack, name)
                    assert said in log
                    assert not (study / name / FLOWER_FOLDER / "apps" / "flower-pansvm").exists()
                    assert "Traceback" not in log
            if os.getuid() == 0:
                another_account_gets_nothing(study, coordinator.port, names[0])
            train(coordinator, tmp_path / "results", print)
        finally:
            for one in started.values():
                one.__exit__(None, None, None)
    assert (tmp_path / "results" / "model.npz").is_file()
    # `flwr run` imports the package to find the ClientApp in it: that is the coordinator, and the marks work.
    assert set(marker.read_text().splitlines()) == {str(home)}


def another_account_gets_nothing(study: Path, port: int, name: str) -> None:
    """Nobody's account finds the coordinator's port and takes neither task nor key nor row; a hospital has no port."""
    own = study / name
    (process,) = [pid for pid, text in processes_about(own).items() if "clients.node.node" in text]
    assert not listening(process)
    private = [own / "supernode.key", own / "identity.pem", own / "node.toml", *(own / "state").iterdir()]
    private += [
        study / "coordinator" / FLOWER_FOLDER / "superexec.secret",
        study / "coordinator" / "coordinator.pem",
    ]
    script = ANOTHER_ACCOUNT.format(
        nobody=NOBODY, files=[str(path) for path in private], address=f"127.0.0.1:{port}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd="/", capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused 401") == 1, done.stdout  # of this account, without the secret
    assert done.stdout.count("refused 403") == (2 if CONNECTIONS.exists() else 0), done.stdout
    assert "TASK" not in done.stdout
    assert "READ" not in done.stdout
    assert done.stdout.count("closed") == len(private)


def listening(process: int) -> set[str]:
    """Return the sockets of a process that wait for connections."""
    own = {os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir() if file.is_symlink()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}

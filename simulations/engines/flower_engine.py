"""Runs the Flower app on Flower's simulation engine, with a home and a port of its own.

``flwr run`` alone starts a SuperLink that keeps running and is shared with every other checkout, and it exits with
code 0 after a failed run. Here three processes belong to one run and end with it: the SuperLink, the SuperExec that
starts the simulation, and ``flwr run``, which submits the app and prints the log.
"""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import tomli_w
from joblib import cpu_count

from flower_pansvm.errors import EngineError, install
from flower_pansvm.study.processes import exit_on_signals, flower_environment, free_port, started_process
from strategies.app import FINISHED

PACKAGES = ("flower_pansvm", "clients", "strategies", "simulations")
START_SECONDS = 60.0
"""Longest wait for the SuperLink to listen."""
CLUSTER_SECONDS = 10.0
"""Longest wait for an existing Ray cluster."""
HTTP2, HTTP2_SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", b"\4"
"""How a client of gRPC begins, as Ray's are (RFC 9113), and the kind of frame that a server answers with."""
TAIL_LINES = 25
"""Lines of a log's end in an error."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LOGGED = re.compile(r"(?:INFO|WARNING) *: +(\S.*)")
_LAST_LINE_BEFORE_THE_APP = "Successfully installed "


def run_on_flower(
    config: Mapping[str, str | int | float | bool],
    sites: int,
    show: Callable[[str], None],
    finished: Callable[[], None] = lambda: None,
) -> None:
    """Run this project's Flower app on Flower's simulation engine and wait for its end.

    Paths in the run config must be absolute: the app runs in a temporary folder. ``show`` receives each line of the
    ServerApp's log, without colours and log levels; ``finished`` is called after a run that has succeeded, before its
    many files are removed. EngineError if ray is not installed, Flower's processes do not start, or the run does not
    end as ``finished:completed``.
    """
    if importlib.util.find_spec("ray") is None:
        raise EngineError(
            "Flower's simulation engine needs the package ray, which is not installed. Install it "
            f"{install('simulation')}; or run in this process (--engine in-process)."
        )
    with exit_on_signals(), temporary_folder() as folder:
        build_app(folder / "app", map(_package_folder, PACKAGES), config)
        run_app(folder, sites, show, FINISHED % config.get("out"))
        finished()


def build_app(app: Path, packages: Iterable[Path], config: Mapping[str, str | int | float | bool]) -> None:
    """Write a Flower app: copies of packages, ``strategies`` and ``simulations`` among them, and ``pyproject.toml``."""
    for package in packages:
        shutil.copytree(package, app / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    project = {
        "name": "flower-pansvm",
        "version": version("flower-pansvm"),
        "description": "PAN-SVM for hospitals",
        "license": "Apache-2.0",
    }
    flower = {
        "publisher": "flower-pansvm",
        "components": {"serverapp": "strategies.app:app", "clientapp": "simulations.app:app"},
        "config": dict(config),
    }
    text = tomli_w.dumps({"project": project, "tool": {"flwr": {"app": flower}}})
    (app / "pyproject.toml").write_text(text, encoding="utf-8")


def run_app(folder: Path, sites: int, show: Callable[[str], None], last: str = "") -> None:
    """Run the Flower app in ``folder/app`` as `run_on_flower` does; Flower and Ray keep their files beside it.

    A ServerApp that logs ``last`` has succeeded; nobody waits then until Ray and Flower end by themselves. EngineError
    if the app fails, or on Windows.
    """
    if os.name == "nt":
        raise EngineError(
            "Flower's simulation engine runs on Linux and macOS only. On Windows, use WSL or --engine in-process."
        )
    port = free_port()
    environment = _environment(folder, port)
    check_cluster(environment.get("RAY_ADDRESS", ""))
    link_log = folder / "superlink.log"
    link_command = ["flower-superlink", "--insecure", "--simulation", "--isolation", "process"]
    link_command += ["--host", "127.0.0.1", "--port", str(port)]
    exec_command = ["flower-superexec", "--insecure", "--runtime-api-address", f"127.0.0.1:{port}"]
    exec_command += ["--parent-pid", str(os.getpid())]
    # The simulation's workers import from their working directory first: it must be the app's.
    app = folder / "app"
    with (
        exit_on_signals(),
        started_process(link_command, app, environment, link_log) as superlink,
        started_process(exec_command, app, environment, folder / "superexec.log"),
    ):
        _wait_until_listening(superlink, port, link_log)
        log = _submit(app, sites, environment, show, last)
        if last and log and log[-1].endswith(last):
            return
        status, details = _outcome(app, environment)
    if status != "finished:completed":
        raise EngineError(_failure(status, details, log))


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed at the end, not below a long ``TMPDIR``: paths of Ray's sockets must be short."""
    parent = "/tmp" if Path("/tmp").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="pansvm-", dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise EngineError(
            f"The package '{name}' of flower-pansvm is missing. Install flower-pansvm again with pip."
        )
    return Path(spec.origin).parent


def _environment(folder: Path, port: int) -> dict[str, str]:
    """Make a home for Flower that connects to our own SuperLink, and return the processes' environment."""
    home = folder / "home"
    home.mkdir()
    connection = {"address": f"127.0.0.1:{port}", "insecure": True}
    text = tomli_w.dumps({"superlink": {"default": "own", "own": connection}})
    (home / "config.toml").write_text(text, encoding="utf-8")

    return flower_environment(home) | {
        "RAY_TMPDIR": str(folder),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray would start workers without Flower's environment, which nobody uses.
        "RAY_prestart_worker_first_driver": "0",
        "RAY_enable_worker_prestart": "0",
    }


def check_cluster(address: str) -> None:
    """Raise an EngineError if no Ray cluster listens at the address: Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=CLUSTER_SECONDS) as found:
                if os.environ.get("RAY_USE_TLS", "0") == "0":
                    found.sendall(HTTP2)
                    if found.recv(4)[3:] != HTTP2_SETTINGS:
                        raise ConnectionError("what listens there is no cluster")
        except OSError as error:
            raise EngineError(
                f"RAY_ADDRESS or --cluster names a Ray cluster at '{address}', which does not answer ({error}). Start "
                "it with 'ray start --head', correct the address, or unset it to run on this machine alone."
            ) from None


def _wait_until_listening(superlink: subprocess.Popen[str], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while superlink.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise EngineError(
        "Flower's SuperLink did not start. Check the installation with 'flower-superlink --version'. "
        f"The end of its log:\n{_tail(log.read_text(errors='replace').splitlines())}"
    )


def _submit(
    app: Path, sites: int, environment: Mapping[str, str], show: Callable[[str], None], last: str = ""
) -> list[str]:
    """Submit the app, show the ServerApp's log until the run ends or logs the last line, and return the log."""
    engine = f"num-supernodes={sites} client-resources-num-cpus=1"
    if environment.get("RAY_ADDRESS", "") in ("", "local"):
        # No more workers, each a Python process, than sites. An existing cluster refuses a number.
        engine += f" init-args-num-cpus={min(sites, cpu_count())}"
    command = ["flwr", "run", ".", "--stream", "--federation-config", engine]
    log: list[str] = []
    with started_process(command, app, environment) as run:
        assert run.stdout is not None
        in_app = False
        for line in run.stdout:
            log.append(_COLOUR.sub("", line).rstrip())
            if in_app and (logged := _LOGGED.match(log[-1])):
                show(logged[1])
                if logged[1] == last:
                    break
            in_app = in_app or log[-1].startswith(_LAST_LINE_BEFORE_THE_APP)
    return log


def _outcome(app: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """Ask the SuperLink for the status of its only run and its details."""
    command = ["flwr", "ls", "--format", "json"]
    listing = subprocess.run(
        command, cwd=app, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    try:
        run = json.loads(listing.stdout)["runs"][0]
        return run["status"], run["status-details"]
    except (ValueError, LookupError):
        return "not started", "Flower did not accept the app, or its record is missing"


def _failure(status: str, details: str, log: list[str]) -> str:
    reason = details.removeprefix("Simulation failed with exception: ")
    text = f"The run on Flower's simulation engine ended as '{status}': {reason}"
    if any(line.startswith("flower_pansvm.errors.") for line in log):
        # Errors of this project name their remedy.
        return text
    return f"{text}\nThe end of its log:\n{_tail(log)}"


def _tail(log: list[str]) -> str:
    return "\n".join(log[-TAIL_LINES:])

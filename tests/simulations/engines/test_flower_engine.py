"""Flower's simulation engine runs an app, reports how it ended, and leaves nothing behind."""

import io
import os
import re
import signal
import socket
import time
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import pytest
from flwr.cli.build import build_fab_from_disk

from flower_pansvm.errors import EngineError
from simulations.engines import flower_engine
from simulations.engines.flower_engine import build_app, run_app, run_on_flower, temporary_folder
from tests.flower_pansvm.study.test_processes import assert_ended

SERVER = """
import os
import time
from logging import INFO
from pathlib import Path

from flwr.app import Context, Message, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

app = ServerApp()

@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    pids = Path(config["pids"])
    for pid in (os.getpid(), os.getppid()):
        (pids / str(pid)).touch()
    log(INFO, "hello from the server")
    while len(nodes := list(grid.get_node_ids())) < 2:
        time.sleep(0.1)
    messages = [Message(RecordDict(), dst_node_id=node, message_type="query.hello") for node in nodes]
    replies = list(grid.send_and_receive(messages, timeout=60))
    log(INFO, "%d sites answered", sum(not reply.has_error() for reply in replies))
    if config["fail"]:
        raise ValueError("told to fail")
"""
CLIENT = """
import os
from pathlib import Path

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.query("hello")
def hello(message: Message, context: Context) -> Message:
    (Path(context.run_config["pids"]) / str(os.getpid())).touch()
    return Message(RecordDict(), reply_to=message)
"""


@pytest.fixture
def packages(tmp_path: Path) -> list[Path]:
    """Return the packages of a tiny app: the server asks both sites one question."""
    for name, code in {"strategies": SERVER, "simulations": CLIENT}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "app.py").write_text(code)
    return [tmp_path / "strategies", tmp_path / "simulations"]


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    """Return the folder in which every process of the tiny app leaves its number as a file name."""
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder


def assert_all_ended(pids: Path, at_least: int) -> None:
    """Assert that the processes of the tiny app are gone."""
    numbers = [int(file.name) for file in pids.iterdir()]
    assert len(numbers) >= at_least
    for number in numbers:
        assert_ended(number)


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")
def test_app_has_code_and_config(tmp_path: Path, packages: list[Path]) -> None:
    config: dict[str, str | int | float | bool] = {
        "C": 1.5,
        "sites": 3,
        "label": 'say "yes" \\ é',
        "probability": True,
    }
    build_app(tmp_path / "app", packages, config)
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == version("flower-pansvm")
    assert project["tool"]["flwr"]["app"]["config"] == config
    with zipfile.ZipFile(io.BytesIO(build_fab_from_disk(tmp_path / "app"))) as bundle:
        assert {"strategies/app.py", "simulations/app.py", "pyproject.toml"} <= set(bundle.namelist())


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower_engine, "PACKAGES", ("no_such_room",))
    with pytest.raises(EngineError, match=r"'no_such_room'.*pip"):
        run_on_flower({}, 2, print)


@pytest.mark.usefixtures("_interruptible")
def test_a_run_that_is_ended_during_its_report_leaves_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []
    monkeypatch.setattr(flower_engine.importlib.util, "find_spec", lambda _: flower_engine.__spec__)
    monkeypatch.setattr(flower_engine, "build_app", lambda app, *_: folders.append(app.parent))
    monkeypatch.setattr(flower_engine, "run_app", lambda *_: None)
    with pytest.raises(SystemExit):
        run_on_flower({}, 2, print, lambda: signal.raise_signal(signal.SIGTERM))
    assert len(folders) == 1
    assert not folders[0].exists()


def test_temporary_folder_goes_and_leaves_room_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("long" * 20)))
    with temporary_folder() as folder:
        assert len(str(folder)) < 40
        (folder / "file").touch()
    assert not folder.exists()


@pytest.mark.slow
def test_superlink_that_does_not_start_is_reported(
    packages: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flower_engine, "free_port", lambda: 99999)
    with temporary_folder() as folder:
        build_app(folder / "app", packages, {})
        with pytest.raises(EngineError, match="--port"):
            run_app(folder, 2, print)


def test_error_raised_on_purpose_comes_without_a_traceback() -> None:
    details = "Simulation failed with exception: Only 2 sites answered."
    log = [
        "Traceback (most recent call last):",
        "flower_pansvm.errors.FederationError: Only 2 sites answered.",
    ]
    text = flower_engine._failure("finished:failed", details, log)
    assert text.endswith("'finished:failed': Only 2 sites answered.")


@pytest.mark.parametrize(
    ("cluster", "starts"),
    [({}, True), ({"RAY_ADDRESS": "local"}, True), ({"RAY_ADDRESS": "10.0.0.9:6379"}, False)],
)
def test_a_cluster_that_runs_already_is_told_no_number_of_workers(
    cluster: dict[str, str], starts: bool, tmp_path: Path
) -> None:
    """Ray refuses one there: ``RAY_ADDRESS=HOST:PORT pansvm run`` after ``ray start --head``."""
    (tmp_path / "flwr").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "flwr").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **cluster}
    (command,) = flower_engine._submit(tmp_path, 3, environment, print)
    assert "num-supernodes=3" in command
    assert ("init-args-num-cpus" in command) is starts


def test_the_last_line_of_a_run_that_has_succeeded_ends_the_wait(tmp_path: Path) -> None:
    (tmp_path / "flwr").write_text(
        "#!/bin/sh\nfor line in 'Successfully installed app' 'INFO : begins' 'INFO : done in x' 'INFO : Ray ends'\n"
        'do echo "$line"; done\n'
    )
    (tmp_path / "flwr").chmod(0o755)
    shown: list[str] = []
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    log = flower_engine._submit(tmp_path, 3, environment, shown.append, "done in x")
    assert shown == ["begins", "done in x"]
    assert log[-1].endswith("done in x")


def test_a_cluster_that_does_not_run_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{flower_engine.free_port()}")
    with pytest.raises(EngineError, match=r"RAY_ADDRESS.*does not answer.*unset"):
        run_app(tmp_path, 2, print)


@pytest.mark.slow
def test_run_completes_and_shows_only_what_the_server_says(packages: list[Path], pids: Path) -> None:
    lines: list[str] = []
    with temporary_folder() as folder:
        build_app(folder / "app", packages, {"fail": False, "pids": str(pids)})
        run_app(folder, 2, lines.append)
    assert lines == ["hello from the server", "2 sites answered"]
    assert not folder.exists()
    assert_all_ended(pids, at_least=3)


@pytest.mark.slow
def test_failed_run_is_an_error_with_its_reason(packages: list[Path], pids: Path) -> None:
    with temporary_folder() as folder:
        build_app(folder / "app", packages, {"fail": True, "pids": str(pids)})
        with pytest.raises(EngineError) as caught:
            run_app(folder, 2, print)
    assert re.search(r"(?s)'finished:failed': told to fail.*ValueError: told to fail", str(caught.value))
    assert_all_ended(pids, at_least=3)


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Have both signals end a process, as on a terminal; a script's background ignores one, Ray handles the other."""
    wanted = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_interrupted_run_leaves_nothing(
    packages: list[Path], pids: Path, number: signal.Signals, error: type[BaseException]
) -> None:
    with temporary_folder() as folder:
        build_app(folder / "app", packages, {"fail": False, "pids": str(pids)})
        with pytest.raises(error):
            run_app(folder, 2, lambda _: signal.raise_signal(number))
    assert not folder.exists()
    assert_all_ended(pids, at_least=2)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request"])
def test_a_port_of_something_else_is_no_cluster(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower_engine, "CLUSTER_SECONDS", 0.3)

    def reply() -> None:
        with server.accept()[0] as connection:
            connection.sendall(answer)
            connection.recv(100)
            time.sleep(0.5)

    with socket.create_server(("127.0.0.1", 0)) as server:
        web = Thread(target=reply)
        web.start()
        with pytest.raises(EngineError, match="does not answer"):
            flower_engine.check_cluster(f"127.0.0.1:{server.getsockname()[1]}")
        web.join()

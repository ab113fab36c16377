"""No other account of a machine is the coordinator, or has a hospital's SuperNode do anything."""

import asyncio
import os
import pwd
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.study.processes import free_port
from simulations.study_processes import RunningStudy, processes_about
from strategies.deployment import accounts
from strategies.deployment.accounts import CONNECTIONS, OwnAccountOnly, check_alone, others_with_login, owner
from tests.deployment.test_faults import LOCAL_ONLY

told_whose = pytest.mark.skipif(
    not CONNECTIONS.exists(), reason="this system does not tell whose a connection is"
)
OTHER = 65534


def account(name: str, uid: int, shell: str) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", "/", shell))


OWN = account("pansvm", 900, "/bin/bash")
CLOSED = [
    account("root", 0, "/bin/bash"),
    OWN,
    account("daemon", 1, "/usr/sbin/nologin"),
    account("sync", 4, "/bin/sync"),
    account("ftp", 5, "/bin/false"),
]


def test_accounts_that_cannot_log_in_do_not_count() -> None:
    assert others_with_login(CLOSED, OWN.pw_uid) == []


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/zsh", "/bin/sh", ""])
def test_another_login_account_is_named_and_a_word_accepts_it(
    shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty shell is the system's default one."""
    monkeypatch.setattr(accounts.pwd, "getpwall", lambda: [*CLOSED, account("guest", 1000, shell)])
    monkeypatch.setattr(accounts.os, "getuid", lambda: OWN.pw_uid)
    monkeypatch.setattr(accounts, "CONNECTIONS", Path("/none"))
    with pytest.raises(SettingError, match="guest"):
        check_alone(shared_machine=False)
    check_alone(shared_machine=True)
    monkeypatch.setattr(accounts, "CONNECTIONS", Path("/"))  # where the SuperLink refuses the guest
    check_alone(shared_machine=False)


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a connection of this machine: a client's, a server's."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
        listening.accept()[0] as server,
    ):
        yield client, server


@told_whose
def test_whose_a_connection_is(connection: tuple[socket.socket, socket.socket]) -> None:
    client, server = (one.getsockname() for one in connection)
    assert owner(client, server) == os.getuid()
    assert owner(client, (server[0], 1)) is None


@told_whose
def test_nobody_has_a_connection_that_its_client_has_closed(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    """The system says user number 0 of it, which is a number like all others."""
    client, server = (one.getsockname() for one in connection)
    connection[0].close()
    assert owner(client, server) is None


def status_of(scope: dict[str, Any], owner_now: int | None, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Return HTTP's code of an app's answer to a connection of an account; None if there is none."""
    codes: list[int] = []

    async def app(_scope: Any, _receive: Any, send: Callable[[Any], Any]) -> None:
        await send({"status": 200})

    async def send(message: Any) -> None:
        codes.extend([message["status"]] if "status" in message else [])

    monkeypatch.setattr(accounts, "owner", lambda *_: owner_now)
    whole = {"type": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), **scope}
    asyncio.run(OwnAccountOnly(app)(whole, None, send))  # type: ignore[arg-type]
    return codes[0] if codes else None


@pytest.mark.parametrize("path", ["/v1/control/start-run", "/v1/fleet", "/x/v1/fleet/", "/docs"])
def test_other_accounts_get_what_is_for_hospitals_only(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in (os.getuid() + 1, None):
        assert status_of({"path": path}, other, monkeypatch) == 403
        assert status_of({"path": "/v1/fleet/pull-messages"}, other, monkeypatch) == 200
    assert status_of({"path": path}, os.getuid(), monkeypatch) == 200
    assert status_of({"path": path, "type": "websocket"}, os.getuid(), monkeypatch) is None
    assert status_of({"type": "lifespan"}, None, monkeypatch) == 200


SERVER = """
import sys, uvicorn
from strategies.deployment.flower_program import close_to_others
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
close_to_others()
uvicorn.run(app=app, host="127.0.0.1", port=int(sys.argv[1]), lifespan="off")
"""
CLIENT = """
import http.client, ssl, sys
tls = ssl._create_unverified_context()
for path in sys.argv[3:]:
    made = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=tls)
    if sys.argv[2] == "plain":
        made = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    made.request("POST", path, headers={"X-Forwarded-For": "127.0.0.1", "Content-Type": "application/protobuf"})
    print(made.getresponse().status)
"""
INTERPRETER = "/usr/bin/python3"


def codes(port: int, kind: str, *paths: str, other: bool) -> list[int]:
    """Return HTTP's codes of answers to this account, or to another."""
    account: dict[str, Any] = {"user": OTHER, "group": OTHER, "extra_groups": []} if other else {}
    command = [
        INTERPRETER if other else sys.executable,
        "-c",
        textwrap.dedent(CLIENT),
        str(port),
        kind,
        *paths,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", env={}, **account)
    return [int(code) for code in done.stdout.split()]


can_be_another = pytest.mark.skipif(
    os.getuid() != 0 or not Path(INTERPRETER).exists() or not CONNECTIONS.exists(),
    reason="only root can be another account, for which the system's Python runs",
)


@pytest.fixture
def closed_server() -> Iterator[int]:
    """Run a server that is closed to other accounts, and return its port."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        yield port
        process.kill()


@told_whose
def test_ones_own_account_is_let_in(closed_server: int) -> None:
    assert codes(closed_server, "plain", "/v1/control/list-runs", other=False) == [204]


@can_be_another
def test_another_account_is_not_let_in(closed_server: int) -> None:
    paths = ("/v1/control/list-runs", "/v1/fleet/pull-messages")
    assert codes(closed_server, "plain", *paths, other=True) == [403, 204]


@can_be_another
@pytest.mark.slow(minutes=2)
def test_another_account_gets_nothing_of_a_study(tmp_path: Path) -> None:
    """No run, key, list or task at the coordinator; hospitals have no port at all."""
    control = ("start-run", "register-node", "list-nodes", "list-runs", "stream-logs", "stop-run")
    paths = [*(f"/v1/control/{name}" for name in control), "/v1/runtime/acquire-task", "/openapi.json"]
    with RunningStudy(tmp_path, LOCAL_ONLY, hospitals=3) as study:
        port = study.coordinator.port
        assert set(codes(port, "tls", *paths, other=True)) == {403}
        assert codes(port, "tls", "/v1/fleet/pull-messages", other=True) == [401]  # it is not signed
        assert codes(port, "tls", "/v1/control/list-runs", other=False) == [200]
        listening = {line.split()[9] for line in CONNECTIONS.read_text().splitlines() if " 0A " in line}
        for name in study.names:
            (node,) = processes_about(tmp_path / name, "clients.node.node")
            held = {os.readlink(one) for one in Path(f"/proc/{node}/fd").iterdir()}
            assert not held & {f"socket:[{number}]" for number in listening}
        with study.training(tmp_path / "results") as training:
            assert training.end() == 0, training.log

"""Keeps the coordinator's SuperLink and SuperExec running in the foreground, and lets the invited hospitals in.

The SuperExec starts the processes of trainings. Flower's SuperLink would start one itself, which takes tasks from, and
gives them to, any account of this machine; and where that one has ended, a training waits for ever.
"""

import contextlib
import os
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Callable

from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, write
from flower_pansvm.study.connection import NotThereError, check_server
from flower_pansvm.study.folder import read_private
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.processes import (
    LOOK_SECONDS,
    exit_on_signals,
    flower_environment,
    follow,
    keep_running,
    started_process,
)
from strategies.deployment.coordinator import FLOWER_FOLDER, OWN, Coordinator
from strategies.deployment.superlink import CONNECTION, DATABASE, command_line, flwr, registered

START_SECONDS = 120.0
SECRET_FILE = "superexec.secret"
PROGRAM = [sys.executable, "-P", "-m", "strategies.deployment.flower_program"]


def run_superlink(coordinator: Coordinator, show: Callable[[str], None]) -> None:
    """Run SuperLink and SuperExec until this process is told to end; SettingError if the SuperLink does not start.

    The hospitals of the latest invitation are let in, and those that are in no longer are not. One that ends later is
    started again, and a training goes on with the SuperLink; it fails with the SuperExec.
    """
    invitation = coordinator.invitation()
    folder = coordinator.folder
    for name in ("server.key", "ca.key"):
        read_private(folder / name, OWN)
    _check_port_free(f"localhost:{coordinator.port}", invitation)
    forget_who_is_back(coordinator, invitation)
    secret = folder / FLOWER_FOLDER / SECRET_FILE
    secret.unlink(missing_ok=True)
    write(secret, secrets.token_bytes(32), mode=PRIVATE)
    link = ["--host", "127.0.0.1", "--port", str(coordinator.port)]
    link += ["--ssl-ca-certfile", str(folder / "ca.crt"), "--ssl-certfile", str(folder / "server.pem")]
    link += ["--ssl-keyfile", str(folder / "server.key"), "--enable-supernode-auth"]
    link += [
        "--database",
        str(folder / FLOWER_FOLDER / DATABASE),
        "--disable-runtime-dependency-installation",
    ]
    link += ["--isolation", "process", "--superexec-auth-secret-file", str(secret)]
    executor = ["--runtime-api-address", f"127.0.0.1:{coordinator.port}"]
    executor += ["--root-certificates", str(folder / "ca.crt"), "--superexec-auth-secret-file", str(secret)]
    environment, over = flower_environment(folder / FLOWER_FOLDER), threading.Event()
    failed: list[Exception] = []

    def run(program: str, arguments: list[str]) -> int:
        with started_process(
            [*PROGRAM, str(os.getpid()), program, *arguments], folder, environment
        ) as process:
            return follow(process, show, over)

    def let_in() -> None:
        try:
            _wait_until_listening(coordinator, invitation, over)
            register_hospitals(coordinator, invitation)
            names = ", ".join(invitation.roster)
            show(f"The server is ready for {names}. Invitation {invitation.number}, code: {invitation.code}")
            show(f"When they are connected: {command_line(coordinator, 'train')} --out results")
            keep_running("The SuperExec", lambda: run("flower-superexec", executor), show, over)
        except Exception as error:  # such as of a disk: without this half no training begins
            failed.append(error)
        finally:
            over.set()

    second = threading.Thread(target=let_in)
    with exit_on_signals():
        try:
            second.start()
            keep_running("The SuperLink", lambda: run("flower-superlink", link), show, over)
        finally:
            over.set()
            second.join()
    if failed:
        raise failed[0]


def forget_who_is_back(coordinator: Coordinator, invitation: Invitation) -> None:
    """Let the SuperLink begin anew if a hospital is back that was taken out: it takes no key a second time."""
    wanted, taken_out = {site.supernode_key for site in invitation.hospitals}, set[str]()
    with contextlib.suppress(sqlite3.Error):  # one that is not complete the SuperLink completes
        taken_out |= registered(coordinator, taken_out=True).keys()
    if wanted & taken_out:
        for file in (coordinator.folder / FLOWER_FOLDER).glob(f"{DATABASE}*"):
            file.unlink()


def register_hospitals(coordinator: Coordinator, invitation: Invitation) -> None:
    """Tell the SuperLink the keys of the invited hospitals, and take out those of others that it was told before."""
    known = registered(coordinator)
    wanted = {site.supernode_key: site.name for site in invitation.hospitals}
    for key in known.keys() - wanted.keys():
        flwr(coordinator, "supernode", "unregister", known[key], CONNECTION, "--format", "json")
    for key, name in wanted.items():
        if key not in known:
            file = coordinator.folder / FLOWER_FOLDER / "supernode.pub"
            file.write_text(f"{key}\n", encoding="utf-8")
            flwr(
                *(coordinator, "supernode", "register", str(file), CONNECTION),
                *("--name", name, "--format", "json"),
            )


def _check_port_free(address: str, invitation: Invitation) -> None:
    for _ in range(4):
        try:
            check_server(address, invitation.authority, seconds=1)
        except NotThereError:
            return
        except SettingError:
            break
        time.sleep(LOOK_SECONDS)  # one that has lost its `start` ends within that time
    raise SettingError(
        f"Something listens at {address} already: is `pansvm coordinator start` running in another window? Otherwise "
        "another program has this port: make the coordinator's folder with another --port."
    )


def _wait_until_listening(coordinator: Coordinator, invitation: Invitation, over: threading.Event) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not over.is_set() and time.monotonic() < deadline:
        try:
            check_server(f"localhost:{coordinator.port}", invitation.authority, seconds=1)
        except NotThereError:
            time.sleep(0.1)
        else:
            return
    raise SettingError("The SuperLink does not listen. Its lines above say why.")

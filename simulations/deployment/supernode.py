"""Runs a hospital's SuperNode and executor in the foreground, their log in plain lines, and says why they ended."""

import contextlib
import fcntl
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from flower_pansvm.errors import SettingError
from simulations.deployment.certificates import make_certificates
from simulations.deployment.connection import proxy_variables
from simulations.deployment.files import PRIVATE, write_new
from simulations.deployment.hospital import AUTHORITY_FILE, FLOWER_FOLDER, KEY_FILE
from simulations.deployment.invitation import Invitation
from simulations.deployment.log_lines import plain_lines
from simulations.deployment.node_config import NODE_FILE
from simulations.engines.processes import exit_on_signals, flower_environment, free_port, started_process

NOT_LET_IN = "Exit Code: 305"
"""In Flower's log if the SuperLink does not let a SuperNode in; its process ends with 1 whatever the cause."""

STRAY = "status. Ignoring message"
"""In Flower's log if a run, or its server, was stopped while its SuperNode fetched a question. An executor may have the
task: it waits for a content that never comes, or its reply, which nobody fetches, is sent in place of the next one. The
hospital would be left out of all that follows, so its SuperNode starts anew."""

END_SECONDS = 5.0
LOOK_SECONDS, AFTER_A_FAULT_SECONDS = 0.1, 2.0
"""Pauses: to see whether an executor has ended, and before the next one if it has ended with an error."""

RUNNING_FILE = "supernode.running"
FORGOTTEN_SECONDS, AGAIN_SECONDS = 90.0, 20.0
"""How long a SuperLink takes a SuperNode for connected that was killed (two heartbeats of 30 s, and something for a
slow machine), and the pause between two attempts to get in: it lets a key in once."""


def run_supernode(folder: Path, invitation: Invitation, show: Callable[[str], None]) -> None:
    """Run the SuperNode of a hospital until this process is told to end; SettingError if it ends by itself."""
    port, own = str(free_port()), folder / FLOWER_FOLDER / "executor"
    command = ["flower-supernode", "--superlink", invitation.address, "--host", "127.0.0.1", "--port", port]
    command += ["--root-certificates", str(folder / AUTHORITY_FILE)]
    command += ["--auth-supernode-private-key", str(folder / KEY_FILE)]
    command += ["--node-config", str(folder / NODE_FILE)]
    command += ["--isolation", "process", "--superexec-auth-secret-file", str(own / "secret")]
    command += ["--ssl-ca-certfile", str(own / "ca.crt")]
    command += ["--ssl-certfile", str(own / "server.pem"), "--ssl-keyfile", str(own / "server.key")]
    executor = [sys.executable, "-P", "-m", "clients.executor", f"127.0.0.1:{port}"]
    executor += ["--secret", str(own / "secret"), "--authority", str(own / "ca.crt")]
    with exit_on_signals(), running_alone(folder) as was_cut_off:
        _write_secrets(own)
        deadline = time.monotonic() + (FORGOTTEN_SECONDS if was_cut_off else 0)
        while True:
            code, let_in, stray = _run(command, executor, folder, invitation, show)
            if stray:
                deadline = time.monotonic() + FORGOTTEN_SECONDS
                show("A run was stopped while this hospital fetched its question. The SuperNode starts anew")
            elif not let_in and time.monotonic() < deadline:
                show(
                    "This SuperNode, or the machine, was ended by force before, and the coordinator's server takes it "
                    f"for connected for a minute more. The next attempt is in {AGAIN_SECONDS:g} s"
                )
                time.sleep(AGAIN_SECONDS)
            else:
                break
    if let_in and code == 0:
        raise SettingError(
            "The SuperNode ended in order: somebody has ended it on this machine, or the coordinator's server was "
            "started again and knows this hospital's key no longer. If it is not let in when it is started again, ask "
            "the coordinator whether this hospital is in the latest invitation."
        )
    if let_in:
        raise SettingError(
            f"The SuperNode ended by itself, with exit code {code}. The lines above say why. If it was connected, "
            "starting it again is all that is needed."
        )
    raise SettingError(
        f"The coordinator at {invitation.address} does not let this SuperNode in: its server does not know this "
        "hospital's key, or a SuperNode with this key is connected already, from a copy of this folder or left by a "
        "start that was killed (`pgrep -a flower-supernode`). The connection itself is in order. If there is none, ask "
        f"the coordinator whether its server was started with invitation {invitation.number} or a later one, and "
        "whether this hospital is in that."
    )


@contextlib.contextmanager
def running_alone(folder: Path) -> Iterator[bool]:
    """Keep a second SuperNode from starting in a hospital's folder, and tell whether the last was ended by force.

    SettingError if one runs.
    """
    with (folder / RUNNING_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingError(
                f"The SuperNode of {folder} runs already, in another window or as a service of the system. One is "
                "enough; to start it anew, end that one first."
            ) from None
        file.seek(0)
        yield bool(file.read())


def _write_secrets(folder: Path) -> None:
    """Write what SuperNode and executor know each other by, new at each start; other accounts cannot read it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    write_new(folder / "secret", secrets.token_bytes(32), PRIVATE)
    for name, content in make_certificates("localhost").items():
        if name != "ca.key":  # nothing else is to be signed with it
            write_new(folder / name, content, PRIVATE)


class _Ended(NamedTuple):
    """How a SuperNode has ended: its exit code, whether it had been let in, and whether a question went astray."""

    code: int
    let_in: bool
    stray: bool


def _run(
    command: list[str], executor: list[str], folder: Path, invitation: Invitation, show: Callable[[str], None]
) -> _Ended:
    """Run SuperNode and executors until the SuperNode ends, or a question has gone astray."""
    lines: list[str] = []

    def show_and_keep(line: str) -> None:
        lines.append(line)
        show(line)
        if STRAY in line:
            end(node)

    running = folder / RUNNING_FILE
    running.write_text("It runs, or was ended by force.\n")
    environment = flower_environment(folder / FLOWER_FOLDER)
    # A web proxy of the hospital's is used for the connection to the coordinator and for nothing else.
    with started_process(command, folder, environment | proxy_variables(invitation.address)) as node:
        over = threading.Event()
        executing = threading.Thread(
            target=_execute, args=(executor, folder, environment, over, show), daemon=True
        )
        executing.start()
        try:
            code = follow(node, show_and_keep)
        finally:
            over.set()
            executing.join(END_SECONDS)
            end(node)
            if node.returncode is not None and node.returncode >= 0:
                running.write_text("")
    log = "\n".join(lines)
    return _Ended(code, NOT_LET_IN not in log, STRAY in log)


def _execute(
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    over: threading.Event,
    show: Callable[[str], None],
) -> None:
    """Run one executor after the other, each for one message, until all is over."""
    while not over.is_set():
        with started_process(command, folder, environment) as executor:
            reader = threading.Thread(target=_show_log, args=(executor, show), daemon=True)
            reader.start()
            while executor.poll() is None and not over.wait(LOOK_SECONDS):
                pass
            end(executor)
            reader.join(END_SECONDS)
        if executor.returncode > 0:
            over.wait(AFTER_A_FAULT_SECONDS)


def follow(process: "subprocess.Popen[str]", show: Callable[[str], object]) -> int:
    """Show the log of one of Flower's programs until that ends, and return its exit code.

    Not until the log ends: a SuperLink leaves a SuperExec behind, which holds the log open.
    """
    reader = threading.Thread(target=_show_log, args=(process, show), daemon=True)
    reader.start()
    code = process.wait()
    reader.join(END_SECONDS)
    return code


def _show_log(process: "subprocess.Popen[str]", show: Callable[[str], object]) -> None:
    assert process.stdout is not None
    for line in plain_lines(process.stdout):
        show(line)


def end(process: "subprocess.Popen[str]") -> None:
    """Ask a process to end, and wait a little: a SuperNode then tells the SuperLink that it goes."""
    if process.poll() is None:
        process.terminate()
        # Whoever has started it kills it then, with all that it has started.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)

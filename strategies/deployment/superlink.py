"""Starts a training at the coordinator's SuperLink, and follows it to its end."""

import contextlib
import json
import re
import secrets
import shlex
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

import strategies
from flower_pansvm.bundle import PACKAGES, files_in, hash_of
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.files import write
from flower_pansvm.result_file import RESULT_FILE
from flower_pansvm.study.connection import NotThereError, check_server
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.log_lines import plain_lines
from flower_pansvm.study.processes import exit_on_signals, flower_environment, started_process
from flower_pansvm.terms import Scalar
from strategies.deployment.coordinator import FLOWER_FOLDER, Coordinator
from strategies.federation.checkpoint import sums_in

CONNECTION = "study"
DATABASE = "state.db"
"""The SuperLink's, in Flower's folder."""

LOST_SECONDS, SILENT_SECONDS, ANSWER_SECONDS = 120.0, 60.0, 60.0
"""How long a server may be away that is started again; how long nothing may be heard of a run until the coordinator is
told; and how long a command of Flower's may take."""

FLOWERS_WORDS = "ServerApp failed with exception: "
NO_HEARTBEAT = "No heartbeat received"
LOST, SERVER_ERROR = "lost", "Server error '5"
UNFINISHED, UNFINISHED_SECONDS = ("pending", "starting", "running"), 15.0
_RUN = re.compile(r"Successfully started run (\d+)")
_CONNECTED = re.compile(r"(\d+ of \d+ sites are connected)(?: \(([^)]*)\))?")
_NODE = re.compile(r"\b[Nn]ode (\d+)\b")


class RunFailedError(PanSVMError):
    """A training ended without a model."""


def train(coordinator: Coordinator, out: Path, show: Callable[[str], None], *, resume: bool = False) -> Path:
    """Start the training that the hospitals have agreed to, show its log, and return the folder of its results.

    The SuperLink runs. SettingError if the training cannot be started; RunFailedError, with the text of the
    ServerApp, if it ends without results.
    """
    invitation = coordinator.invitation()
    names = _names_of_nodes(coordinator, invitation)
    app = checkout()
    _check_ready(coordinator, invitation, app)
    file = _write_run_config(coordinator, {**invitation.settings, "out": str(out), "resume": resume})
    command = ["flwr", "run", str(app), CONNECTION, "--stream", "--run-config", str(file)]
    run, environment = Future[str](), flower_environment(coordinator.folder / FLOWER_FOLDER)
    try:
        with (
            exit_on_signals(),
            started_process(command, coordinator.folder, environment) as process,
            _waits_for(run, show),
        ):
            assert process.stdout is not None
            begun, silent = False, 0.0
            for line in or_silence(_noting_run(plain_lines(process.stdout), run), SILENT_SECONDS):
                if line is None:
                    silent += SILENT_SECONDS
                    show(_why_silent(coordinator, invitation, begun, silent))
                    continue
                silent, begun = 0.0, run.done() and not _RUN.search(line)
                show(with_names(line, names))
            status, details = _end_of_run(coordinator, run.result(), show)
    except (KeyboardInterrupt, SystemExit):
        show(f"{_stop(coordinator, run)} {_how_to_go_on(coordinator, out)}")
        raise
    finally:
        file.unlink()
    if status != "finished:completed" or not (out / RESULT_FILE).is_file():
        reason = reason_of(with_names(details.strip(), names))
        raise RunFailedError(f"The training ended as '{status}'. {reason}\n{_how_to_go_on(coordinator, out)}")
    return out


def _noting_run(lines: Iterable[str], run: "Future[str]") -> Iterator[str]:
    """Yield the lines of `flwr run`, and set the number of the run that the server has taken; "" if it takes none."""
    try:
        for line in lines:
            if (match := _RUN.search(line)) and not run.done():
                run.set_result(match[1])
            yield line
    finally:
        if not run.done():
            run.set_result("")


@contextlib.contextmanager
def _waits_for(run: "Future[str]", show: Callable[[str], None]) -> Iterator[None]:
    """Let a `with` block that somebody stops go on until `flwr run` has told the number of its run.

    The server may just have taken the run. It would go on, and the hospitals with answering, if nobody knew which.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        show("Stopping the run")
        with contextlib.suppress(TimeoutError):
            run.result(ANSWER_SECONDS)
        raise


def _stop(coordinator: Coordinator, run: "Future[str]") -> str:
    """Stop a run at the server, and say whether that is done."""
    if not run.done():
        command = f"FLWR_HOME={shlex.quote(str(coordinator.folder / FLOWER_FOLDER))} flwr ls {CONNECTION}"
        return f"The server may have taken the run: {command} shows it; flwr stop ends it."
    try:
        if run.result():
            flwr(coordinator, "stop", run.result(), CONNECTION, "--format", "json")
    except SettingError as error:
        return f"The run {run.result()} may go on. {error}"
    return "Stopped."


def or_silence(lines: Iterable[str], seconds: float) -> Iterator[str | None]:
    """Yield lines as they come, and None whenever none has come for so many seconds."""
    queue: SimpleQueue[tuple[str, ...]] = SimpleQueue()

    def read() -> None:
        with contextlib.suppress(ValueError):  # of a log that is closed meanwhile
            for line in lines:
                queue.put((line,))
        queue.put(())

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = queue.get(timeout=seconds)
        except Empty:
            yield None
            continue
        if not line:
            return
        yield line[0]


def _why_silent(coordinator: Coordinator, invitation: Invitation, begun: bool, seconds: float) -> str:
    """Say the state of a training that has been silent for so many seconds."""
    try:
        check_server(f"localhost:{coordinator.port}", invitation.authority)
    except SettingError:
        return (
            f"Nothing was heard of the training for {seconds:g} s, and the server does not answer: it has ended, or "
            "stands still. The window of `pansvm coordinator start` says whether it is started again. Waiting for it."
        )
    if begun:
        return (
            f"Nothing was heard of the training for {seconds:g} s; the server answers. The coordinator computes, or "
            "the training's process stands still: Ctrl-C stops the run."
        )
    return (
        f"The training has not begun after {seconds:g} s. The window of `pansvm coordinator start` says why: it "
        "starts the training's process, and starts again what has ended there."
    )


def _check_ready(coordinator: Coordinator, invitation: Invitation, app: Path) -> None:
    """Check that the server runs and that the app is what the hospitals have accepted; else SettingError."""
    try:
        check_server(f"localhost:{coordinator.port}", invitation.authority)
    except NotThereError:
        raise SettingError(
            f"The server does not run: nobody answers on port {coordinator.port} of this machine. Start it in another "
            f"window: {command_line(coordinator, 'start')}"
        ) from None
    if not (app / "pyproject.toml").is_file():
        raise SettingError(
            f"{app} is no checkout of flower-pansvm: Flower takes the app from there. In a checkout: pip install -e "
            "'.[report]'"
        )
    software = hash_of(files_in({name: app / name for name in PACKAGES}))
    if software != invitation.software["hash"]:
        raise SettingError(
            f"The hospitals have accepted flower-pansvm {invitation.software['version']} with the hash\n"
            f"{invitation.software['hash']}, and {app} has the hash\n{software}. They would refuse the run. Check "
            "that version out; or invite them anew, and they install the other one: "
            f"{command_line(coordinator, 'invite')} --renew"
        )


def _write_run_config(coordinator: Coordinator, config: Mapping[str, Scalar]) -> Path:
    """Write a run config into a file of its own: another training may be started before Flower has read it."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in config.items()]
    file = coordinator.folder / FLOWER_FOLDER / f"run-{secrets.token_hex(4)}.toml"
    write(file, "\n".join(lines) + "\n")
    return file


def reason_of(details: str) -> str:
    r"""Return why a run failed; of an error at the SuperLink the ServerApp knows a number and no more.

    Examples
    --------
    >>> reason_of("Server error '500 Internal Server Error' for url 'x'\nFor more information check: y")[:75]
    "Server error '500 Internal Server Error' for url 'x': the server could not "
    """
    if details.startswith(NO_HEARTBEAT):
        return (
            "The training's process did not say for a minute that it lives: it was ended by force, or the server or "
            "this machine stood still. The window of `pansvm coordinator start` may say why."
        )
    if not details.startswith(SERVER_ERROR):
        return details
    return (
        f"{details.splitlines()[0]}: the server could not do its own part. The window of `pansvm coordinator start` "
        "says why, for instance that its disk is full."
    )


def _how_to_go_on(coordinator: Coordinator, out: Path) -> str:
    """Say what can be done after a training that was stopped: a ServerApp removes what another run cannot use."""
    if sums := sums_in(out):
        again = command_line(coordinator, "train") + f" --resume --out {shlex.quote(str(out))}"
        return f"What has been computed is kept ({sums} sums); go on with: {again}"
    return "Nothing has been computed that a later run could use."


def command_line(coordinator: Coordinator, name: str) -> str:
    """Return one of the coordinator's commands, as it is to be typed."""
    return f"pansvm coordinator {name} --folder {shlex.quote(str(coordinator.folder))}"


def checkout() -> Path:
    """Return the folder that this installation runs from, which is a checkout if it was installed with ``pip -e``."""
    return Path(strategies.__file__).parents[1]


def registered(coordinator: Coordinator, taken_out: bool = False) -> dict[str, str]:
    """Return the number of each node that the SuperLink lets in, or has taken out, by its key.

    Its database says it, and no list of ours: it takes no key twice, and this command may be ended, or the disk be
    full, just when it has taken one.
    """
    path = coordinator.folder / FLOWER_FOLDER / DATABASE
    if not path.exists():
        return {}
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT public_key, node_id, status FROM node").fetchall()
    return {
        _as_registered(key): str(node % 2**64)
        for key, node, status in rows
        if (status == "unregistered") == taken_out
    }


def _as_registered(key: bytes) -> str:
    """Return a key of Flower's database as a hospital's registration has it."""
    public = load_pem_public_key(key).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return public.decode()


def _names_of_nodes(coordinator: Coordinator, invitation: Invitation) -> dict[str, str]:
    """Return the hospital of each node that the SuperLink was told of: before it joins it has no other name."""
    nodes = registered(coordinator)
    return {nodes[h.supernode_key]: h.name for h in invitation.hospitals if h.supernode_key in nodes}


def with_names(line: str, names: Mapping[str, str]) -> str:
    """Return a line with the names of hospitals in place of the numbers of their nodes, and of who is not connected.

    Examples
    --------
    >>> with_names("waiting for node 17, node 18 since 15 s", {"18": "west"})
    'waiting for node 17, west since 15 s'
    >>> with_names("1 of 3 sites are connected (node 18) after 15 s", {"17": "south", "18": "west", "9": "north"})
    '1 of 3 sites are connected (missing: north, south) after 15 s'
    """
    if names and (match := _CONNECTED.search(line)):
        there = set(_NODE.findall(match[2] or ""))
        missing = ", ".join(sorted(name for node, name in names.items() if node not in there))
        line = line.replace(match[0], f"{match[1]} (missing: {missing})")
    return _NODE.sub(lambda node: names.get(node[1], node[0]), line)


def flwr(coordinator: Coordinator, *arguments: str) -> dict[str, Any]:
    """Run a command of Flower's and return its JSON; SettingError if it fails, or gets no answer."""
    env, seconds = flower_environment(coordinator.folder / FLOWER_FOLDER), ANSWER_SECONDS
    command = ["flwr", *arguments]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, encoding="utf-8", check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise SettingError(
            f"`flwr {' '.join(arguments[:2])}` got no answer for {seconds:g} s: the server stands still. "
            "The window of `pansvm coordinator start` may say why."
        ) from None
    match = re.search(r"\{.*\}", done.stdout, flags=re.DOTALL)
    answer: dict[str, Any] = json.loads(match[0]) if match else {}
    if done.returncode != 0 or not answer.get("success", True):
        reason = str(answer.get("error-message") or done.stderr or done.stdout).strip()
        raise SettingError(f"`flwr {' '.join(arguments[:2])}` did not work: {reason}")
    return answer


def _end_of_run(coordinator: Coordinator, run: str, show: Callable[[str], None]) -> tuple[str, str]:
    """Return the final status of a run, and its reason; the stream of its log may have broken off before.

    `flwr run` ends with exit code 0 even when the run failed.
    """
    answered = time.monotonic()
    while True:
        status, details = _status(coordinator, run)
        if status == LOST and time.monotonic() - answered < LOST_SECONDS:
            show("The server does not answer. Waiting for it: its window says whether it is started again.")
        elif status in UNFINISHED:
            answered = time.monotonic()
            show("The run goes on, and its log is in the window of the server. Waiting for its end.")
        else:
            return status, details
        time.sleep(UNFINISHED_SECONDS)


def _status(coordinator: Coordinator, run: str) -> tuple[str, str]:
    try:
        runs = flwr(coordinator, "ls", CONNECTION, "--format", "json").get("runs", [])
    except SettingError:
        return (
            LOST,
            "The server does not answer any more; its own window says why. Start it again: "
            + command_line(coordinator, "start"),
        )
    for entry in runs:
        if str(entry["run-id"]) == run:
            return str(entry["status"]), str(entry["status-details"] or "").removeprefix(FLOWERS_WORDS)
    return "not started", "Flower did not take the app; the lines above say why."

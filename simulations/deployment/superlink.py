"""Runs the coordinator's SuperLink in the foreground, lets the invited hospitals in, and starts a training."""

import contextlib
import json
import re
import secrets
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import strategies
from flower_pansvm.bundle import PACKAGES, files_in, hash_of
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.terms import Scalar
from simulations.deployment.connection import NotThereError, check_server
from simulations.deployment.coordinator import FLOWER_FOLDER, OWN, Coordinator
from simulations.deployment.files import read_private, write_new
from simulations.deployment.invitation import Invitation
from simulations.deployment.log_lines import plain_lines
from simulations.deployment.supernode import end, follow
from simulations.engines.processes import exit_on_signals, flower_environment, started_process
from strategies.federation.checkpoint import sums_in
from strategies.results import RESULT_FILE

CONNECTION = "study"
REGISTERED_FILE = "registered.json"
START_SECONDS = 120.0
FLOWERS_WORDS = "ServerApp failed with exception: "
SERVER_ERROR = "Server error '5"
UNFINISHED, UNFINISHED_SECONDS = ("pending", "starting", "running"), 15.0
_RUN = re.compile(r"Successfully started run (\d+)")
_NODE = re.compile(r"\b[Nn]ode (\d+)\b")


class RunFailedError(PanSVMError):
    """A training ended without a model."""


def run_superlink(coordinator: Coordinator, show: Callable[[str], None]) -> None:
    """Run the SuperLink until it ends or this process is told to; SettingError if it ends by itself.

    The hospitals of the latest invitation are let in, and those that are in no longer are not.
    """
    invitation = coordinator.invitation()
    folder = coordinator.folder
    for name in ("server.key", "ca.key"):
        read_private(folder / name, OWN)
    address = f"localhost:{coordinator.port}"
    _check_port_free(address, invitation)
    command = ["flower-superlink", "--host", "127.0.0.1", "--port", str(coordinator.port)]
    command += ["--ssl-ca-certfile", str(folder / "ca.crt"), "--ssl-certfile", str(folder / "server.pem")]
    command += ["--ssl-keyfile", str(folder / "server.key"), "--enable-supernode-auth"]
    command += [
        "--database",
        str(folder / FLOWER_FOLDER / "state.db"),
        "--disable-runtime-dependency-installation",
    ]
    environment = flower_environment(folder / FLOWER_FOLDER)
    with exit_on_signals(), started_process(command, folder, environment) as link:
        letting_in = threading.Thread(target=_let_in, args=(coordinator, invitation, link, show), daemon=True)
        letting_in.start()
        try:
            code = follow(link, show)
        finally:
            end(link)
    raise SettingError(f"The SuperLink ended by itself, with exit code {code}. The lines above say why.")


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
    run, environment = "", flower_environment(coordinator.folder / FLOWER_FOLDER)
    try:
        with exit_on_signals():
            with started_process(command, coordinator.folder, environment) as process:
                assert process.stdout is not None
                for line in plain_lines(process.stdout):
                    found = _RUN.search(line)
                    run = found[1] if found else run
                    show(with_names(line, names))
            status, details = _end_of_run(coordinator, run, show)
    except (KeyboardInterrupt, SystemExit):
        # The SuperLink would go on with it, and the hospitals with answering.
        show("Stopping the run")
        with contextlib.suppress(SettingError):
            _flwr(coordinator, "stop", run, CONNECTION, "--format", "json")
        show(f"Stopped. {_how_to_go_on(coordinator, out)}")
        raise
    finally:
        file.unlink()
    if status != "finished:completed" or not (out / RESULT_FILE).is_file():
        reason = reason_of(with_names(details.strip(), names))
        raise RunFailedError(f"The training ended as '{status}'. {reason}\n{_how_to_go_on(coordinator, out)}")
    return out


def _check_ready(coordinator: Coordinator, invitation: Invitation, app: Path) -> None:
    """Check that the server runs and that the app is what the hospitals have accepted; else SettingError."""
    try:
        check_server(f"localhost:{coordinator.port}", invitation.authority)
    except NotThereError:
        raise SettingError(
            f"The server does not run: nobody answers on port {coordinator.port} of this machine. Start it in another "
            f"window: {_command(coordinator, 'start')}"
        ) from None
    if not (app / "pyproject.toml").is_file():
        raise SettingError(
            f"{app} is no checkout of flower-pansvm: Flower takes the app from there. In a checkout: pip install -e "
            "'.[coordinator,report]'"
        )
    software = hash_of(files_in({name: app / name for name in PACKAGES}))
    if software != invitation.software["hash"]:
        raise SettingError(
            f"The hospitals have accepted flower-pansvm {invitation.software['version']} with the hash\n"
            f"{invitation.software['hash']}, and {app} has the hash\n{software}. They would refuse the run. Check "
            "that version out; or invite them anew, and they install the other one: "
            f"{_command(coordinator, 'invite')} --renew"
        )


def _write_run_config(coordinator: Coordinator, config: Mapping[str, Scalar]) -> Path:
    """Write a run config into a file of its own: another training may be started before Flower has read it."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in config.items()]
    file = coordinator.folder / FLOWER_FOLDER / f"run-{secrets.token_hex(4)}.toml"
    write_new(file, "\n".join(lines) + "\n")
    return file


def reason_of(details: str) -> str:
    r"""Return why a run failed; of an error at the SuperLink the ServerApp knows a number and no more.

    Examples
    --------
    >>> reason_of("Server error '500 Internal Server Error' for url 'x'\nFor more information check: y")[:75]
    "Server error '500 Internal Server Error' for url 'x': the server could not "
    """
    if not details.startswith(SERVER_ERROR):
        return details
    return (
        f"{details.splitlines()[0]}: the server could not do its own part. The window of `pansvm coordinator start` "
        "says why, for instance that its disk is full."
    )


def _how_to_go_on(coordinator: Coordinator, out: Path) -> str:
    """Say what can be done after a training that was stopped: a ServerApp removes what another run cannot use."""
    if sums := sums_in(out):
        again = _command(coordinator, "train") + f" --resume --out {shlex.quote(str(out))}"
        return f"What has been computed is kept ({sums} sums); go on with: {again}"
    return "Nothing has been computed that a later run could use."


def _command(coordinator: Coordinator, name: str) -> str:
    return f"pansvm coordinator {name} --folder {shlex.quote(str(coordinator.folder))}"


def checkout() -> Path:
    """Return the folder that this installation runs from, which is a checkout if it was installed with ``pip -e``."""
    return Path(strategies.__file__).parents[1]


def _let_in(
    coordinator: Coordinator,
    invitation: Invitation,
    link: "subprocess.Popen[str]",
    show: Callable[[str], None],
) -> None:
    """Register the SuperNodes' keys as soon as the SuperLink listens; what goes wrong ends it."""
    try:
        _wait_until_listening(coordinator, invitation, link)
        register_hospitals(coordinator, invitation)
    except PanSVMError as error:
        show(f"Error: {error}")
        link.terminate()
        return
    names = ", ".join(invitation.roster)
    show(f"The server is ready for {names}. Invitation {invitation.number}, code: {invitation.code}")
    show(f"When they are connected: {_command(coordinator, 'train')} --out results")


def register_hospitals(coordinator: Coordinator, invitation: Invitation) -> None:
    """Tell the SuperLink the keys of the invited hospitals, and take out those of others that it was told before."""
    path = coordinator.folder / FLOWER_FOLDER / REGISTERED_FILE
    there = {
        node["node-id"]
        for node in _flwr(coordinator, "supernode", "list", CONNECTION, "--format", "json")["nodes"]
    }
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known = {key: node for key, node in before.items() if node in there}
    wanted = {one.supernode_key: one.name for one in invitation.hospitals}
    for key in known.keys() - wanted.keys():
        _flwr(coordinator, "supernode", "unregister", known.pop(key), CONNECTION, "--format", "json")
    for key, name in wanted.items():
        if key not in known:
            file = coordinator.folder / FLOWER_FOLDER / "supernode.pub"
            file.write_text(f"{key}\n", encoding="utf-8")
            arguments = ("supernode", "register", str(file), CONNECTION, "--name", name, "--format", "json")
            known[key] = str(_flwr(coordinator, *arguments)["node-id"])
    path.write_text(json.dumps(known, indent=2), encoding="utf-8")


def _names_of_nodes(coordinator: Coordinator, invitation: Invitation) -> dict[str, str]:
    """Return the hospital of each node that the SuperLink was told of: before it joins it has no other name."""
    path = coordinator.folder / FLOWER_FOLDER / REGISTERED_FILE
    nodes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {nodes[one.supernode_key]: one.name for one in invitation.hospitals if one.supernode_key in nodes}


def with_names(line: str, names: Mapping[str, str]) -> str:
    """Return a line with the names of hospitals in place of the numbers of their nodes.

    Examples
    --------
    >>> with_names("waiting for node 17, node 18 since 15 s", {"18": "west"})
    'waiting for node 17, west since 15 s'
    """
    return _NODE.sub(lambda node: names.get(node[1], node[0]), line)


def _flwr(coordinator: Coordinator, *arguments: str) -> dict[str, Any]:
    """Run a command of Flower's and return its JSON; SettingError if it fails."""
    environment = flower_environment(coordinator.folder / FLOWER_FOLDER)
    done = subprocess.run(["flwr", *arguments], env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"\{.*\}", done.stdout, flags=re.DOTALL)
    answer: dict[str, Any] = json.loads(found[0]) if found else {}
    if done.returncode != 0 or not answer.get("success", True):
        reason = str(answer.get("error-message") or done.stderr or done.stdout).strip()
        raise SettingError(f"`flwr {' '.join(arguments[:2])}` did not work: {reason}")
    return answer


def _end_of_run(coordinator: Coordinator, run: str, show: Callable[[str], None]) -> tuple[str, str]:
    """Return how a run has ended, and why; the stream of its log may have broken off before.

    `flwr run` ends with exit code 0 even when the run failed.
    """
    while (found := _status(coordinator, run))[0] in UNFINISHED:
        show("The run goes on, and its log is in the window of the server. Waiting for its end.")
        time.sleep(UNFINISHED_SECONDS)
    return found


def _status(coordinator: Coordinator, run: str) -> tuple[str, str]:
    try:
        runs = _flwr(coordinator, "ls", CONNECTION, "--format", "json").get("runs", [])
    except SettingError:
        return (
            "lost",
            "The server does not answer any more; its own window says why. Start it again: "
            + _command(coordinator, "start"),
        )
    for one in runs:
        if str(one["run-id"]) == run:
            return str(one["status"]), str(one["status-details"] or "").removeprefix(FLOWERS_WORDS)
    return "not started", "Flower did not take the app; the lines above say why."


def _check_port_free(address: str, invitation: Invitation) -> None:
    try:
        check_server(address, invitation.authority, seconds=1)
    except NotThereError:
        return
    except SettingError:
        pass
    raise SettingError(
        f"Something listens at {address} already: is `pansvm coordinator start` running in another window? Otherwise "
        "another program has this port: make the coordinator's folder with another --port."
    )


def _wait_until_listening(
    coordinator: Coordinator, invitation: Invitation, link: "subprocess.Popen[str]"
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while link.poll() is None and time.monotonic() < deadline:
        try:
            check_server(f"localhost:{coordinator.port}", invitation.authority, seconds=1)
        except NotThereError:
            time.sleep(0.1)
        else:
            return
    raise SettingError("The SuperLink does not listen. Its lines above say why.")

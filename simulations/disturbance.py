"""Makes a SuperLink misbehave, or moves the clock of hospitals: for tests and for the benchmark of faults.

A process with the environment variables of `variables_for` reads the current fault from a file: ``agent`` (a run is
one of Flower's agents), ``toml``, ``zip`` and ``bomb`` (its bundle is unreadable, or unpacks to 64 MB), ``full`` (the
server replies with HTTP 500, as with a full disk), ``lost`` (it is killed as it hands out a question, once), ``clock``
(a hospital's clock is an hour ahead). Any other text is no fault.
"""

import io
import os
import signal
import sys
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

BAD_TOML, BOMB = b"= this is no toml [", b"#" * 64 * 2**20
VARIABLE = "PANSVM_DISTURBANCE"
HOUR = 3600.0


def variables_for(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the file of the current fault, in a folder, and the environment variables of its readers."""
    python = folder / "disturbance"
    python.mkdir()
    # Python imports a module of this name by itself.
    (python / "sitecustomize.py").write_text("from simulations.disturbance import begin\n\nbegin()\n")
    (python / "now").write_text("")
    path = os.pathsep.join(filter(None, [str(python), os.environ.get("PYTHONPATH", "")]))
    return python / "now", {"PYTHONPATH": path, VARIABLE: str(python / "now")}


def begin() -> None:
    """Disturb this process if it is a SuperLink or a hospital's SuperNode."""
    if "flower-superlink" in sys.orig_argv:
        misbehave()
    if "clients.node.node" in sys.orig_argv:
        move_clock()


def kind() -> str:
    """Return the current fault."""
    return Path(os.environ[VARIABLE]).read_text(encoding="utf-8").strip()


def move_clock() -> None:
    """Let this process's clock be an hour ahead while the fault is ``clock``."""
    from flwr.supercore.date import now  # noqa: PLC0415 - in a SuperNode only
    from flwr.supernode import node_auth_http_interceptor as signing  # noqa: PLC0415

    true_time = time.time

    def ahead() -> float:
        return HOUR if kind() == "clock" else 0.0

    time.time = lambda: true_time() + ahead()
    # Not the class datetime: libraries in C know that of Python by its size.
    vars(signing)["now"] = lambda: now() + timedelta(seconds=ahead())


def with_project(bundle: bytes, project: bytes) -> bytes:
    """Return a bundle with another ``pyproject.toml``."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(bundle)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, project if name == "pyproject.toml" else source.read(name))
    return buffer.getvalue()


def misbehave() -> None:
    """Replace Flower's handlers."""
    from flwr.superlink.servicer.fleet import fleet_handlers as handlers  # noqa: PLC0415 - in a SuperLink only

    honest_run, honest_fab, honest_pull = handlers.get_run, handlers.get_fab, handlers.pull_messages

    def get_run(**arguments: Any) -> Any:
        reply = honest_run(**arguments)
        if kind() == "agent":
            reply.run.primary_task_type = "flwr-agentapp"
        return reply

    def get_fab(**arguments: Any) -> Any:
        reply = honest_fab(**arguments)
        if kind() == "toml":
            reply.fab.content = with_project(reply.fab.content, BAD_TOML)
        if kind() == "bomb":
            reply.fab.content = with_project(reply.fab.content, BOMB)
        if kind() == "zip":
            reply.fab.content = b"no zip at all"
        return reply

    def full(honest: Any) -> Any:
        def handler(**arguments: Any) -> Any:
            if kind() == "full":
                raise OSError(28, "No space left on device")
            return honest(**arguments)

        return handler

    def pull_messages(**arguments: Any) -> Any:
        reply = honest_pull(**arguments)
        if kind() == "lost" and reply.messages_list:
            Path(os.environ[VARIABLE]).write_text("", encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
        return reply

    changed = {"get_run": get_run, "get_fab": get_fab, "pull_messages": full(pull_messages)}
    for name in ("push_messages", "push_object", "send_node_heartbeat", "activate_node"):
        changed[name] = full(getattr(handlers, name))
    for name, handler in changed.items():
        setattr(handlers, name, handler)

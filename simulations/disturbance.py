"""Makes a SuperLink misbehave, or moves the clock of hospitals: for tests and for the benchmark of faults.

A process that is started with the variables of `variables_for` does what a file says at that moment: ``agent`` (a run
is one of Flower's agents), ``toml``, ``zip`` and ``bomb`` (its bundle cannot be read, or unpacks to 64 MB), ``full``
(the server answers with HTTP's 500, as if its disk were full), ``clock`` (a hospital's clock is an hour ahead).
Anything else, and all are honest.
"""

import io
import os
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
    """Return the file that says what to do, in a folder, and the variables of whom shall read it."""
    python = folder / "disturbance"
    python.mkdir()
    # Python imports a module of this name by itself.
    (python / "sitecustomize.py").write_text("from simulations.disturbance import begin\n\nbegin()\n")
    (python / "now").write_text("")
    path = os.pathsep.join(filter(None, [str(python), os.environ.get("PYTHONPATH", "")]))
    return python / "now", {"PYTHONPATH": path, VARIABLE: str(python / "now")}


def begin() -> None:
    """Disturb this process from now on, if it is a SuperLink or a hospital's SuperNode."""
    if "flower-superlink" in sys.orig_argv:
        misbehave()
    if "clients.node.node" in sys.orig_argv:
        move_clock()


def kind() -> str:
    """Return what to do now."""
    return Path(os.environ[VARIABLE]).read_text(encoding="utf-8").strip()


def move_clock() -> None:
    """Let this process sign and compare times by a clock that is an hour ahead while that is to be done."""
    from flwr.supercore.date import now  # noqa: PLC0415 - in a SuperNode only
    from flwr.supernode import node_auth_http_interceptor as signing  # noqa: PLC0415

    true_time = time.time

    def ahead() -> float:
        return HOUR if kind() == "clock" else 0.0

    time.time = lambda: true_time() + ahead()
    # Not the class datetime: libraries in C know that of Python by its size.
    changed = {"now": lambda: now() + timedelta(seconds=ahead())}
    for name, function in changed.items():
        setattr(signing, name, function)


def with_project(bundle: bytes, project: bytes) -> bytes:
    """Return a bundle with another ``pyproject.toml``."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(bundle)) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, project if name == "pyproject.toml" else source.read(name))
    return made.getvalue()


def misbehave() -> None:
    """Put changed handlers in the place of Flower's."""
    from flwr.superlink.servicer.fleet import fleet_handlers as handlers  # noqa: PLC0415 - in a SuperLink only

    honest_run, honest_fab = handlers.get_run, handlers.get_fab

    def get_run(**arguments: Any) -> Any:
        answer = honest_run(**arguments)
        if kind() == "agent":
            answer.run.primary_task_type = "flwr-agentapp"
        return answer

    def get_fab(**arguments: Any) -> Any:
        answer = honest_fab(**arguments)
        if kind() == "toml":
            answer.fab.content = with_project(answer.fab.content, BAD_TOML)
        if kind() == "bomb":
            answer.fab.content = with_project(answer.fab.content, BOMB)
        if kind() == "zip":
            answer.fab.content = b"no zip at all"
        return answer

    def full(honest: Any) -> Any:
        def handler(**arguments: Any) -> Any:
            if kind() == "full":
                raise OSError(28, "No space left on device")
            return honest(**arguments)

        return handler

    changed = {"get_run": get_run, "get_fab": get_fab}
    for name in ("pull_messages", "push_messages", "push_object", "send_node_heartbeat", "activate_node"):
        changed[name] = full(getattr(handlers, name))
    for name, handler in changed.items():
        setattr(handlers, name, handler)

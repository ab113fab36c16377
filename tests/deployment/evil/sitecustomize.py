"""Makes a SuperLink misbehave: Python imports this by itself where PYTHONPATH leads here.

``PANSVM_EVIL`` names a file that says how, whenever a hospital asks: ``agent`` (a run is one of Flower's agents),
``toml``, ``zip`` and ``bomb`` (its bundle cannot be read, or unpacks to 64 MB), ``full`` (it answers with HTTP's 500,
as if its disk were full). Anything else, and it is honest.
"""

import io
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

BAD_TOML, BOMB = b"= this is no toml [", b"#" * 64 * 2**20


def kind() -> str:
    """Return how it misbehaves now."""
    return Path(os.environ["PANSVM_EVIL"]).read_text().strip()


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
    from flwr.superlink.servicer.fleet import fleet_handlers as handlers  # noqa: PLC0415

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

    handlers.get_run, handlers.get_fab = get_run, get_fab
    for name in ("pull_messages", "push_messages", "push_object", "send_node_heartbeat", "activate_node"):
        setattr(handlers, name, full(getattr(handlers, name)))


if "PANSVM_EVIL" in os.environ and any("flower-superlink" in word for word in sys.orig_argv):
    misbehave()

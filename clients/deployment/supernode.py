"""Keeps a hospital's SuperNode running in the foreground, its log in plain lines, and says why it ended.

The SuperNode itself outlasts whatever happens to the connection (:mod:`clients.node.superlink`). This is for what
happens to its process: it ends, is killed, or stands still. Then it is started again, after a pause that grows.
"""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from clients.deployment.hospital import accepted, check_software
from clients.deployment.own_folder import takes_files
from clients.node.node_config import FLOWER_FOLDER
from clients.node.node_status import REFUSED, RUNNING_FILE, STATUS_FILE, UNUSABLE
from flower_pansvm.errors import SettingError
from flower_pansvm.files import lock
from flower_pansvm.study.connection import proxy_variables
from flower_pansvm.study.processes import (
    LOOK_SECONDS,
    exit_on_signals,
    flower_environment,
    follow,
    keep_running,
    started_process,
)

SILENT_SECONDS = 120.0
"""How long a SuperNode may write nothing into its file: it does every 15 s."""


def run_supernode(folder: Path, show: Callable[[str], None]) -> None:
    """Run the SuperNode of a hospital until this process is told to end; who calls it makes sure that it runs alone.

    SettingError if the coordinator does not let it in, or something has to be mended.
    """
    command, never = [sys.executable, "-P", "-m", "clients.node.node", str(folder)], threading.Event()

    def run() -> int:
        # Of each start: between two of them another version may have been installed.
        invitation = accepted(folder)
        check_software(invitation)
        address = invitation.address
        _forget(folder)
        # A web proxy of the hospital's is used for the connection to the coordinator and for nothing else.
        environment = flower_environment(folder / FLOWER_FOLDER) | proxy_variables(address)
        with started_process([*command, address], folder, environment) as process:
            code = follow(process, show, never, _Watch(folder, process, show).look)
        _forget(folder)
        if code == REFUSED:
            raise SettingError(
                "The coordinator does not let this SuperNode in; the line above says why. Unless that is a clock or a "
                f"release, ask the coordinator whether its server was started with invitation {invitation.number} or a "
                "later one, and whether this hospital is in that."
            )
        if code == UNUSABLE:
            raise SettingError("The SuperNode cannot run; the line above says what to mend.")
        return code

    with exit_on_signals():
        keep_running("The SuperNode", run, show, never)


def _forget(folder: Path) -> None:
    """Remove what the last SuperNode wrote, which is not the next one's status."""
    with contextlib.suppress(OSError):
        (folder / STATUS_FILE).unlink(missing_ok=True)


class _Watch:
    """Ends a SuperNode that has stood still for two minutes."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]", show: Callable[[str], None]) -> None:
        self._file, self._process, self._show = folder / STATUS_FILE, process, show
        self._written, self._looks = 0, 0

    def look(self) -> None:
        """Look whether it has written its file; looks are counted, so that a machine that slept does not count."""
        written = self._file.stat().st_mtime_ns if self._file.exists() else 0
        self._looks = self._looks + 1 if written == self._written else 0
        self._written = written
        if self._looks * LOOK_SECONDS > SILENT_SECONDS:
            if not takes_files(folder := self._file.parent):
                raise SettingError(
                    f"The SuperNode can no longer write into {folder}: its disk is read-only, or the folder's owner or "
                    "mode was changed. Correct that, then start again."
                )
            self._show(f"The SuperNode has stood still for {SILENT_SECONDS:g} s. It is ended by force")
            self._process.kill()
            self._looks = 0


@contextlib.contextmanager
def running_alone(folder: Path) -> Iterator[None]:
    """Keep a second SuperNode from starting in a hospital's folder; SettingError if one runs."""
    with (folder / RUNNING_FILE).open("a") as file:
        if not lock(file):
            raise SettingError(
                f"The SuperNode of {folder} runs already, in another window or as a service of the system. One is "
                "enough; to start it anew, end that one first."
            )
        _forget(folder)
        yield

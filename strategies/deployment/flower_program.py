"""``python -P -m strategies.deployment.flower_program PARENT PROGRAM …`` runs a program of Flower's for a coordinator.

It ends when its parent does, whose number is given, and everything that it has started ends with it. Without that a
SuperLink outlasts a ``pansvm coordinator start`` that is killed, and the next one finds its port taken.

A SuperLink answers its own account and hospitals, and no other account of the machine (`accounts`).

A SuperExec gives the processes that it starts their token in a file. In a command line all accounts of a machine read
it, and with it the run's context.
"""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import uvicorn
from flwr.supercore.constant import TASK_TYPE_TO_APPIO_API_ADDRESS_ARG, TASK_TYPE_TO_COMMAND
from flwr.supercore.superexec.executor import factory
from flwr.supercore.superexec.executor.subprocess_executor import SubprocessExecutor
from flwr.supercore.superexec.executor.types import ExecutionSpec, LaunchResult

from flower_pansvm.files import PRIVATE, write
from flower_pansvm.study.processes import LOOK_SECONDS
from strategies.deployment.accounts import CONNECTIONS, OwnAccountOnly

TOKEN = "token-"
"""How the names of tokens' files begin, in Flower's folder."""


def end_with(parent: int) -> None:
    """Kill this process and its group, which it leads, as soon as its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


class TokenFileExecutor(SubprocessExecutor):
    """Starts the process of a training with its token in a file that this account alone can read.

    The SuperLink has a training started again if nothing was heard of it for 30 s. On a busy machine a process takes
    longer until it reads its token: so it finds the latest one there, and no second process makes the machine slower.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: dict[int, tuple[subprocess.Popen[bytes], Path]] = {}  # by task
        for left in folder.glob(f"{TOKEN}*"):  # by a SuperExec that was killed
            left.unlink()

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        """Start the process unless one runs; the file is deleted when that has ended."""
        if (before := self._started.get(spec.task_id)) and before[0].poll() is None:
            write(before[1], spec.token, overwrite=True, mode=PRIVATE)
            return LaunchResult.accepted()
        file = self._folder / f"{TOKEN}{secrets.token_hex(4)}"
        write(file, spec.token, mode=PRIVATE)
        command = [TASK_TYPE_TO_COMMAND[spec.task_type], TASK_TYPE_TO_APPIO_API_ADDRESS_ARG[spec.task_type]]
        command += [spec.runtime_api_address, "--token-file", str(file)]
        command += ["--root-certificates", str(spec.root_certificates_path)]
        command += ["--parent-pid", str(spec.parent_pid)]
        # Its log is the SuperLink's, which `flwr run --stream` reads.
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._started = {spec.task_id: (process, file)} | {
            task: old for task, old in self._started.items() if old[0].poll() is None and task != spec.task_id
        }

        def clear() -> None:
            process.wait()
            file.unlink(missing_ok=True)

        threading.Thread(target=clear, daemon=True).start()
        return LaunchResult.accepted()


def close_to_others() -> None:
    """Let the server that this process is to run answer its own account and hospitals only, where that can be told."""
    run = uvicorn.run

    def closed(app: Any, **options: Any) -> None:
        # A header X-Forwarded-For would say from where a question comes.
        run(OwnAccountOnly(app), **options, proxy_headers=False)

    if CONNECTIONS.exists():
        uvicorn.run = closed


def main(parent: str, program: str, *arguments: str) -> None:
    """Run one of Flower's programs in this process."""
    end_with(int(parent))
    folder = Path(os.environ["FLWR_HOME"])
    factory.SubprocessExecutor = lambda: TokenFileExecutor(folder)  # type: ignore[assignment, attr-defined]
    close_to_others()
    (entry,) = distribution("flwr").entry_points.select(group="console_scripts", name=program)
    sys.argv = [program, *arguments]
    entry.load()()


if __name__ == "__main__":
    main(*sys.argv[1:])

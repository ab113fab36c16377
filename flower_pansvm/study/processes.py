"""Starts processes that are always ended, together with everything that they have started."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from flower_pansvm.study.log_lines import TIME, plain_lines

END_SECONDS = 1.0
"""Longest wait for killed processes to disappear; a slow init keeps their numbers for some seconds longer."""

GRACE_SECONDS = 5.0
"""How long a process that is asked to end has for it."""

LOOK_SECONDS = 0.5
FIRST_PAUSE, LONGEST_PAUSE, WELL_SECONDS = 5.0, 300.0, 60.0
"""Seconds until a program that has ended is started again: twice as long each time, until one has run for a minute."""


@contextlib.contextmanager
def started_process(
    command: list[str], folder: Path, environment: Mapping[str, str], log: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a command for the length of a ``with`` block, and then kill it and all its descendants.

    It gets a process group of its own, which its children stay in. Killing the group is the only way to end Flower
    that works at once: a SuperLink that is asked to end waits for its log readers, and a simulation whose SuperLink
    has gone keeps computing. Ctrl-C in a terminal reaches this process only, not the group.

    The program is looked up in the ``PATH`` of the environment. Without a file for the log, the output is read from
    the ``stdout`` of the process.
    """
    with (
        log.open("w") if log else contextlib.nullcontext(subprocess.PIPE) as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            kill_group(process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a process of :func:`started_process` and its descendants, and wait until they are gone.

    Only then can their files be removed.
    """
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.poll()
        time.sleep(0.05)


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Let signals that would end this process at once raise SystemExit, so that ``with`` blocks are left properly.

    They are SIGTERM (``kill``, a container that stops) and SIGHUP (a terminal that is closed).
    """

    def leave(signal_number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + signal_number)

    # A signal that the caller handles or ignores (nohup) stays as it is.
    fatal = [name for name in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(name) is signal.SIG_DFL]
    for name in fatal:
        signal.signal(name, leave)
    try:
        yield
    finally:
        for name in fatal:
            signal.signal(name, signal.SIG_DFL)


def flower_environment(home: Path) -> dict[str, str]:
    """Return the environment of Flower's programs: a home of their own, and connections on this machine only."""
    return {
        # A proxy that Flower does not know ends it, also one not needed; NO_PROXY, as the system's settings name some.
        # Nor does it get what is set for a Flower of another use.
        **{
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("FLWR_")
        },
        "NO_PROXY": "*",
        # No colours in what is read here, also where FORCE_COLOR asks for them.
        "TERM": "dumb",
        # Flower's programs find each other by PATH, which lacks them unless the Python environment is activated.
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]),
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",  # as its output is read, whatever the locale
    }


def free_port() -> int:
    """Return a port of this machine on which nothing listens.

    Systems give connections ports above these: else one could take the port before somebody listens there.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def keep_running(
    name: str, run: Callable[[], int], show: Callable[[str], object], over: threading.Event
) -> None:
    """Run a program again and again, after a pause that grows, until an event says that it is enough.

    Parameters
    ----------
    name : str
        What it is called in the line that says how it has ended.
    run : callable
        Runs it once and returns its exit code.
    show : callable
        Shows a line.
    over : threading.Event
        Whether it is enough.
    """
    pause = FIRST_PAUSE
    while not over.is_set():
        begun = time.monotonic()
        code = run()
        if over.is_set():
            return
        if time.monotonic() - begun > WELL_SECONDS:
            pause = FIRST_PAUSE
        show(f"{time.strftime(TIME)}  {name} {_how_ended(code)}. It is started again in {pause:g} s")
        over.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _how_ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was ended by force: by somebody, or by the system because it had used up its memory"
    number = -code if code < 0 else code - 128  # it leaves by itself, as it was asked to
    if number in tuple(signal.Signals):
        return f"was ended by the signal {signal.Signals(number).name}"
    return f"ended by itself with exit code {code}; the lines above say why"


def follow(
    process: subprocess.Popen[str],
    show: Callable[[str], object],
    over: threading.Event,
    check: Callable[[], object] = lambda: None,
) -> int:
    """Show the log of a program until that ends, or an event says that it shall; and return its exit code.

    Not until the log ends: a SuperLink's processes may hold that open. The check is called between two looks. OSError
    if a line cannot be shown: the program would stand still as soon as nobody takes its log.
    """
    lost: list[OSError] = []

    def read() -> None:
        assert process.stdout is not None
        try:
            for line in plain_lines(process.stdout):
                show(line)
        except OSError as error:
            lost.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while process.poll() is None and not lost and not over.wait(LOOK_SECONDS):
            check()
    finally:
        end(process)
        kill_group(process)
        reader.join(GRACE_SECONDS)
    if lost:
        raise lost[0]
    return process.returncode


def end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and wait a little: a SuperNode then tells the SuperLink that it goes."""
    if process.poll() is None:
        process.terminate()
        # Whoever has started it kills it then, with all that it has started.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)

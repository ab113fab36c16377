"""Runs works in processes of their own, several at a time; one that dies leaves the others running."""

import os
import signal
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from flower_pansvm.errors import PanSVMError
from simulations.engines.flower_log import lines_to

W = TypeVar("W", bound=Hashable)
"""A pending run, or whatever its function needs to know."""

Result = Mapping[str, Any]
"""The result of a run, ready for JSON; ``error`` alone, on one line, if it failed, with the ``node`` of a cluster."""

DIED = (
    "The process of this run ended before the run did, most likely for lack of memory. Compare with --jobs 1, or with "
    "smaller settings."
)


def attempt(run: Callable[[W], Result], work: W) -> Result:
    """Return the result of a run, or its error: a failed run must not end the others."""
    try:
        return run(work)
    except PanSVMError as error:
        text = error.with_detail()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return {"error": " ".join(text.split())}


def failure(result: Result) -> str:
    """Return the error of a run that failed, and the node of a cluster where it did: it may lack a folder of data."""
    return str(result["error"]) + (f" (On node {result['node']}.)" if "node" in result else "")


def run_each(works: Sequence[W], jobs: int, run: Callable[[W], Result]) -> Iterator[tuple[W, Result]]:
    """Run works in ``jobs`` processes, begun in this order, and yield each with its result when it ends.

    ``run`` is a function of a module. The processes end with this iteration, also by an exception.
    """
    waiting = list(reversed(works))
    processes: dict[Connection, BaseProcess] = {}
    busy: dict[Connection, W] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                idle = [connection for connection in processes if connection not in busy]
                free = idle[0] if idle else _start(processes, run)
                try:
                    free.send(waiting[-1])
                except ConnectionError:
                    # It died while idle.
                    processes.pop(free).join()
                    continue
                busy[free] = waiting.pop()
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                work = busy.pop(ready)
                try:
                    result = ready.recv()
                except (EOFError, ConnectionError):
                    processes.pop(ready).join()
                    result = {"error": DIED}
                yield work, result
    finally:
        for process in processes.values():
            process.kill()
            process.join()


def _start(processes: dict[Connection, BaseProcess], run: Callable[[W], Result]) -> Connection:
    # A forked process would share this one's threads and locks.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, run), daemon=True)
    process.start()
    # Otherwise the pipe would stay open when the process dies.
    theirs.close()
    processes[ours] = process
    return ours


def _work(pipe: Connection, run: Callable[[W], Result]) -> None:
    """Run the works from a pipe until its other end is closed, or the parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()
    # Ctrl-C reaches all processes of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1), lines_to(lambda _: None):
        while True:
            try:
                pipe.send(attempt(run, pipe.recv()))
            except (EOFError, ConnectionError):
                return


def _end_with_parent() -> None:
    """Wait until the parent has ended, and end this process at once."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

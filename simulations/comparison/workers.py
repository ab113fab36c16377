"""Runs pieces of work in processes of their own, several at a time; one that dies takes no other with it."""

import os
import signal
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from flower_pansvm.errors import PanSVMError
from flower_pansvm.terms import Scalar
from simulations.engines.flower_log import lines_to


class Work(Hashable, Protocol):
    """A run that is to be done."""

    @property
    def key(self) -> Mapping[str, Scalar]:
        """What says which run it is; no two have the same."""


W = TypeVar("W", bound=Work)

Result = Mapping[str, Any]
"""What a run has found, ready for JSON; ``error`` alone, on one line, if it failed."""

DIED = (
    "The process of this run ended before the run did; most likely the machine had too little memory. Compare with "
    "--jobs 1, or with smaller settings."
)


def attempt(run: Callable[[W], Result], work: W) -> Result:
    """Return what a run has found, or why it failed: a fault of one must not end the others."""
    try:
        return run(work)
    except PanSVMError as error:
        text = error.with_detail()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return {"error": " ".join(text.split())}


def run_each(works: Sequence[W], jobs: int, run: Callable[[W], Result]) -> Iterator[tuple[W, Result]]:
    """Run pieces of work in so many processes, begun in this order, and give each with what it found when it is over.

    ``run`` is a function of a module. The processes are ended when this iteration is, also by an exception.
    """
    waiting = list(reversed(works))
    processes: dict[Connection, BaseProcess] = {}
    busy: dict[Connection, W] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                free = next((one for one in processes if one not in busy), None) or _start(processes, run)
                try:
                    free.send(waiting[-1])
                except ConnectionError:
                    # It died while it had nothing to do.
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
    # A process that is forked would share this one's threads and locks.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, run), daemon=True)
    process.start()
    # Else the pipe would stay open when the process dies.
    theirs.close()
    processes[ours] = process
    return ours


def _work(pipe: Connection, run: Callable[[W], Result]) -> None:
    """Run what comes through the pipe until its other end is closed; ends in the middle when the parent does."""
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
    """Wait until the parent is gone, and end this process whatever it is doing: nobody wants it any more."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

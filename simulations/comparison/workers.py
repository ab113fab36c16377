"""Runs pieces of work in processes of their own, several at a time; one that dies takes no other with it."""

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import TypeVar

from threadpoolctl import threadpool_limits

from simulations.comparison.run import Case, Finished, run_case
from simulations.engines.flower_log import lines_to

W = TypeVar("W")
"""A piece of work."""
D = TypeVar("D")
"""What has come of it."""

DIED = (
    "The process of this run ended before the run did; most likely the machine had too little memory. Compare with "
    "--jobs 1, or with smaller settings."
)


def run_all(
    cases: Sequence[Case], jobs: int, run: Callable[[Case], Finished] = run_case
) -> Iterator[Finished]:
    """Run the cases of a comparison as `run_each` does; one whose process died has failed."""
    return run_each(cases, jobs, run, lambda case: Finished.of(case, error=DIED))


def run_each(works: Sequence[W], jobs: int, run: Callable[[W], D], died: Callable[[W], D]) -> Iterator[D]:
    """Run pieces of work, so many at a time, and give what came of each as soon as it is over.

    The processes are ended when this iteration is, also by an exception.

    Parameters
    ----------
    works : sequence
        What is to be run; begun in this order.
    jobs : int
        Processes.
    run : callable
        What a process does with a piece of work; a function of a module.
    died : callable
        What came of a piece of work whose process died.
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
                    done: D = ready.recv()
                except (EOFError, ConnectionError):
                    processes.pop(ready).join()
                    done = died(work)
                yield done
    finally:
        for process in processes.values():
            process.kill()
            process.join()


def _start(processes: dict[Connection, BaseProcess], run: Callable[[W], D]) -> Connection:
    # A process that is forked would share this one's threads and locks.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, run), daemon=True)
    process.start()
    # Else the pipe would stay open when the process dies.
    theirs.close()
    processes[ours] = process
    return ours


def _work(pipe: Connection, run: Callable[[W], D]) -> None:
    """Run what comes through the pipe until its other end is closed; ends in the middle when the parent does."""
    Thread(target=_end_with_parent, daemon=True).start()
    # Ctrl-C reaches all processes of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1), lines_to(lambda _: None):
        while True:
            try:
                pipe.send(run(pipe.recv()))
            except (EOFError, ConnectionError):
                return


def _end_with_parent() -> None:
    """Wait until the parent is gone, and end this process whatever it is doing: nobody wants it any more."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

"""Runs the works of a comparison as tasks of a Ray cluster; tasks of a node that dies are repeated elsewhere.

Every node needs this package, and data sets at the same paths: a folder that all nodes mount, or ``openml:`` names.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from flower_pansvm.errors import SettingError, install
from simulations.comparison.workers import Result, W, attempt
from simulations.engines.flower_engine import check_cluster
from simulations.engines.flower_log import lines_to

TRIES = 3
"""Retries of a task whose node or process died."""

DIED = f"The nodes or processes of this run ended {TRIES + 1} times before the run did; most likely for lack of memory."


def run_on_cluster(
    works: Sequence[W], address: str, run: Callable[[W], Result]
) -> Iterator[tuple[W, Result]]:
    """Run works on a Ray cluster, one a processor, and yield each with its result when it ends.

    Parameters
    ----------
    works : sequence
        The works; Ray begins them in this order.
    address : str
        The cluster's: ``HOST:PORT``, ``auto`` for one of this machine.
    run : callable
        A function of a module, or a partial of one. Its tasks end with this iteration.

    Raises
    ------
    SettingError
        If Ray is missing.
    EngineError
        If nothing listens at the address.
    """
    try:
        import ray  # noqa: PLC0415 - of an extra, and slow
    except ImportError:
        raise SettingError(f"A cluster needs Ray. Install it {install('simulation')}.") from None
    check_cluster(address)
    ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    try:
        task: Any = ray.remote(num_cpus=1, max_retries=TRIES)(_task)
        waiting = {task.remote(run, work): work for work in works}
        while waiting:
            (ready,), _ = ray.wait(list(waiting), num_returns=1)
            work = waiting.pop(ready)
            try:
                result: Result = ray.get(ready)
            except ray.exceptions.RayError:
                result = {"error": DIED}
            yield work, result
    finally:
        ray.shutdown()  # which ends this command's tasks


def _task(run: Callable[[W], Result], work: W) -> Result:
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1), lines_to(lambda _: None):
        return attempt(run, work)

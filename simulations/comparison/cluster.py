"""Runs pieces of work as tasks of a Ray cluster: a node that dies costs its own pieces, and they are tried again.

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
"""How often a piece is begun anew whose node or process died."""

DIED = f"The nodes or processes of this run ended {TRIES + 1} times before the run did; most likely for want of memory."


def run_on_cluster(
    works: Sequence[W], address: str, run: Callable[[W], Result]
) -> Iterator[tuple[W, Result]]:
    """Run pieces of work on a Ray cluster, one a processor, and give each with what it found when it is over.

    Parameters
    ----------
    works : sequence
        The pieces; Ray begins them in this order.
    address : str
        Of the cluster: ``HOST:PORT``, ``auto`` for one of this machine.
    run : callable
        A function of a module, or a partial of one. What it does is ended when this iteration is.

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
        raise SettingError(f"A cluster takes Ray ({install('simulation')}).") from None
    check_cluster(address)
    ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    try:
        piece: Any = ray.remote(num_cpus=1, max_retries=TRIES)(_piece)
        waiting = {piece.remote(run, work): work for work in works}
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


def _piece(run: Callable[[W], Result], work: W) -> Result:
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1), lines_to(lambda _: None):
        return attempt(run, work)

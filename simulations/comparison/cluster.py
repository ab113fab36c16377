"""Runs the works of a comparison as tasks of a Ray cluster; tasks of a node that dies are repeated elsewhere.

Every node needs this package, and data sets at the same paths: a folder that all nodes mount, or ``openml:`` names.
"""

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from threadpoolctl import threadpool_limits

from flower_pansvm.errors import EngineError, SettingError, install
from simulations.comparison.workers import Result, W, attempt, run_each
from simulations.engines.flower_engine import check_cluster
from simulations.engines.flower_log import lines_to
from simulations.origin import origin

TRIES = 3
"""Retries of a task whose node or process died."""

DIED = f"The nodes or processes of this run ended {TRIES + 1} times before the run did; most likely for lack of memory."

WAIT = 10.0
"""Seconds without a result after which a cluster without a processor is told."""


def run_all(
    works: Sequence[W], jobs: int, run: Callable[[W], Result], cluster: str = ""
) -> Iterator[tuple[W, Result]]:
    """Run works in ``jobs`` processes of this machine, or, with its address, on a Ray cluster, if there are any."""
    return run_on_cluster(works, cluster, run) if cluster and works else run_each(works, jobs, run)


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
        If no cluster is at the address, or a node lacks this package, or has another commit or other versions.
    """
    try:
        import ray  # noqa: PLC0415 - of an extra, and slow
    except ImportError:
        raise SettingError(f"A cluster needs Ray. Install it {install('simulation')}.") from None
    check_cluster(address)
    with warnings.catch_warnings(action="ignore"):  # of settings that change in Ray's future
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except (ValueError, ConnectionError, RuntimeError) as error:
            raise EngineError(
                f"Ray cannot join the cluster '{address}' of RAY_ADDRESS or --cluster: {_last_line(error)} Give "
                "HOST:PORT of a cluster's head, and use its versions of Ray and Python here."
            ) from None
    try:
        engine = cast(Any, ray)
        _check_nodes(engine)
        task: Any = ray.remote(num_cpus=1, max_retries=TRIES)(_task)
        waiting, told = {task.remote(run, work): work for work in works}, False
        while waiting:
            ended, _ = ray.wait(list(waiting), num_returns=1, timeout=WAIT)
            if not ended and not told and engine.cluster_resources().get("CPU", 0) < 1:
                told = True
                sys.stderr.write("The cluster has no processor. Runs begin when a node with one joins it.\n")
            for ready in ended:
                work = waiting.pop(ready)
                try:
                    result: Result = ray.get(ready)
                except ray.exceptions.RayTaskError as error:
                    result = {"error": f"This run's node cannot run it: {_last_line(error)}"}
                except ray.exceptions.RayError:
                    result = {"error": DIED}
                yield work, result
    finally:
        ray.shutdown()  # which ends this command's tasks


def _check_nodes(ray: Any) -> None:
    """Raise an EngineError unless each node that runs tasks has this package, of this commit and these versions."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On  # noqa: PLC0415

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    # Without a processor, so that a busy node answers, too.
    asked = [
        ray.remote(num_cpus=0, scheduling_strategy=On(node["NodeID"], soft=False))(_unlike).remote(
            _software()
        )
        for node in nodes
    ]
    for node, answer in zip(nodes, asked, strict=True):
        try:
            fault = ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            fault = _last_line(error)
        except ray.exceptions.RayError:
            continue  # It has just died: tasks go elsewhere.
        if fault:
            raise EngineError(
                f"Node {node['NodeManagerAddress']} of the cluster cannot do these runs: {fault} Install this "
                "machine's flower-pansvm, and the packages it uses, in the Python that started Ray there."
            )


def _software() -> dict[str, str]:
    """Return commit and versions of this process; without a commit outside of a checkout."""
    here = origin()
    commit = {"commit": here["commit"].removesuffix("-dirty")} if here["commit"] else {}
    return {**here["versions"], **commit}


def _unlike(wanted: Mapping[str, str]) -> str:
    """Return how this process differs from the one that started the command; empty if it does not."""
    here = _software()
    # Ray itself compares Python.
    other = [name for name in wanted if name != "python" and here.get(name, wanted[name]) != wanted[name]]
    return "".join(f"its {name} is {here[name]}, not {wanted[name]}. " for name in other).strip()


def _last_line(error: BaseException) -> str:
    """Return the end of an error's text, where Ray puts the cause behind a traceback, as a sentence."""
    return f"{(str(error).strip().splitlines() or [type(error).__name__])[-1].strip().removesuffix('.')}."


def _task(run: Callable[[W], Result], work: W) -> Result:
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1), lines_to(lambda _: None):
        result = attempt(run, work)
    if "error" not in result:
        return result
    import ray  # noqa: PLC0415 - of an extra

    return {**result, "node": cast(Any, ray).util.get_node_ip_address()}

"""What the benchmarks share: ``results/NAME.json``, rows to test on, and the time that work takes."""

import json
import logging
import os
import platform
import resource
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from clients.patients import patient_numbers
from clients.table.table import align
from flower_pansvm.errors import PanSVMError
from flower_pansvm.files import write
from flower_pansvm.schema import class_names
from simulations.comparison.cluster import run_all
from simulations.comparison.workers import failure
from simulations.data.datasets import load_dataset
from simulations.data.pooling import Pooled, PooledRows, pooled
from simulations.engines.flower_log import quieter
from simulations.origin import COMMIT, origin
from strategies.settings import Settings

Table = Sequence[Mapping[str, Any]]
"""Lines of a table: what was measured, by the names of its columns."""

P = ParamSpec("P")
R = TypeVar("R")


def write_results(name: str, tables: Mapping[str, Table], folder: Path) -> Path:
    """Write a benchmark's tables, versions and machine into a file of its name, and return the file."""
    content = {
        "benchmark": name,
        **origin(),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
            "processor": platform.processor() or platform.machine(),
            "system": platform.system(),
            "load": [round(load, 1) for load in os.getloadavg()],
        },
        "tables": tables,
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    write(file, json.dumps(content, indent=1, allow_nan=False) + "\n", overwrite=True)
    _part_of(name, folder).unlink(missing_ok=True)
    return file


def in_parts(
    name: str, data: Iterable[str], lines: Callable[[str], Table], folder: Path
) -> list[Mapping[str, Any]]:
    """Return the lines of each data set, ``lines(data)``, for a benchmark that takes hours.

    They are kept until the benchmark's tables are written: it goes on where it was stopped, at the same commit.
    """
    part, done = _part_of(name, folder), list[Mapping[str, Any]]()
    if part.exists():
        content = json.loads(part.read_text(encoding="utf-8"))
        measured_here = content["commit"] == COMMIT is not None and not COMMIT.endswith("-dirty")
        done = content["tables"]["lines"] if measured_here else []
    for data_set in data:
        if all(line["data"] != data_set for line in done):
            done += lines(data_set)
            write_results(part.stem, {"lines": done}, folder)
    return done


def _part_of(name: str, folder: Path) -> Path:
    return folder / f"{name}.part.json"


def results_of(
    work: Callable[..., R], calls: Sequence[tuple[Hashable, ...]], cluster: str = ""
) -> dict[tuple[Hashable, ...], R]:
    """Return a function's result by its arguments, made on all processors or on a Ray cluster.

    PanSVMError of the first call that fails.
    """
    found = {}
    for call, result in run_all(calls, os.cpu_count() or 1, partial(_called, work), cluster):
        if "error" in result:
            raise PanSVMError(f"{work.__name__}{call}: {failure(result)}")
        found[call] = result["value"]
    return found


def _called(work: Callable[..., R], call: tuple[Hashable, ...]) -> dict[str, R]:
    return {"value": work(*call)}


def in_new_process(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function in a process of its own, so that its peak of memory is its own, and return the result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


def timed(work: Callable[[], R]) -> tuple[R, dict[str, float]]:
    """Return a function's result, its seconds and CPU seconds, and the peak memory of this process in GB."""
    started, used = time.perf_counter(), time.process_time()
    with quieter(logging.ERROR):
        result = work()
    return result, {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def pool_of(settings: Settings, test: str = "") -> Pooled:
    """Return the rows of all sites of a run, tested on another data set if one is named."""
    rows = pooled(settings)
    if not test:
        return rows
    table = load_dataset(test, "", Path(settings.data_dir))
    classes = rows.schema.indices(class_names(() if table.labels is None else table.labels, ()))
    nobody = np.full(len(classes), -1)
    X = align(table, rows.schema.columns).X
    return replace(rows, test=PooledRows(X, classes, nobody, nobody, patient_numbers(table)))


def accuracy_of(model: Any, rows: Pooled) -> float:
    """Return the accuracy of a model with scikit-learn's interface on the test rows."""
    X = pd.DataFrame(rows.test.X, columns=list(rows.schema.columns))
    true = np.array(rows.schema.classes)[rows.test.classes]
    return float(np.mean(model.predict(X).astype(str) == true))

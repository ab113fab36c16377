"""Attacks on systems on the same data: ``python -m simulations.benchmarks privacy --data-dir DIR``.

Every system is run on simulated sites and attacked by the party that learns most: a semi-honest coordinator, a
malicious one, or another hospital. Reconstructed records are counted in the same way for all; membership is inferred by
an attacker who has a person's record.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clients.prediction import with_simulated_matrices
from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import PanSVMError
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.models.random_kernel_svc import RandomKernelSVC
from flower_pansvm.result_file import RESULT_FILE
from flower_pansvm.site_names import simulated_name
from flower_pansvm.systems.common import JOIN
from flower_pansvm.terms import Scalar
from simulations.attack.active.levels import TABLES as ATTACKED
from simulations.attack.active.levels import lines
from simulations.attack.attack import attack
from simulations.attack.audit import audit
from simulations.attack.findings import Reconstructed, area, reconstructed
from simulations.benchmarks.results import Table, in_parts
from simulations.comparison.run import disclosed_text
from simulations.data.pooling import Pooled, PooledRows, pooled
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.app import run
from strategies.mixture import WeakMixtures
from strategies.settings import Settings, settings_from
from strategies.strategy import PhasedStrategy

SEMI_HONEST, NEIGHBOUR = "semi-honest coordinator", "another hospital"
COMPARED = ("heart", "liver-disorders")
SEEDS = range(3)
MINUTES = 0.75
"""Duration of an attack on sums."""


class FinishedRun(NamedTuple):
    """A finished run, and its coordinator's replies."""

    settings: Settings
    folder: Path
    pool: Pooled
    strategy: PhasedStrategy
    grid: InProcessGrid


class AttackResult(NamedTuple):
    """Training rows and test rows that an attack has reconstructed."""

    attacker: str
    how: str
    train: Reconstructed
    test: Reconstructed | None


class System(NamedTuple):
    """A published system: its settings, and how it is attacked."""

    settings: dict[str, Scalar]
    attacked: Callable[[FinishedRun], AttackResult]


def by_sums(ran: FinishedRun) -> AttackResult:
    """Solve for records from all sums; of all attacks the one that reconstructs most."""
    result = attack(ran.settings, ran.folder, MINUTES, lambda _: None)
    attempts = result.attempts
    best = max(attempts, key=lambda name: (attempts[name].exact, attempts[name].within_10))
    return AttackResult(SEMI_HONEST, best, attempts[best], result.by_chance[best])


def by_test_rows(ran: FinishedRun) -> AttackResult:
    """Take the test rows, which sites disclose, for guesses."""
    rows = np.vstack(disclosed(ran.grid, "held_out", "rows"))
    return _counted(ran.pool, rows, "the test rows as they are")


def by_copies(ran: FinishedRun) -> AttackResult:
    """Take the distorted rows for guesses; an attacker with all originals also matches them to their copies."""
    copies = np.vstack(disclosed(ran.grid, "distorted_rows", "rows"))
    matched = audit(ran.settings, ran.folder).figures["matched"]
    return _counted(ran.pool, copies, f"the copies; {100 * (matched or 0):.0f} % matched to their originals")


def by_means(ran: FinishedRun) -> AttackResult:
    """Take the means of all components for guesses."""
    model = ran.strategy.outcome.model
    assert isinstance(ran.strategy, WeakMixtures)
    assert isinstance(model, GaussianMixtures)
    means = np.vstack([weak.means for weak in ran.strategy.weak.values()])
    scaling = model.scaling_
    return _counted(ran.pool, means * scaling.scale + scaling.shift, "the means of shared components")


def by_matrix(ran: FinishedRun) -> AttackResult:
    """Solve for the rows behind kernel values, as a site of the same columns can."""
    rows = int(audit(ran.settings, ran.folder).figures["rows_from_kernel"] or 0)
    return AttackResult(NEIGHBOUR, "equations, with the random matrix", Reconstructed(rows, rows, rows), None)


def membership(ran: FinishedRun) -> float | None:
    """Return the AUC of membership inference by an attacker who has a row and the outcome: 0.5 by chance.

    The area under the curve of one score a row (Yeom et al. 2018): by how much the model is for the row's own class; of
    mixtures the density of the row in what its site has shared. None if a run gives out no model.
    """
    if isinstance(ran.strategy, WeakMixtures):
        scores = [_densities(ran.strategy, rows) for rows in (ran.pool.train, ran.pool.test)]
    else:
        model = ran.strategy.outcome.model
        if isinstance(model, RandomKernelSVC):
            model = with_simulated_matrices(model, ran.folder / RESULT_FILE)
        if model is None or not hasattr(model, "decision_function"):
            return None
        columns, needed = list(ran.pool.schema.columns), list(model.schema_.columns)
        scores = [
            _margins(model.decision_function(pd.DataFrame(rows.X, columns=columns)[needed]), rows)
            for rows in (ran.pool.train, ran.pool.test)
        ]
    return area(*scores)


def _margins(decisions: Floats, rows: PooledRows) -> Floats:
    """Return the margin of each row's own class over the best other one."""
    values = np.stack([-decisions, decisions], axis=1) / 2 if decisions.ndim == 1 else decisions.copy()
    each = np.arange(len(values))
    of_class = values[each, rows.classes]
    values[each, rows.classes] = -np.inf
    ahead: Floats = of_class - values.max(axis=1)
    return ahead


def _densities(strategy: WeakMixtures, rows: PooledRows) -> Floats:
    """Return the logarithmic density of each row in its site's mixture of its class; of one not shared the least."""
    model = strategy.outcome.model
    assert isinstance(model, GaussianMixtures)
    X, densities = model.scaling_.transform(rows.X), np.full(len(rows.X), -np.inf)
    for site in np.unique(rows.sites).tolist():
        for class_index, mixture in strategy.weak[simulated_name(site)].by_class().items():
            members = (rows.sites == site) & (rows.classes == class_index)
            densities[members] = mixture.log_density(X[members])
    known = densities[np.isfinite(densities)]
    return np.where(np.isfinite(densities), densities, known.min() if len(known) else 0.0)


def disclosed(grid: InProcessGrid, task: str, field: str) -> list[Floats]:
    """Return a field of each site's answers to a task, among its disclosed values."""
    replies = [reply for reply in grid.replies if reply.metadata.message_type.split(".")[-1] == task]
    return [records.get(reply.content, "disclosed")[field] for reply in replies if reply.has_content()]


def _counted(pool: Pooled, guesses: Floats, how: str) -> AttackResult:
    """Count rows, in the table's units, that guesses reconstruct."""
    spread = pool.train.X.std(axis=0)
    train, test = (reconstructed(rows.X, guesses, spread) for rows in (pool.train, pool.test))
    return AttackResult(SEMI_HONEST, how, train, test)


SYSTEMS = {
    "pan-svm, as published": System({"search": "published"}, by_sums),
    "pan-svm, exact": System({}, by_sums),
    "pan-svm, perturbed": System({"privacy": "perturbed"}, by_sums),
    "svm-admm": System({"strategy": "svm-admm"}, by_sums),
    "svm-ensemble": System({"strategy": "svm-ensemble"}, by_test_rows),
    "random-kernel": System({"strategy": "random-kernel"}, by_matrix),
    "ssvd": System({"strategy": "ssvd", "ssvd-order": "perturb-first"}, by_copies),
    "mixture": System({"strategy": "mixture"}, by_means),
    "local-only": System({"strategy": "local-only"}, by_sums),
    "dp-svm, epsilon=1": System({"strategy": "dp-svm", "privacy": "auto"}, by_sums),
}


@contextmanager
def finished(name: str, data: str, data_dir: Path, seed: int = 0) -> Iterator[FinishedRun]:
    """Run a system, and keep its folder for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        common: dict[str, Scalar] = {"data": data, "data-dir": str(data_dir), "seed": seed, "audit": True}
        settings = settings_from({**common, "privacy": "exact", "out": folder, **SYSTEMS[name].settings})
        grid = in_process_grid(settings)
        strategy = run(grid, settings, Path(folder))
        yield FinishedRun(settings, Path(folder), pooled(settings), strategy, grid)


def attacked(name: str, data: str, data_dir: Path) -> dict[str, Any]:
    """Run a system and attack it; return the figures, or the error of a system that does not run on the data."""
    try:
        with finished(name, data, data_dir) as ran:
            read = SYSTEMS[name].attacked(ran)
            evaluation, costs = ran.strategy.outcome.evaluation, ran.strategy.federation.costs
            return {
                "data": data,
                "system": name,
                "accuracy": None if evaluation is None else evaluation.accuracy,
                "attacker": read.attacker,
                "attack": read.how,
                **_shares("train", read.train, len(ran.pool.train.X)),
                **_shares("test", read.test, len(ran.pool.test.X)),
                "disclosed": disclosed_text(
                    entry for entry in costs.disclosed() if entry["task"] != JOIN.name
                ),
            }
    except PanSVMError as error:
        return {"data": data, "system": name, "error": str(error)}


def memberships(name: str, data: str, data_dir: Path, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Run a system with several seeds, and return the mean area of the attack on membership; none without a model."""
    areas = []
    for seed in seeds:
        # The table of attacks has the error of a system that does not run on the data.
        with suppress(PanSVMError), finished(name, data, data_dir, seed) as ran:
            areas.append(membership(ran))
    known = [area for area in areas if area is not None]
    if known:
        yield {"data": data, "system": name, "seeds": len(known), "area": fmean(known)}


def levels(data_dir: Path, out: Path) -> Table:
    """Return the lines of attacks on each level, on some tables."""
    return in_parts("privacy", ATTACKED, lambda data: list(lines(data, data_dir)), out)


def attacks(data_dir: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of an attack on every system."""
    for data, name in product(COMPARED, SYSTEMS):
        yield attacked(name, data, data_dir)


def members(data_dir: Path, seeds: Sequence[int] = SEEDS) -> Iterator[dict[str, Any]]:
    """Yield the figures of membership inference on every system."""
    for data, name in product(COMPARED, SYSTEMS):
        yield from memberships(name, data, data_dir, seeds)


def _shares(kind: str, count: Reconstructed | None, rows: int) -> dict[str, int | None]:
    """Return the number of rows of a kind, and of those reconstructed exactly and within 10 %."""
    return {
        f"{kind}_rows": rows,
        f"{kind}_exact": None if count is None else count.exact,
        f"{kind}_within_10": None if count is None else count.within_10,
    }


TABLES = {"levels": levels, "attacks": attacks, "membership": members}

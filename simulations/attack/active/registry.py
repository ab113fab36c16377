"""The attacks of a malicious coordinator, and how they are run."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flower_pansvm.errors import PanSVMError
from flower_pansvm.registry import Registry
from simulations.engines.flower_log import quieter


@dataclass(frozen=True)
class Attempt:
    """The outcome of an attack."""

    got: str  # the coordinator's result
    allowed: str  # the result that the promise allows, or chance gives
    held: bool  # whether the promise held


@dataclass(frozen=True)
class ActiveAttack:
    """An attack of a malicious coordinator."""

    promise: str  # the promise that it attacks, as a sentence
    tries: str  # the coordinator's method, as a sentence
    play: Callable[[Path], Attempt]  # runs it, with an empty folder for hospitals and coordinator


ATTACKS: Registry[ActiveAttack] = Registry(
    "attack",
    {
        "chosen-moments": "simulations.attack.active.chosen_moments:play",
        "chosen-weights": "simulations.attack.active.chosen_weights:play",
        "grown-pilot": "simulations.attack.active.changed_tables:grow_pilot",
        "lost-site": "simulations.attack.active.lost_site:play",
        "memory": "simulations.attack.active.memory:play",
        "model-formula": "simulations.attack.active.model_file:play",
        "moved-ids": "simulations.attack.active.changed_tables:move_ids",
        "months": "simulations.attack.active.months:play",
        "old-backup": "simulations.attack.active.budget:put_back",
        "other-columns": "simulations.attack.active.budget:choose_other_columns",
        "renamed-label": "simulations.attack.active.changed_tables:rename_label",
        "rounding": "simulations.attack.active.rounding:change_slopes",
        "rounding-local": "simulations.attack.active.rounding:change_local_scores",
        "rounding-moments": "simulations.attack.active.rounding:change_moments",
        "rounding-scores": "simulations.attack.active.rounding:change_scores",
        "run-series": "simulations.attack.active.run_series:play",
        "schema-files": "simulations.attack.active.schema_files:play",
        "second-export": "simulations.attack.active.budget:export_again",
        "second-folder": "simulations.attack.active.budget:begin_anew",
        "second-source": "simulations.attack.active.changed_tables:merge_sources",
        "simulated-with-data": "simulations.attack.active.simulated_keys:ask_for_rows",
        "simulated-without-data": "simulations.attack.active.simulated_keys:name_a_file",
        "threshold": "simulations.attack.active.thresholds:play",
        "unit-change": "simulations.attack.active.changed_tables:change_unit",
    },
)
"""All attacks by name."""

NOT_PLAYED = (
    "Not played here: code in the coordinator's bundle, and another account on the hospital's machine. Both need real "
    "SuperNodes."
)


def refusal(error: PanSVMError) -> str:
    """Return the first sentence of a refusal, for the table."""
    return f"refused: {str(error).split('. ')[0]}"


def attack(*, promise: str, tries: str) -> Callable[[Callable[[Path], Attempt]], ActiveAttack]:
    """Return a decorator that makes an attack of a function."""
    return lambda play: ActiveAttack(promise, tries, play)


def play(chosen: ActiveAttack) -> Attempt:
    """Run an attack in a temporary folder, and return its outcome."""
    with tempfile.TemporaryDirectory() as folder, own_account(Path(folder)):
        return chosen.play(Path(folder) / "study")


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a ``with`` block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def own_account(folder: Path) -> Iterator[None]:
    """Keep the hospitals' state out of this account's folders, and their logs off the screen."""
    homes = {"XDG_STATE_HOME": str(folder / "state")}
    with quieter(logging.CRITICAL), variables(homes):
        yield

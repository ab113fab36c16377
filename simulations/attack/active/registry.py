"""The attacks of a malicious coordinator, and how they are run."""

import logging
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name

from flower_pansvm.errors import PanSVMError
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

    place: str  # ``module:function`` in this package that runs it, with an empty folder for hospitals and coordinator
    promise: str  # the promise that it attacks, as a sentence
    tries: str  # the coordinator's method, as a sentence

    def play(self, folder: Path) -> Attempt:
        """Run it, and return the outcome."""
        outcome: Attempt = resolve_name(f"{__package__}.{self.place}")(folder)
        return outcome


ATTACKS = {
    name: ActiveAttack(**entry)
    for name, entry in tomllib.loads(files(__package__).joinpath("attacks.toml").read_text("utf-8")).items()
}
"""All attacks by name."""

NOT_PLAYED = (
    "Not played here: code in the coordinator's bundle, and another account on the hospital's machine. Both need real "
    "SuperNodes."
)


def refusal(error: PanSVMError) -> str:
    """Return the first sentence of a refusal, for the table."""
    return f"refused: {str(error).split('. ')[0]}"


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

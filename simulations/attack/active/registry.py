"""What an attack is, and how all of them are played."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from flower_pansvm.errors import PanSVMError
from flower_pansvm.registry import Registry, import_modules


@dataclass(frozen=True)
class Attempt:
    """How an attack ended.

    Parameters
    ----------
    got : str
        What the coordinator got.
    allowed : str
        What the promise allows, or chance gives.
    held : bool
        Whether the promise held.
    """

    got: str
    allowed: str
    held: bool


@dataclass(frozen=True)
class ActiveAttack:
    """An attack of a coordinator that chooses everything.

    Parameters
    ----------
    name : str
        One word, for the command line.
    promise : str
        The promise that it attacks, as a sentence.
    tries : str
        What the coordinator does.
    play : callable
        Plays it, with an empty folder for hospitals and coordinator, and returns the end.
    """

    name: str
    promise: str
    tries: str
    play: Callable[[Path], Attempt]


ATTACKS: Registry[ActiveAttack] = Registry("attack")

NOT_PLAYED = (
    "Not played here: code in the coordinator's bundle, and another account on the hospital's machine. Both take real "
    "SuperNodes."
)


def refusal(error: PanSVMError) -> str:
    """Return the first sentence of a refusal, for the table: whether it is the one that was to come, a person sees."""
    return f"refused: {str(error).split('. ')[0]}"


def attack(
    name: str, *, promise: str, tries: str
) -> Callable[[Callable[[Path], Attempt]], Callable[[Path], Attempt]]:
    """Return a decorator of the function that plays an attack."""

    def enter(play: Callable[[Path], Attempt]) -> Callable[[Path], Attempt]:
        ATTACKS.register(name)(ActiveAttack(name, promise, tries, play))
        return play

    return enter


def chosen_attacks(names: Sequence[str] = ()) -> list[ActiveAttack]:
    """Return the attacks of these names, all without names; SettingError if there is none of a name."""
    import_modules(__package__ or "")
    return [ATTACKS[name] for name in names or ATTACKS]


def play(chosen: ActiveAttack) -> Attempt:
    """Play an attack, in a folder that is removed afterwards, and return how it ended."""
    with tempfile.TemporaryDirectory() as folder, own_account(Path(folder)):
        return chosen.play(Path(folder) / "study")


@contextmanager
def own_account(folder: Path) -> Iterator[None]:
    """Keep the hospitals' state and caches out of this account's folders, and their logs off the screen."""
    logger = logging.getLogger("flwr")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with patch.dict(
            os.environ, XDG_STATE_HOME=str(folder / "state"), XDG_CACHE_HOME=str(folder / "cache")
        ):
            yield
    finally:
        logger.setLevel(level)

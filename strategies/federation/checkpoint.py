"""The checkpoint of a run: every sum the coordinator has learned, written down as soon as it is known.

The coordinator's own computation is deterministic, so these sums are all that a run has to keep. A run that
resumes joins the sites anew, with new keys, and then takes the sums of the checkpoint instead of asking for them,
as far as they go. A checkpoint holds nothing that the coordinator has not seen anyway. For an audit it also holds what
the sites were asked and told, and stays when the run is over (:mod:`strategies.federation.transcript`).
"""

import json
from collections.abc import Callable, Mapping
from logging import INFO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.files import PRIVATE, complete_file
from flower_pansvm.records import Values, values_of
from flower_pansvm.tasks import Broadcast
from flower_pansvm.terms import Scalar
from strategies.federation.transcript import ASKED, LEARNED, ROSTER, TOLD, remove_transcript
from strategies.federation.transcript import FOLDER as TRANSCRIPT_FOLDER
from strategies.log import log
from strategies.settings import Settings

FOLDER = "checkpoint"
SETTINGS_FILE = "settings.json"
FREE_TO_CHANGE = ("out", "timeout", "min-sites", "resume", "audit")
"""Settings that do not change the result."""

M = TypeVar("M")

Sums = dict[str, Floats]


def config_before(folder: Path) -> dict[str, Scalar]:
    """Return the run config of the stopped run in a folder.

    Raises
    ------
    SettingError
        If the folder has no checkpoint.
    """
    try:
        config: dict[str, Scalar] = json.loads((folder / FOLDER / SETTINGS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingError(
            f"{folder} has no checkpoint to resume from. Name the folder of a run that was stopped; one that has "
            "finished leaves none."
        ) from None
    return config


def sums_in(folder: Path) -> int:
    """Return how many sums the checkpoint in a run's folder holds; 0 if it has none."""
    return len(_files(folder / FOLDER)) if (folder / FOLDER / SETTINGS_FILE).exists() else 0


def _files(folder: Path) -> list[Path]:
    """Return the files of the sums, in their order."""
    return sorted(path for path in folder.glob("[0-9]*.npz") if not path.stem.split("-")[1].isdigit())


class Checkpoint:
    """Writes a run's sums to a folder and, for a run that resumes, hands them out again.

    Parameters
    ----------
    folder : Path
        The run's folder; the checkpoint is the folder ``checkpoint`` in it. No other account can read it, nor the
        run's folder if it is made here.
    settings : Settings
        The run's settings. Without ``resume`` an earlier checkpoint in the folder is removed; with it, its files stay
        until the same entries are written over them. With ``audit`` questions and broadcasts are written down, too.

    Raises
    ------
    SettingError
        If the checkpoint to resume from is missing, damaged, or of a run with other settings.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder / FOLDER
        self.audited = settings.audit
        self.written = self._notes = 0
        self._ahead: list[tuple[str, tuple[str, ...], Sums]] = []
        if settings.resume:
            self._check_settings(settings)
            self._ahead = self._read()
            log(INFO, "resuming after %d sums", len(self._ahead))
        else:
            self.remove()
        remove_transcript(folder)
        # Exact sums and a model tell of single rows: no other account is to read them.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.chmod(0o700)
        text = json.dumps(settings.to_config(), indent=2)
        self._write(SETTINGS_FILE, lambda file: file.write(f"{text}\n".encode()))

    def next(self, task: str) -> tuple[tuple[str, ...], Sums] | None:
        """Return the sites and the sums of the next entry if it is of this task; None when there is none."""
        if not self._ahead:
            return None
        name, sites, sums = self._ahead.pop(0)
        if name != task:
            raise SettingError(
                f"The checkpoint holds the sums of '{name}' where this run asks for '{task}'. It was written by "
                "another version of flower-pansvm; start the run without resume."
            )
        return sites, sums

    def write(self, task: str, question: object, sites: tuple[str, ...], sums: Mapping[str, Floats]) -> None:
        """Add a sum that has come back, over these sites.

        It is complete on the disk or not there at all, and then a FederationError says why.
        """
        self.written, self._notes = self.written + 1, 0
        asked = values_of(question) if self.audited else {}
        learned = {LEARNED + name: total for name, total in sums.items()}
        self._save(f"{self.written:05d}-{task}", {**asked, **learned, ROSTER: list(sites)})

    def write_told(self, broadcast: Broadcast[M], message: M) -> None:
        """Add a broadcast, for an audit."""
        self._note(TOLD, broadcast.name, values_of(message))

    def write_asked(self, task: str, question: object, sites: tuple[str, ...]) -> None:
        """Add a question whose answers are disclosed, for an audit."""
        self._note(ASKED, task, {**values_of(question), ROSTER: list(sites)})

    def _note(self, kind: str, name: str, values: Values) -> None:
        if self.audited:
            self._notes += 1
            self._save(f"{self.written + 1:05d}-{self._notes:06d}-{kind}-{name}", values)

    def _save(self, name: str, values: Values) -> None:
        # An empty list would become one of numbers.
        arrays: dict[str, Any] = {
            key: np.array(value, dtype=np.str_) if isinstance(value, list) else value
            for key, value in values.items()
        }
        self._write(f"{name}.npz", lambda file: np.savez(file, **arrays))

    def _write(self, name: str, content: Callable[[BinaryIO], object]) -> None:
        """Write a file that no other account can read; FederationError if it cannot be written."""
        try:
            with (
                complete_file(self.folder / name, overwrite=True, mode=PRIVATE) as unfinished,
                unfinished.open("wb") as file,
            ):
                content(file)
        except OSError as error:
            raise FederationError(
                f"The checkpoint {self.folder} cannot be written: {error.strerror}. Its earlier sums are there. Make "
                "room, or set right who may write there, and go on with the run."
            ) from None

    def finish(self) -> None:
        """Delete the checkpoint of a run that has left its results; or make it the transcript that is audited."""
        if self.audited:
            (self.folder / SETTINGS_FILE).unlink()
            self.folder.rename(self.folder.parent / TRANSCRIPT_FOLDER)
        else:
            self.remove()

    def remove(self) -> None:
        """Delete the checkpoint: the run begins anew, or there is nothing to go on from."""
        # First what makes it one: of a checkpoint that is removed in part, no run may go on.
        for path in [self.folder / SETTINGS_FILE, *self.folder.glob("*.npz"), *self.folder.glob(".*")]:
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _check_settings(self, settings: Settings) -> None:
        before, now = config_before(self.folder.parent), settings.to_config()
        changed = [key for key in now if key not in FREE_TO_CHANGE and now[key] != before.get(key)]
        if changed:
            raise SettingError(
                f"The checkpoint is of a run with other settings: {', '.join(changed)}. Resume with the same "
                "settings, or start a new run."
            )

    def _read(self) -> list[tuple[str, tuple[str, ...], Sums]]:
        entries = []
        for number, path in enumerate(_files(self.folder), start=1):
            try:
                if int(path.stem.split("-")[0]) != number:
                    raise ValueError("the one before is missing")
                with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                    sites = tuple(map(str, file[ROSTER]))
                    learned = [name for name in file.files if name.startswith(LEARNED)]
                    sums = {name.removeprefix(LEARNED): file[name] for name in learned}
            except Exception as error:  # a damaged file makes zipfile and numpy raise nearly anything
                raise SettingError(
                    f"{path} is damaged, or the sum before it is missing. Remove it and all that come after it, and "
                    "resume again: what was computed before them is kept."
                ) from error
            entries.append((path.stem.split("-", 1)[1], sites, sums))
        return entries


def alike(now: Floats, before: Floats) -> bool:
    """Tell whether a sum is the same, but for how another processor or version of numpy may round."""
    return now.shape == before.shape and np.allclose(now, before, rtol=1e-9, atol=1e-6)

"""The checkpoint of a run: every sum that the coordinator has opened, written as soon as it is known.

The coordinator's own computation is deterministic, so these sums suffice to resume a run. A run that resumes joins the
sites anew, with new keys, and then takes the checkpoint's sums instead of requesting them. A checkpoint holds nothing
that the coordinator has not seen. For an audit it also holds questions and broadcasts, and stays when the run is over
(:mod:`strategies.federation.transcript`).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.files import PRIVATE, complete_file
from flower_pansvm.log import logger
from flower_pansvm.records import Values, values_of
from flower_pansvm.tasks import Broadcast
from flower_pansvm.terms import Scalar
from strategies.federation.transcript import BROADCAST, LEARNED, QUESTION, ROSTER, remove_transcript
from strategies.federation.transcript import FOLDER as TRANSCRIPT_FOLDER
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
    """Return the number of sums in the checkpoint of a run's folder; 0 without a checkpoint."""
    return len(_files(folder / FOLDER)) if (folder / FOLDER / SETTINGS_FILE).exists() else 0


def _files(folder: Path) -> list[Path]:
    """Return the files of the sums, in order."""
    return sorted(path for path in folder.glob("[0-9]*.npz") if not path.stem.split("-")[1].isdigit())


class Checkpoint:
    """Writes a run's sums to a folder, and returns them to a run that resumes.

    Parameters
    ----------
    folder : Path
        The run's folder; the checkpoint is the folder ``checkpoint`` in it. No other account can read it, nor the
        run's folder if the checkpoint creates it.
    settings : Settings
        The run's settings. Without ``resume`` an earlier checkpoint in the folder is removed; with it, its files stay
        until the same entries replace them. With ``audit`` questions and broadcasts are written, too.

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
            logger.info("resuming after %d sums", len(self._ahead))
        else:
            self.remove()
        remove_transcript(folder)
        # Exact sums and a model can reveal single rows: no other account may read them.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.chmod(0o700)
        text = json.dumps(settings.to_config(), indent=2)
        self._write(SETTINGS_FILE, lambda file: file.write(f"{text}\n".encode()))

    def next(self, task: str) -> tuple[tuple[str, ...], Sums] | None:
        """Return the sites and the sums of the next entry, which must be of this task; None after the last."""
        if not self._ahead:
            return None
        name, sites, sums = self._ahead.pop(0)
        if name != task:
            raise SettingError(
                f"The checkpoint holds the sums of '{name}' where this run needs '{task}'. Another version of "
                "flower-pansvm wrote it; start the run without resume."
            )
        return sites, sums

    def write(self, task: str, question: object, sites: tuple[str, ...], sums: Mapping[str, Floats]) -> None:
        """Add a sum over these sites.

        Raises
        ------
        FederationError
            If it cannot be written; then no part of it is on the disk.
        """
        self.written, self._notes = self.written + 1, 0
        inputs = values_of(question) if self.audited else {}
        learned = {LEARNED + name: total for name, total in sums.items()}
        self._save(f"{self.written:05d}-{task}", {**inputs, **learned, ROSTER: list(sites)})

    def write_broadcast(self, broadcast: Broadcast[M], message: M) -> None:
        """Add a broadcast, for an audit."""
        self._note(BROADCAST, broadcast.name, values_of(message))

    def write_question(self, task: str, question: object, sites: tuple[str, ...]) -> None:
        """Add a question whose answers are disclosed, for an audit."""
        self._note(QUESTION, task, {**values_of(question), ROSTER: list(sites)})

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
            if not self.folder.exists():
                raise FederationError(
                    f"The checkpoint {self.folder} was removed while the run went on, and its sums with it. Start the "
                    "run anew, and leave the folder alone until the run has ended."
                ) from None
            raise FederationError(
                f"The checkpoint {self.folder} cannot be written: {error.strerror}. Its earlier sums are kept. Free "
                "disk space, or correct the folder's permissions, and resume the run."
            ) from None

    def finish(self) -> None:
        """Delete the checkpoint of a run that has written its results, or make it the transcript of an audit."""
        if self.audited:
            (self.folder / SETTINGS_FILE).unlink()
            self.folder.rename(self.folder.parent / TRANSCRIPT_FOLDER)
        else:
            self.remove()

    def remove(self) -> None:
        """Delete the checkpoint."""
        # The settings first: without them no run resumes from a checkpoint that is removed in part.
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
        for index, path in enumerate(_files(self.folder), start=1):
            try:
                if int(path.stem.split("-")[0]) != index:
                    raise ValueError("the sum before is missing")
                with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                    sites = tuple(map(str, file[ROSTER]))
                    learned = [name for name in file.files if name.startswith(LEARNED)]
                    sums = {name.removeprefix(LEARNED): file[name] for name in learned}
            except Exception as error:  # a damaged file makes zipfile and numpy raise nearly anything
                raise SettingError(
                    f"{path} is damaged, or the sum before it is missing. Remove it and all that come after it, and "
                    "resume again: earlier sums are kept."
                ) from error
            entries.append((path.stem.split("-", 1)[1], sites, sums))
        return entries


def alike(now: Floats, before: Floats) -> bool:
    """Return whether two sums are equal within the rounding of other processors and versions of numpy."""
    return now.shape == before.shape and np.allclose(now, before, rtol=1e-9, atol=1e-6)

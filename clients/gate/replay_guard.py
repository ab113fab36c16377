"""One message at a time, each from the state that the last one left, which the site itself keeps.

Flower offers ``Context.state`` for that. Flower's own SuperNode saves it after the reply has left, and hands it to the
next run of a series, whatever app that is; this project's forgets it as it ends. So a hospital keeps its keys and all
else that it remembers of a run in a file of its state folder. The context gets the number of messages: where it is not
that of the file, an answer may have been forgotten, and the hospital gives no more.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from flwr.app import Context, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as Written

from clients.hospital import Hospital, hospital_of
from clients.state_folder import state_folder
from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.files import lock

STATE = "pansvm.turn"
"""All that a hospital's context holds: how many messages of which run it has answered."""

FOLDER = "runs"
NUMBER_BYTES = 8  # at the start of a run's file

SECONDS_KEPT = 7 * 24 * 3600.0
"""How long a run is remembered after its last message; a later one is refused, and the run's keys are gone."""

_locks: defaultdict[tuple[int, int], Lock] = defaultdict(Lock)
_one_lock_each = Lock()


@contextmanager
def turn(context: Context) -> Iterator[Hospital]:
    """Yield the hospital as soon as the site does nothing else in this run; other messages wait until the block ends.

    FederationError if its state of the run is not that of the last message; or what :func:`hospital_of`
    raises.
    """
    with _one_lock_each:
        run_lock = _locks[context.run_id, context.node_id]
    with run_lock:
        hospital = hospital_of(context)
        if hospital.simulated:
            yield hospital
            return
        with _remembered(context, hospital.name, state_folder(hospital) / FOLDER) as state:
            yield replace(hospital, state=state)


@contextmanager
def _remembered(context: Context, name: str, folder: Path) -> Iterator[RecordDict]:
    """Read a hospital's state of a run, and write it back; no other process can change it in the meantime."""
    _remove_old(folder)
    path, noted = folder / f"{context.run_id}-{context.node_id}", records.get(context.state, STATE)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        lock(file, wait=True)
        content = file.read()
        count = int.from_bytes(content[:NUMBER_BYTES], "big")
        if count != (noted.get("number") if noted.get("run") == str(context.run_id) else 0):
            raise FederationError(
                f"Site '{name}' does not remember its last message of this run: another was answered at the same time, "
                "its process ended before Flower had saved its state, its SuperNode was started again, or its state "
                "folder was put back from a copy. So it cannot know which sums it has answered, and answers nothing "
                "more. Start a new run."
            )
        # Before the message is answered: a process that ends in the middle leaves a number that is too high.
        count += 1
        _overwrite(file, 0, count.to_bytes(NUMBER_BYTES, "big"))
        state = recorddict_from_proto(Written.FromString(content[NUMBER_BYTES:]))
        try:
            yield state
        finally:
            _overwrite(file, NUMBER_BYTES, recorddict_to_proto(state).SerializeToString())
            file.truncate()
            records.put(context.state, STATE, {"run": str(context.run_id), "number": count})


def _overwrite(file: BinaryIO, offset: int, content: bytes) -> None:
    file.seek(offset)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _remove_old(folder: Path) -> None:
    """Make the folder if there is none, and remove the files of runs that are long over."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process has removed it
            if time.time() - path.stat().st_mtime > SECONDS_KEPT:
                path.unlink()

"""One message at a time, and each from where the last one left off.

What a site remembers of a run, such as which sums it has answered, is in Flower's ``Context.state``. Flower hands each
message's process a copy and takes it back when the process ends, after the reply has left. So a message that comes
early, or after a process that died, would find the state of before the last reply, and the site would forget that it
gave one. A hospital therefore counts its messages in a file besides, and answers none that does not follow the last.
"""

import os
import secrets
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock

from flwr.app import Context

from clients.gate.state_folder import state_folder
from clients.gate.terms import site_name
from flower_pansvm import records
from flower_pansvm.errors import FederationError

STATE = "turn"
FOLDER = "runs"

SECONDS_KEPT = 60 * 24 * 3600.0
"""How long the count of a run is kept after its last message; a later one is refused."""

_locks: defaultdict[tuple[int, int], Lock] = defaultdict(Lock)
_one_lock_each = Lock()


@contextmanager
def turn(context: Context) -> Iterator[None]:
    """Wait until the site does nothing else in this run; FederationError if its state is not what the last one left."""
    with _one_lock_each:
        own = _locks[context.run_id, context.node_id]
    with own:
        folder = state_folder(context)
        with nullcontext() if folder is None else _counted(context, folder / FOLDER):
            yield


@contextmanager
def _counted(context: Context, folder: Path) -> Iterator[None]:
    """Count a message in a file that no other process can change in the meantime."""
    import fcntl  # noqa: PLC0415 - not on every system that simulates

    values = records.get(context.state, STATE)
    name, number = values.get("name") or _new_name(folder), values.get("number", 0)
    with os.fdopen(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if int(file.read() or 0) != number:
            raise FederationError(
                f"Site '{site_name(context)}' does not remember its last message of this run: another was answered at "
                "the same time, or its process ended before Flower had saved what it remembers. So it cannot know "
                "which sums it has answered, and answers nothing more. Start a new run."
            )
        # Before the message is answered: a process that ends in the middle leaves a count that is too high.
        file.seek(0)
        file.write(str(number + 1))
        file.flush()
        os.fsync(file.fileno())
        records.put(context.state, STATE, {"name": name, "number": number + 1})
        yield


def _new_name(folder: Path) -> str:
    """Return the name of a new count, after removing those of runs that are long over."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in folder.iterdir():
        if time.time() - path.stat().st_mtime > SECONDS_KEPT:
            path.unlink(missing_ok=True)
    return secrets.token_hex(16)

"""What a SuperNode says of itself in a file of the hospital's folder, for ``pansvm hospital start`` and ``status``."""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

from clients.ledger.ledger import now
from flower_pansvm.files import PRIVATE, write

STATUS_FILE, RUNNING_FILE = "supernode.json", "supernode.running"
"""In a hospital's folder: this file, and the one that ``start`` holds a lock on."""

REFUSED, UNUSABLE = 3, 4
"""A SuperNode's exit codes: the coordinator's server does not let it in; something has to be mended here first."""


class NodeStatus:
    """The file: what is below, and ``config``, ``software`` and ``written``."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / STATUS_FILE, threading.Lock()
        self._content: dict[str, Any] = {
            **{"started": now(), "connected_since": None, "trouble": "", "question": None, "answering": False}
        }
        self.set()

    def get(self, name: str) -> Any:
        """Return an entry."""
        return self._content[name]

    def set(self, **entries: Any) -> None:
        """Change entries and write the file; on a full disk it is old or empty, and its time says that one lives."""
        with self._lock:
            self._content |= entries
            text = json.dumps({**self._content, "written": now()})
            try:
                write(self._path, text, overwrite=True, mode=PRIVATE)
            except OSError:
                with contextlib.suppress(OSError):
                    self._path.touch(PRIVATE)

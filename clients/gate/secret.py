"""The secret from which a site makes all the random numbers that hide its rows in exact sums.

It follows from a long-lived key of the hospital and from its table, not from the run: who starts the same run again,
or resumes it, gets the same noise again and has nothing to take a mean of. A table that has changed has another
secret: else the difference of two runs would be the change, without any noise.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from clients.gate.state_folder import state_folder
from clients.site import Site
from clients.table.table import Table
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields

SECRET = "blur"  # what a site calls it among its secrets of a run

KEY_FILE = "noise.key"
KEY_BYTES = 32


def secret_of(site: Site) -> bytes:
    """Return the site's secret, 32 bytes; in a simulation it follows from the seed, so that runs repeat."""
    folder = state_folder(site.context)
    if folder is None:
        seed = str(site.context.run_config.get("seed", 0)).encode()
        return hashlib.sha256(join_fields(tags.BLUR, seed, site.name.encode())).digest()
    try:
        key = _key(folder / KEY_FILE)
    except OSError as error:
        raise SettingError(
            f"Site '{site.name}' cannot read or write '{KEY_FILE}' in its state folder ({type(error).__name__}). "
            "Give the SuperNode's account a folder of its own with state='/an/absolute/path' in the node config."
        ) from None
    return hmac.digest(key, join_fields(tags.BLUR, _digest(site.table())), "sha256")


def _key(path: Path) -> bytes:
    """Return the hospital's key, made when there is none; of two processes that make one, the first wins."""
    if not path.exists():
        # Only this account can read it. It gets its name when it is complete.
        with tempfile.NamedTemporaryFile(dir=path.parent) as unfinished, suppress(FileExistsError):
            unfinished.write(secrets.token_bytes(KEY_BYTES))
            unfinished.flush()
            os.fsync(unfinished.fileno())
            os.link(unfinished.name, path)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise SettingError(
            f"'{KEY_FILE}' in the site's state folder is damaged: it has not {KEY_BYTES} bytes. Put back a copy; a new "
            "key (delete the file) makes new noise, so that runs before and after it can be compared."
        )
    return key


def _digest(table: Table) -> bytes:
    """Return a digest of all that is in a table."""
    digest = hashlib.sha256(join_fields(*(column.encode() for column in table.columns)))
    digest.update(repr(table.X.shape).encode())
    for start in range(0, len(table.X), 100_000):
        digest.update(table.X[start : start + 100_000].astype("<f8").tobytes())
    if table.labels is not None:
        digest.update(join_fields(*(str(label).encode() for label in table.labels)))
    return digest.digest()

"""The folder in which a hospital keeps what must outlive a run.

Flower's own state ends with the SuperNode and with the run. What protects a hospital from many runs, such as the
number of its refusals, must not.
"""

import os
import stat
from pathlib import Path
from urllib.parse import quote

from flwr.app import Context

from clients.gate.terms import is_simulated, site_name
from flower_pansvm.errors import SettingError


def state_folder(context: Context) -> Path | None:
    """Return this hospital's own folder, made if it is not there; None for a simulated site.

    It is what the node config's ``state`` says; without that key ``pansvm/site-NAME`` in the account's state folder,
    ``$XDG_STATE_HOME`` or ``~/.local/state``, so that several sites of one account do not share it. A site without a
    name has ``pansvm/site``: the number of its node is a new one after each start. A folder that cannot be used is a
    SettingError, whose text names the key and not the folder: it may travel.
    """
    if is_simulated(context):
        return None
    folder = _folder(context)
    if not folder.is_absolute():
        raise _refusal(context, "is no absolute path")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = is_private(folder)
    except OSError as error:
        raise _refusal(context, f"cannot be used ({type(error).__name__})") from None
    if not private:
        raise _refusal(context, "is open to other accounts or belongs to one (chmod 700 closes it)")
    return folder


def is_private(path: Path) -> bool:
    """Return whether a file or folder is this account's own and closed to all others."""
    status = path.stat()
    return status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0 and status.st_uid == os.getuid()


def _folder(context: Context) -> Path:
    node = context.node_config
    if "state" in node:
        return Path(os.path.expanduser(str(node["state"])))
    home = Path(os.path.expanduser(os.environ.get("XDG_STATE_HOME") or "~/.local/state"))
    return home / "pansvm" / (f"site-{quote(str(node['name']), safe='')}" if "name" in node else "site")


def _refusal(context: Context, problem: str) -> SettingError:
    return SettingError(
        f"The state folder of site '{site_name(context)}' {problem}. Write state='/an/absolute/path' into its node "
        "config: a folder of this SuperNode's account that no other account may enter, and that is kept from run to "
        "run."
    )

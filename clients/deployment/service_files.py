"""What keeps a SuperNode running: a unit for systemd."""

import getpass
import shlex
import sys
from pathlib import Path

from clients.ledger.home import tables_home

UNIT = """\
# systemd unit of the SuperNode of '{name}'. As root:
#   cp {file} /etc/systemd/system/pansvm-hospital.service && systemctl enable --now pansvm-hospital
# Its log: journalctl -u pansvm-hospital
[Unit]
Description=flower-pansvm SuperNode
After=network-online.target
Wants=network-online.target

[Service]
# The account that made the hospital's folder and has the ledgers of its tables: `pansvm hospital init` was run in it.
User={user}
ExecStart={python} -P -m flower_pansvm hospital start --folder {folder}
WorkingDirectory={unquoted}
Environment=PYTHONUNBUFFERED=1
Environment={state}
Restart=on-failure
RestartSec=60
KillMode=control-group
UMask=0077
# A question that would take more ends the process, and not the machine. A large table may need more memory.
MemoryMax=80%
TasksMax=256
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ReadWritePaths={folder} {tables}

[Install]
WantedBy=multi-user.target
"""


def unit(folder: Path, name: str) -> str:
    """Return the systemd unit of a hospital."""
    return UNIT.format(
        name=name,
        file=shlex.quote(str(folder / "pansvm-hospital.service")),
        folder=_quoted(folder),
        unquoted=str(folder).replace("%", "%%"),  # where systemd knows no quotation marks
        python=_quoted(sys.executable),
        user=getpass.getuser(),
        tables=_quoted(tables_home()),
        state=_quoted(f"XDG_STATE_HOME={tables_home().parent.parent}"),
    )


def _quoted(path: object) -> str:
    """Return a path as systemd reads it: in quotation marks, with its own signs doubled."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'

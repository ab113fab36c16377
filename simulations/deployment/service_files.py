"""What keeps a SuperNode running: a unit for systemd; and the coordinator's web server."""

import getpass
import sys
from pathlib import Path

from clients.ledger.tables import tables_home

UNIT = """\
# systemd unit of the SuperNode of '{name}'. As root:
#   cp {file} /etc/systemd/system/pansvm-hospital.service && systemctl enable --now pansvm-hospital
# Its log: journalctl -u pansvm-hospital
[Unit]
Description=flower-pansvm SuperNode
After=network-online.target
Wants=network-online.target

[Service]
User={user}
ExecStart={python} -P -m simulations hospital start --folder {folder}
WorkingDirectory={unquoted}
Environment=PYTHONUNBUFFERED=1
Environment={state}
Restart=on-failure
RestartSec=60
KillMode=control-group
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ReadWritePaths={folder} {tables}

[Install]
WantedBy=multi-user.target
"""

NGINX = """\
# nginx in front of the SuperLink: lets hospitals' SuperNodes through and nothing else. Whoever reaches the SuperLink's
# own port may start runs and register keys, so that one listens on this machine only.
server {{
    listen {port} ssl;
    server_name {host};
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;

    location /v1/fleet/ {{
        proxy_pass https://127.0.0.1:{local_port};
        proxy_ssl_verify on;
        proxy_ssl_name localhost;
        proxy_ssl_trusted_certificate {folder}/ca.crt;
        client_max_body_size 0;
        proxy_read_timeout 300s;
    }}
    location / {{
        return 403;
    }}
}}
"""


def unit(folder: Path, name: str) -> str:
    """Return the systemd unit of a hospital."""
    return UNIT.format(
        name=name,
        file=folder / "pansvm-hospital.service",
        folder=_quoted(folder),
        unquoted=str(folder).replace("%", "%%"),  # where systemd knows no quotation marks
        python=_quoted(sys.executable),
        user=getpass.getuser(),
        tables=_quoted(tables_home()),
        state=_quoted(f"XDG_STATE_HOME={tables_home().parent.parent}"),
    )


def nginx(folder: Path, host: str, port: int, local_port: int) -> str:
    """Return the configuration of the web server in front of the coordinator's SuperLink."""
    return NGINX.format(folder=folder, host=host, port=port, local_port=local_port)


def _quoted(path: object) -> str:
    """Return a path as systemd reads it: in quotation marks, with its own signs doubled."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'

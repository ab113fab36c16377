"""What keeps a SuperNode running: a unit for systemd, or a container; and the coordinator's web server."""

import getpass
import json
import os
import shlex
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
ExecStart={python} -m simulations hospital start --folder {folder}
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

CONTAINER = """\
# Container of the SuperNode of a hospital. In the folder of the audited checkout of flower-pansvm:
#   podman build -f {file} -t pansvm-hospital .
#   podman run --rm --userns=keep-id {volumes} pansvm-hospital
# Paths are the same inside and outside, so that node.toml fits both. Nothing else of the folder gets into the image,
# where it would stay: keys and tables may be beside the checkout.
FROM docker.io/library/python:{version}-slim
COPY pyproject.toml README.md LICENSE /src/
COPY flower_pansvm /src/flower_pansvm
COPY clients /src/clients
COPY strategies /src/strategies
COPY simulations /src/simulations
RUN pip install --no-cache-dir '/src{extras}' && rm -rf /src && useradd --uid {uid} pansvm
USER pansvm
ENV XDG_STATE_HOME={state}
CMD {command}
"""

EXTRAS = {".xlsx": "[excel]", ".parquet": "[parquet]", ".sql": "[sql]"}
"""What has to be installed besides for some kinds of tables; a database's driver is the hospital's to add."""

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


def container_file(folder: Path, table: Path) -> str:
    """Return the container file of a hospital."""
    tables = tables_home()
    volumes = (f"{folder}:{folder}", f"{tables}:{tables}", f"{table}:{table}:ro")
    version = ".".join(map(str, sys.version_info[:2]))
    return CONTAINER.format(
        file=shlex.quote(str(folder / "Containerfile")),
        volumes=" ".join(f"-v {shlex.quote(one)}" for one in volumes),
        command=json.dumps(["pansvm", "hospital", "start", "--folder", str(folder)], ensure_ascii=False),
        version=version,
        state=json.dumps(str(tables.parent.parent), ensure_ascii=False),
        uid=max(os.getuid(), 1),
        extras=EXTRAS.get(table.suffix.lower(), ""),
    )


def nginx(folder: Path, host: str, port: int, local_port: int) -> str:
    """Return the configuration of the web server in front of the coordinator's SuperLink."""
    return NGINX.format(folder=folder, host=host, port=port, local_port=local_port)


def _quoted(path: object) -> str:
    """Return a path as systemd reads it: in quotation marks, with its own signs doubled."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'

"""The web server in front of a coordinator's SuperLink."""

from pathlib import Path

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


def nginx(folder: Path, host: str, port: int, local_port: int) -> str:
    """Return the configuration of the web server in front of the coordinator's SuperLink."""
    return NGINX.format(folder=folder, host=host, port=port, local_port=local_port)

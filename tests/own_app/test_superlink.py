"""The page's two apps on a real SuperLink: TLS, SuperNodes that authenticate, and Flower's own commands."""

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from flower_pansvm.models.model import load_model
from flower_pansvm.study.certificates import make_certificates
from flower_pansvm.study.processes import flower_environment, free_port, started_process
from tests.own_app.test_own_app import written
from tests.strategies.test_deployment import wait_for

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "secure_sums"
NODES = 3

Run = Callable[..., str]


@pytest.fixture
def flwr_run(tmp_path: Path) -> Iterator[Run]:
    """Return a function that runs an app on three SuperNodes, and returns what `flwr run` prints."""
    for name, text in make_certificates("localhost").items():
        (tmp_path / name).write_bytes(text)
    address, home = f"localhost:{free_port()}", tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "study"\n[superlink.study]\naddress = "{address}"\n'
        f'root-certificates = "{tmp_path / "ca.crt"}"\n'
    )
    authority, settings = ["--root-certificates", str(tmp_path / "ca.crt")], flower_environment(home)

    def flwr(*arguments: str) -> str:
        done = subprocess.run(
            ["flwr", *arguments], env=settings, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(app: Path, *options: str) -> str:
        said = flwr("run", str(app), "study", "--stream", *options)
        newest = json.loads(flwr("ls", "study", "--format", "json"))["runs"][0]
        assert newest["status"] == "finished:completed", said
        return said

    with contextlib.ExitStack() as running:

        def start(name: str, *command: str) -> None:
            running.enter_context(
                started_process(list(command), tmp_path, settings, tmp_path / f"{name}.log")
            )

        server = ["--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem"]
        server += ["--ssl-keyfile", "server.key"]
        server += ["--enable-supernode-auth", "--host", "127.0.0.1", "--port", address.partition(":")[2]]
        start("superlink", "flower-superlink", *server, "--disable-runtime-dependency-installation")
        wait_for(int(address.partition(":")[2]))
        for number in range(NODES):
            key, private = generate_private_key(SECP384R1()), tmp_path / f"node{number}"
            private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
            public = tmp_path / f"node{number}.pub"
            public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
            flwr("supernode", "register", str(public), "study", "--name", f"hospital-{number}")
            node = ["--superlink", address, "--auth-supernode-private-key", str(private)]
            node += ["--port", str(free_port())]
            node += ["--node-config", f"partition-id={number} num-partitions={NODES}"]
            start(f"node{number}", "flower-supernode", *authority, *node)
        yield run


@pytest.mark.slow(minutes=2)
def test_both_apps_run_on_a_superlink_with_tls_and_nodes_that_authenticate(
    tmp_path: Path, flwr_run: Run
) -> None:
    (own := tmp_path / "own").mkdir()
    flwr_run(written(own))
    assert load_model(own / "model.npz").schema_.classes == ("0", "1", "2")
    network = Path(shutil.copytree(EXAMPLE, tmp_path / "network"))
    server = network / "digits" / "server.py"
    # In the second round there is all that the others have; tests/secagg/test_example.py has all five.
    assert server.read_text().count("5") == 2
    server.write_text(server.read_text().replace("5", "2"))
    accuracy = []
    for protocol in ("k-secure", "double-mask"):
        said = flwr_run(network, "--run-config", f"protocol='{protocol}'")
        accuracy += re.findall(r"accuracy (0\.\d+)", said)
    assert len(accuracy) == 2
    assert accuracy[0] == accuracy[1]
    assert float(accuracy[0]) > 0.8

"""Only the installed software answers, whatever bundle is sent; and only this hospital's own two processes meet.

The SuperNode is Flower's own, with its HTTP API and TLS, but for the connection to a SuperLink: the test is that.
"""

import io
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import uvicorn
from flwr.app import Context, Message, RecordDict
from flwr.cli.build import build_fab_from_disk
from flwr.supercore.constant import TaskType
from flwr.supercore.fab import Fab
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.main import create_app
from flwr.supernode.nodestate import NodeState, NodeStateFactory
from flwr.supernode.start_client_internal import _insert_message

from clients.budget import new_ledger
from clients.executor import answer, wait_for_task
from flower_pansvm import records
from flower_pansvm.bundle import check_bundle, hash_of, installed_files
from flower_pansvm.errors import FederationError
from flower_pansvm.systems.common import JoinQuestion
from flower_pansvm.version import VERSION
from simulations.deployment.certificates import make_certificates
from simulations.engines.processes import free_port

ROOT = Path(__file__).parents[2]
TRAVERSAL = f"{VERSION}.b6bd5424/../../../dir/x/."
NOBODY = 65534

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")


@pytest.fixture(scope="session")
def bundle() -> bytes:
    """Return the bundle that an honest coordinator sends."""
    return build_fab_from_disk(ROOT)


def changed(bundle: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """Return a bundle with other files; change gets their contents by name."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as source:
        files = {name: source.read(name) for name in source.namelist()}
    change(files)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return made.getvalue()


def twice(bundle: bytes) -> bytes:
    made = io.BytesIO(bundle)
    with zipfile.ZipFile(made, "a") as target, pytest.warns(UserWarning, match="Duplicate name"):
        target.writestr("clients/app.py", b"evil = 1\n")
    return made.getvalue()


def of_a_false_size(bundle: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a bundle with a file of 64 MB of zeros that says it has as many bytes as the installed one."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as source, zipfile.ZipFile(made, "w", compression) as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, bytes(2**26) if name == "clients/app.py" else content)
            if name == "clients/app.py":
                target.getinfo(name).file_size = len(content)
    return made.getvalue()


def put(name: str, content: bytes) -> Callable[[bytes], bytes]:
    return lambda bundle: changed(bundle, lambda files: files.update({name: content}))


def lacking(name: str) -> Callable[[bytes], bytes]:
    return lambda bundle: changed(bundle, lambda files: files.pop(name))


APP = (ROOT / "clients" / "app.py").read_bytes()
BAD_BUNDLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "changed client code": (put("clients/app.py", APP + b"evil = 1\n"), "clients/app.py"),
    "changed code of the same length": (put("clients/app.py", APP[:-1] + b" "), "clients/app.py"),
    "changed strategy": (put("strategies/app.py", b"evil = 1\n"), "strategies/app.py"),
    "an older one, that lacks a file": (lacking("clients/executor.py"), "clients/executor.py"),
    "a new module": (put("clients/evil.py", b"evil = 1\n"), "files that are not installed"),
    "another package": (put("numpy/__init__.py", b"evil = 1\n"), "files that are not installed"),
    "a path upwards": (put("../../evil.py", b"evil = 1\n"), "files that are not installed"),
    "no Python": (put("sitecustomize.pth", b"import evil\n"), "files that are not installed"),
    "a file twice": (twice, "clients/app.py"),
    "a file that unpacks to much": (put("clients/app.py", b"\0" * 10**8), "clients/app.py"),
    "a file that says less than it unpacks to": (of_a_false_size, "no bundle"),
    "another compression": (lambda bundle: of_a_false_size(bundle, zipfile.ZIP_BZIP2), "no bundle"),
    "no bundle": (lambda bundle: bundle[: len(bundle) // 2], "no bundle"),
    "nothing": (lambda _: b"", "no bundle"),
}


@pytest.mark.parametrize("bad", BAD_BUNDLES)
def test_a_bundle_that_is_not_what_is_installed_is_refused(bad: str, bundle: bytes) -> None:
    change, named = BAD_BUNDLES[bad]
    with pytest.raises(FederationError) as refused:
        check_bundle(change(bundle), VERSION)
    assert named in str(refused.value)
    assert hash_of(installed_files()) in str(refused.value)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bundle_takes_no_more_memory_than_what_is_installed(compression: int, bundle: bytes) -> None:
    bad = of_a_false_size(bundle, compression)
    tracemalloc.start()
    with pytest.raises(FederationError):
        check_bundle(bad, VERSION)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("version", [TRAVERSAL, "0.0.9", "", "\x1b[2J"])
def test_a_bundle_of_another_version_is_refused(version: str, bundle: bytes) -> None:
    with pytest.raises(FederationError, match="version") as refused:
        check_bundle(bundle, version)
    assert "\x1b" not in str(refused.value)


def test_the_hash_is_the_one_that_two_commands_print(tmp_path: Path) -> None:
    """Of the bundle's files, that is: those of developers are not in it."""
    files = installed_files()
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "flower_pansvm" / "secure_sum" / "testing.py").write_text("1")
    command = (
        "find clients flower_pansvm strategies -name '*.py' ! -name testing.py"
        " ! -path '*/secure_sum/rehearsal.py' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    )
    if shutil.which("sha256sum") is None:
        pytest.skip("no GNU tools")
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == hash_of(files)


def request(kind: str = "query.join") -> Message:
    content = RecordDict()
    records.write(content, "inputs", JoinQuestion((), ("0", "1")))
    return Message(content, dst_node_id=1, message_type=kind)


@dataclass
class SuperNode:
    """Flower's SuperNode of a hospital, with one message for its ClientApp."""

    address: str
    folder: Path  # with secret, ca.crt
    state: NodeState
    factory: NodeStateFactory

    def queue(self, bundle: bytes, version: str, node: dict[str, str], kind: str = "query.join") -> None:
        fab_hash = self.state.store_fab(Fab("", bundle, {}))
        run = replace(Run.create_empty(1), fab_id="flower-pansvm/flower-pansvm", series_id=5)
        self.state.store_run(replace(run, fab_version=version, fab_hash=fab_hash))
        config = {"sites": 1, "strategy": "svm-admm"}
        context = Context(run_id=1, node_id=1, node_config=node, state=RecordDict(), run_config=config)
        self.state.set_run_series_context(5, context)
        self.state.create_task(TaskType.CLIENT_APP, 1, fab_hash)
        # A run in this process, of an earlier test, has left its own.
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 0
        _insert_message(request(kind), self.state, self.factory.objectstore_factory.store())

    def reply(self) -> Message | None:
        replies = self.state.get_messages_legacy(is_reply=True)
        return replies[0] if replies else None


@pytest.fixture
def supernode(tmp_path: Path) -> Iterator[SuperNode]:
    own = tmp_path / "executor"
    own.mkdir(mode=0o700)
    (own / "secret").write_bytes(secrets.token_bytes(32))
    for name, content in make_certificates("localhost").items():
        (own / name).write_bytes(content)
    factory = NodeStateFactory(objectstore_factory=ObjectStoreFactory())
    factory.state().set_node_id(1)
    config = uvicorn.Config(
        create_app(factory, superexec_auth_secret=(own / "secret").read_bytes()),
        **{"host": "127.0.0.1", "port": free_port(), "log_level": "critical", "ws": "none"},
        **{"ssl_certfile": own / "server.pem", "ssl_keyfile": own / "server.key"},
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    yield SuperNode(f"127.0.0.1:{config.port}", own, factory.state(), factory)
    server.should_exit = True
    thread.join(10)


def execute(supernode: SuperNode, home: Path, **changes: Path) -> "subprocess.CompletedProcess[str]":
    files = {"secret": supernode.folder / "secret", "authority": supernode.folder / "ca.crt", **changes}
    command = [sys.executable, "-P", "-m", "clients.executor", supernode.address]
    command += ["--secret", str(files["secret"]), "--authority", str(files["authority"])]
    environment = {**os.environ, "FLWR_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        command, cwd=home.parent, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def node(hospital_files: list[Path], tmp_path: Path, state_home: Path) -> dict[str, str]:
    """Return the node config of a hospital that has begun its table's ledger."""
    new_ledger(tmp_path / "state", 0.2)
    state = str(tmp_path / "state")
    return {"data": str(hospital_files[0]), "name": "north", "privacy": "exact", "state": state}


@pytest.mark.slow
def test_a_message_is_answered_by_the_installed_software_and_its_state_goes_on(
    supernode: SuperNode, bundle: bytes, node: dict[str, str], tmp_path: Path
) -> None:
    supernode.queue(bundle, VERSION, node)
    done = execute(supernode, tmp_path / "home")
    assert done.returncode == 0, done.stdout + done.stderr
    reply = supernode.reply()
    assert not reply.has_error(), reply.error
    context = supernode.state.get_run_series_context(5)
    assert context.state  # what the site remembers of the run
    assert not (tmp_path / "home").exists()  # nothing was unpacked


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["code", "version"])
def test_nothing_of_a_changed_bundle_is_run_and_both_sides_are_told_why(
    attack: str, supernode: SuperNode, bundle: bytes, node: dict[str, str], tmp_path: Path
) -> None:
    """Flower's executor would load the app from a folder that the version names: there is one, for a trap."""
    marker, home = tmp_path / "marker", tmp_path / "home"
    evil = f"open({str(marker)!r}, 'w')\n".encode()
    for trap in (home / "apps" / "dir" / "x", tmp_path / "dir" / "x", tmp_path / "x", tmp_path):
        (trap / "clients").mkdir(parents=True, exist_ok=True)
        (trap / "clients" / "app.py").write_bytes(evil)
        (trap / "clients" / "__init__.py").write_bytes(evil)
    if attack == "code":
        supernode.queue(put("clients/app.py", evil + APP)(bundle), VERSION, node)
    else:
        supernode.queue(bundle, TRAVERSAL, node)
    done = execute(supernode, home)
    assert done.returncode == 0, done.stdout + done.stderr
    reply = supernode.reply()
    assert reply.error.code == FederationError.code
    for told in (done.stdout + done.stderr, reply.error.reason):
        assert "nothing of the coordinator's bundle was executed" in told
        assert ("clients/app.py" if attack == "code" else "its version") in told
    assert not marker.exists()
    assert reply.error.reason.startswith("Site 'north'")


def test_a_message_that_no_task_answers_gets_a_reply_without_its_text(bundle: bytes) -> None:
    context = Context(run_id=1, node_id=1, node_config={"name": "north"}, state=RecordDict(), run_config={})
    run = replace(Run.create_empty(1), fab_version=VERSION)
    reply = answer(request("query.nosuch"), context, run, bundle)
    assert reply.has_error()
    assert "nosuch" not in reply.error.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "told"), [("secret", "gives no task"), ("authority", "CERTIFICATE_VERIFY_FAILED")]
)
def test_who_has_not_the_secret_gets_no_task_and_who_has_not_the_certificate_hands_none_out(
    missing: str, told: str, supernode: SuperNode, bundle: bytes, node: dict[str, str], tmp_path: Path
) -> None:
    """Another account listens at the SuperNode's address and would choose the node config."""
    supernode.queue(bundle, VERSION, node)
    own = {"secret": secrets.token_bytes(32), "authority": make_certificates("localhost")["ca.crt"]}
    (tmp_path / "own").write_bytes(own[missing])
    done = execute(supernode, tmp_path / "home", **{missing: tmp_path / "own"})
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert supernode.reply() is None
    # The task is still there for the hospital's own executor.
    assert execute(supernode, tmp_path / "home").returncode == 0


def test_wait_for_task_returns_the_token_of_a_task(
    supernode: SuperNode, bundle: bytes, node: dict[str, str]
) -> None:
    supernode.queue(bundle, VERSION, node)
    own = supernode.folder
    token = wait_for_task(supernode.address, (own / "ca.crt").read_bytes(), (own / "secret").read_bytes())
    assert supernode.state.get_task_by_token(token) is not None

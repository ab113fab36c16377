"""Whether the coordinator's server answers, by TLS, with its own certificate: each party that is at fault is named."""

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.study.certificates import make_certificates
from flower_pansvm.study.connection import NotThereError, check_server
from flower_pansvm.study.processes import free_port

PEMS = dict[str, bytes]


@contextlib.contextmanager
def server(folder: Path, pems: PEMS | None) -> Iterator[int]:
    """Answer one connection: by TLS with a certificate, or in plain text."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                if pems is None:
                    connection.recv(1000)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    return
                for name, content in pems.items():
                    (folder / name).write_bytes(content)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(folder / "server.pem", folder / "server.key")
                context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=answer)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(10)


@pytest.fixture(scope="module")
def ours() -> PEMS:
    return make_certificates("coordinator.example.org")


def test_the_coordinators_server_is_known_by_all_its_names(ours: PEMS, tmp_path: Path) -> None:
    for host in ("localhost", "127.0.0.1"):
        with server(tmp_path, ours) as port:
            check_server(f"{host}:{port}", ours["ca.crt"].decode())


def test_another_authority_is_refused(ours: PEMS, tmp_path: Path) -> None:
    other = make_certificates("coordinator.example.org")
    with server(tmp_path, other) as port, pytest.raises(SettingError, match="authority") as caught:
        check_server(f"localhost:{port}", ours["ca.crt"].decode())
    assert not isinstance(caught.value, NotThereError)
    assert "poses as the coordinator" in str(caught.value)


def test_a_certificate_for_another_name_is_the_coordinators_fault(ours: PEMS, tmp_path: Path) -> None:
    with server(tmp_path, ours) as port, pytest.raises(SettingError, match="name"):
        _check_as("127.0.1.1", port, ours)


def _check_as(host: str, port: int, pems: PEMS) -> None:
    """Connect to this machine's server as if it were at another address."""
    usual = socket.create_connection
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", lambda _, timeout: usual(("127.0.0.1", port), timeout))
        check_server(f"{host}:{port}", pems["ca.crt"].decode())


def test_plain_text_where_tls_is_agreed_is_refused(ours: PEMS, tmp_path: Path) -> None:
    with server(tmp_path, None) as port, pytest.raises(SettingError, match="plain"):
        check_server(f"localhost:{port}", ours["ca.crt"].decode())


def test_where_nobody_answers_the_coordinator_may_come_later(ours: PEMS) -> None:
    with pytest.raises(NotThereError):
        check_server(f"localhost:{free_port()}", ours["ca.crt"].decode())


def test_a_name_that_is_not_known_is_told(ours: PEMS, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    with pytest.raises(NotThereError):
        check_server("no.such.host:443", ours["ca.crt"].decode())


@contextlib.contextmanager
def web_proxy(port: int, answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Take one connection, give an answer to what it asks for, and pass on to a port; the question is kept."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def pass_on() -> None:
            inside, _ = listening.accept()
            with inside, socket.create_connection(("127.0.0.1", port)) as outside:
                asked.append(inside.recv(4096))
                inside.sendall(answer)
                back = threading.Thread(target=_copy, args=(outside, inside))
                back.start()
                _copy(inside, outside)
                back.join(10)

        thread = threading.Thread(target=pass_on)
        thread.start()
        yield listening.getsockname()[1], asked
        thread.join(10)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.mark.usefixtures("no_proxies")
def test_the_hospitals_web_proxy_is_asked(
    ours: PEMS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(tmp_path, ours) as port, web_proxy(port, b"HTTP/1.1 200 OK\r\n\r\n") as (proxy, asked):
        monkeypatch.setenv("HTTPS_PROXY", f"http://ward:secret%21@127.0.0.1:{proxy}")
        check_server("coordinator.example.org:443", ours["ca.crt"].decode())
    (question,) = asked
    assert question.startswith(b"CONNECT coordinator.example.org:443 HTTP/1.")
    assert base64.b64encode(b"ward:secret!") in question


@pytest.mark.usefixtures("no_proxies")
def test_a_web_proxy_that_refuses_is_named(
    ours: PEMS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(tmp_path, ours) as port, web_proxy(port, b"HTTP/1.1 403 Forbidden\r\n\r\n") as (proxy, _):
        monkeypatch.setenv("HTTPS_PROXY", f"http://ward:secret@127.0.0.1:{proxy}")
        with pytest.raises(NotThereError, match=rf"proxy 127\.0\.0\.1:{proxy}, .*403 Forbidden") as caught:
            check_server("coordinator.example.org:443", ours["ca.crt"].decode())
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("no_proxies")
def test_no_proxy_is_asked_where_none_is_to_be(
    ours: PEMS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    with server(tmp_path, ours) as port:
        check_server(f"localhost:{port}", ours["ca.crt"].decode())
    monkeypatch.setenv("NO_PROXY", "127.0.1.1")
    with server(tmp_path, ours) as port, pytest.raises(SettingError, match="name"):
        _check_as("127.0.1.1", port, ours)

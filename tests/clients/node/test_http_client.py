"""A server that sends what no SuperLink does: the call ends, within memory and time, and so does nothing else."""

import contextlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from flwr.proto.fleet_pb2 import PullMessagesRequest, PullMessagesResponse
from flwr.supercore.error import ApiErrorCode, FlowerError

from clients.node import http_client as module
from clients.node.http_client import HttpClient, flower_error
from clients.systems import evaluation
from flower_pansvm.errors import FederationError

Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


def sent(code: int, body: bytes, **headers: str) -> Answer:
    def answer(to: Handler) -> None:
        to.send_response(code)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(body)

    return answer


class Evil(ThreadingHTTPServer):
    daemon_threads = True
    answer: Answer = staticmethod(sent(200, b""))
    asked: list[str]

    def handle_error(self, *_: object) -> None:  # of a client that has gone
        pass


@pytest.fixture
def server() -> Iterator[Evil]:
    class Answering(Handler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            made.asked.append(f"{self.path} {self.headers['accept-encoding']}")
            made.answer(self)

    with Evil(("127.0.0.1", 0), Answering) as made:
        made.asked = []
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def client(server: Evil) -> Iterator[HttpClient]:
    with HttpClient(f"http://127.0.0.1:{server.server_port}") as made:
        yield made


def test_an_honest_answer_is_read(client: HttpClient, server: Evil) -> None:
    assert client.PullMessages(PullMessagesRequest()) == PullMessagesResponse()
    assert server.asked[0].endswith(" identity")


def test_all_calls_go_over_one_connection_and_leave_it_to_the_next(client: HttpClient, server: Evil) -> None:
    """Each kept one of a hundred, and the next call waited in vain."""
    server.RequestHandlerClass.protocol_version = "HTTP/1.1"
    server.answer = sent(200, b"")
    connections = []
    server.process_request = lambda *one: (
        connections.append(one),
        ThreadingHTTPServer.process_request(server, *one),
    )
    for _ in range(150):
        client.PullMessages(PullMessagesRequest())
    assert len(connections) == 1
    server.answer = sent(502, b"")
    for _ in range(150):
        with pytest.raises(httpx.HTTPStatusError):
            client.PullMessages(PullMessagesRequest())
    assert len(connections) == 1


def test_an_answer_that_is_packed_is_not_unpacked(client: HttpClient, server: Evil) -> None:
    packer = zlib.compressobj(wbits=31)
    server.answer = sent(200, packer.compress(bytes(2**20)) + packer.flush(), content_encoding="gzip")
    with pytest.raises(FederationError, match="packed"):
        client.PullMessages(PullMessagesRequest())


def test_an_answer_is_read_as_far_as_the_longest_question(
    client: HttpClient, server: Evil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    server.answer = sent(200, PullMessagesResponse().SerializeToString() + b"\x12\0" * 5_000)
    assert len(client.PullMessages(PullMessagesRequest()).message_object_trees) == 0
    server.answer = sent(200, bytes(10_001))
    with pytest.raises(FederationError, match="more than"):
        client.PullMessages(PullMessagesRequest())


def test_the_largest_model_that_a_site_tests_can_be_sent() -> None:
    assert evaluation.MOST_BYTES + 2**16 < module.MOST_BYTES


def test_of_an_error_a_few_sentences_are_read(client: HttpClient, server: Evil) -> None:
    for headers in ({}, {"content_encoding": "gzip"}):
        server.answer = sent(502, bytes(2**20), **headers)
        with pytest.raises(httpx.HTTPStatusError) as caught:
            client.PullMessages(PullMessagesRequest())
        assert len(caught.value.response.content) < 2**19


def test_nobody_is_asked_elsewhere(client: HttpClient, server: Evil) -> None:
    server.answer = sent(307, b"", location=f"http://127.0.0.1:{server.server_port}/admin")
    with pytest.raises(httpx.HTTPStatusError):
        client.PullMessages(PullMessagesRequest())
    assert len(server.asked) == 1


def test_an_answer_that_comes_drop_by_drop_is_given_up(
    client: HttpClient, server: Evil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.3)

    def drip(to: Handler) -> None:
        to.send_response(200)
        to.send_header("content-length", "1000")
        to.end_headers()
        for _ in range(1000):
            to.wfile.write(b"\0")
            time.sleep(0.02)

    server.answer = drip
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        client.PullMessages(PullMessagesRequest())
    assert time.monotonic() - begun < 10


def test_a_head_that_never_ends_is_seen_from_outside(
    client: HttpClient, server: Evil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.0)
    held = threading.Event()

    def hold(to: Handler) -> None:
        held.wait(10)
        sent(200, b"")(to)

    server.answer = hold
    call = threading.Thread(target=client.PullMessages, args=(PullMessagesRequest(),))
    call.start()
    while time.monotonic() < client.due or not server.asked:
        time.sleep(0.01)
    held.set()
    call.join()


def test_a_server_of_another_release_does_not_end_the_process(client: HttpClient, server: Evil) -> None:
    error = FlowerError(ApiErrorCode.RUNTIME_VERSION_INCOMPATIBLE, "").to_json("go away")
    server.answer = sent(412, json.dumps(error).encode())
    with pytest.raises(httpx.HTTPStatusError) as caught:
        client.PullMessages(PullMessagesRequest())
    said = flower_error(caught.value.response)
    assert said is not None
    assert said.code == ApiErrorCode.RUNTIME_VERSION_INCOMPATIBLE


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"10000\r\n" + bytes(2**16) + b"\r\n"
BROKEN = {
    "chunks without end": (HEAD + b"transfer-encoding: chunked\r\n\r\n", CHUNK),
    "a chunk's head without end": (HEAD + b"transfer-encoding: chunked\r\n\r\n1;", b"a" * 2**16),
    "heads without end": (HEAD, b"x: " + b"y" * 2**15 + b"\r\n"),
    "no length and no end": (HEAD + b"\r\n", bytes(2**16)),
    "an error without end": (b"HTTP/1.1 500 E\r\ntransfer-encoding: chunked\r\n\r\n", CHUNK),
    "closed at once": (b"", b""),
    "closed in the middle": (HEAD + b"content-length: 100\r\n\r\nabc", b""),
    "another length": (HEAD + b"content-length: 1\r\n\r\nabcdef", b""),
    "two lengths": (HEAD + b"content-length: 3\r\ncontent-length: 5\r\n\r\nabcde", b""),
    "a length below zero": (HEAD + b"content-length: -5\r\n\r\nabcde", b""),
    "another protocol": (b"HTTP/1.1 101 S\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", b""),
    "no HTTP": (b"\x16\x03\x01 \r\n\r\n", b""),
    "a code that is none": (b"HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n", b""),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_not_http_is_an_error_of_one_call(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 2**20)
    first, again = BROKEN[fault]

    def answer() -> None:
        with listening.accept()[0] as to, contextlib.suppress(OSError):
            to.recv(2**16)
            to.sendall(first)
            while again:
                to.sendall(again)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        with (
            HttpClient(f"http://127.0.0.1:{listening.getsockname()[1]}") as client,
            pytest.raises((httpx.HTTPError, ValueError, FederationError)),
        ):
            client.PullMessages(PullMessagesRequest())
        thread.join()


@pytest.mark.parametrize("text", ["[" * 10_000, '{"code": ' + "1" * 5_000, "no JSON", ""])
def test_an_error_that_no_parser_takes_is_somebody_elses(text: str) -> None:
    assert flower_error(httpx.Response(403, text=text)) is None

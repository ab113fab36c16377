"""Web proxies of the machine: programs that speak to this machine only know of none, and a SuperNode of one."""

import contextlib
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import httpx
import pytest

from clients.deployment import supernode
from flower_pansvm.errors import SettingError
from flower_pansvm.study.connection import check_server, proxy_variables
from flower_pansvm.study.processes import flower_environment
from simulations.engines import flower_engine
from tests.deployment.conftest import Study

ADDRESS = "coordinator.example.org:443"
PROXIES = {
    "all by socks": {"ALL_PROXY": "socks5://127.0.0.1:1080"},
    "all by socks, small letters": {"all_proxy": "socks5h://127.0.0.1:1080"},
    "plain by socks": {"HTTP_PROXY": "socks5://127.0.0.1:1080"},
    "secure by socks": {"https_proxy": "socks5://127.0.0.1:1080"},
    "no url": {"ALL_PROXY": "proxy.hospital.example:port"},
    "no port": {"HTTPS_PROXY": "http://:3128"},
    "kind that nobody knows": {"ALL_PROXY": "carrier-pigeon://x"},
    "exception that is no name": {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "[::1"},
    "of gRPC": {"GRPC_PROXY": "http://127.0.0.1:9"},
    "blank": {"ALL_PROXY": " "},
    "all of them": dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"), "socks5://127.0.0.1:9"
    ),
}
"""What stops a client of Flower's before it has said a word, or sends what is for this machine elsewhere."""


@pytest.fixture(params=PROXIES)
def proxies(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, no_proxies: None
) -> dict[str, str]:
    for name, value in PROXIES[request.param].items():
        monkeypatch.setenv(name, value)
    return PROXIES[request.param]


def client_works(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a client of Flower's kind can be made in a process with this environment, and asks no proxy."""
    with monkeypatch.context() as patch:
        for name in list(os.environ):
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        with httpx.Client() as client:
            return not any(client._mounts.values())


@pytest.mark.usefixtures("proxies")
def test_all_of_flowers_programs_are_started_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for environment in (flower_engine._environment(tmp_path, 1), flower_environment(tmp_path)):
        assert client_works(environment, monkeypatch)


def test_a_supernode_of_a_coordinator_on_this_machine_knows_none(
    proxies: dict[str, str], joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, str]] = []

    @contextlib.contextmanager
    def start(_: list[str], __: Path, environment: dict[str, str]) -> Iterator[None]:
        started.append(environment)
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(supernode, "started_process", start)
    with pytest.raises(KeyboardInterrupt):
        supernode.run_supernode(joined.hospitals["north"], print)
    assert client_works(started[0], monkeypatch)


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ({"ALL_PROXY": "p:3128"}, "http://p:3128"),
        ({"HTTPS_PROXY": "http://p:3128", "HTTP_PROXY": "socks5://s:1"}, "http://p:3128"),
        ({"HTTP_PROXY": "socks5://s:1"}, None),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "example.org"}, None),
        ({"ALL_PROXY": "socks5://s:1", "NO_PROXY": "coordinator.example.org"}, None),
        ({"ALL_PROXY": "socks5://s:1", "NO_PROXY": "*"}, None),
    ],
)
def test_a_supernode_goes_the_way_that_was_checked(
    variables: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    expected = {"HTTPS_PROXY": proxy, "NO_PROXY": "localhost,127.0.0.1"} if proxy else {}
    assert proxy_variables(ADDRESS) == expected


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize(
    ("name", "url"),
    [
        *product(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), ["socks5://user:secret@p:1080"]),
        *product(["HTTPS_PROXY"], ("http://proxy:port", "http://:3128", "http://[::1:3128")),
    ],
)
def test_a_proxy_that_cannot_be_is_told_by_its_variable(
    name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, url)
    with pytest.raises(SettingError, match=rf"^{name} names no web proxy") as caught:
        check_server(ADDRESS, "")
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.usefixtures("proxies")
@pytest.mark.parametrize("proxies", ["all of them"], indirect=True)
def test_the_engine_runs_where_a_proxy_is_named(tmp_path: Path) -> None:
    flower_engine.run_on_flower(
        {"data": "wine", "sites": 3, "landmarks": "10", "tol": "0.1", "out": str(tmp_path / "out")}, 3, print
    )
    assert (tmp_path / "out" / "result.json").exists()

"""Whether a hospital reaches its coordinator, and over a connection that nobody else can answer."""

import base64
import os
import socket
import ssl
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from flower_pansvm.errors import SettingError
from flower_pansvm.study.certificates import LOCAL
from flower_pansvm.study.invitation import check_address

SECONDS = 10.0
PAUSE = 5.0
"""Between two attempts to reach a coordinator that is not there yet."""


class NotThereError(SettingError):
    """Nobody answers at the coordinator's address: it may come later."""


def wait_for_coordinator(address: str, authority: str, show: Callable[[str], None]) -> None:
    """Wait until the coordinator's server answers, and check its certificate; SettingError if that is another's."""
    last_error = ""
    while True:
        try:
            check_server(address, authority)
        except NotThereError as error:
            if str(error) != last_error:
                show(f"Waiting for the coordinator. {error}")
                last_error = str(error)
            time.sleep(PAUSE)
        else:
            return


def check_server(address: str, authority: str, seconds: float = SECONDS) -> None:
    """Check that a server answers at HOST:PORT, by TLS, with a certificate that an authority, in PEM, has signed.

    NotThereError if nobody answers; another SettingError if somebody does who is not the coordinator of the
    invitation: it says what is wrong and whom to ask.
    """
    host, port = check_address(address)
    context = ssl.create_default_context(cadata=authority)
    try:
        with _connected(host, port, seconds) as plain, context.wrap_socket(plain, server_hostname=host):
            return
    except ssl.SSLCertVerificationError as error:
        raise SettingError(_text(address, error)) from None
    except ssl.SSLError as error:
        if error.reason in (
            "WRONG_VERSION_NUMBER",
            "HTTP_REQUEST",
            "RECORD_LAYER_FAILURE",
            "PACKET_LENGTH_TOO_LONG",
        ):
            raise SettingError(
                f"The server at {address} answers in plain text where TLS is agreed: everybody on the way could read "
                "along. Nothing was sent. The coordinator has started its SuperLink without certificates, or the "
                "address is another server's: ask the coordinator."
            ) from None
        raise SettingError(
            f"The server at {address} and this machine agree on no TLS connection ({error.reason}). Is a proxy or "
            "firewall of this hospital in between? If not, ask the coordinator."
        ) from None
    except (OSError, HTTPException) as error:
        raise _not_there(host, address, error) from None


def _connected(host: str, port: int, seconds: float) -> socket.socket:
    """Return a connection to the coordinator, by the way that the SuperNode goes: through a web proxy if one is set."""
    proxy = _proxy_for(host)
    if proxy is None:
        return socket.create_connection((host, port), timeout=seconds)
    login = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    headers = {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    connection = HTTPConnection(str(proxy.hostname), proxy.port or 80, timeout=seconds)
    connection.set_tunnel(host, port, headers if proxy.username else None)
    connection.connect()
    plain: socket.socket = connection.sock
    return plain


def proxy_variables(address: str) -> dict[str, str]:
    """Return the environment variables by which a SuperNode goes the way that `check_server` goes; none without proxy.

    All others stay away from it: it ends at a proxy of a kind that it does not know, also at one that it does not need.
    """
    proxy = _proxy_for(check_address(address)[0])
    return {} if proxy is None else {"HTTPS_PROXY": proxy.geturl(), "NO_PROXY": ",".join(LOCAL)}


def _proxy_for(host: str) -> SplitResult | None:
    """Return the URL of the web proxy by which a host is to be reached, if there is one, as httpx finds it."""
    proxies = getproxies()
    url = proxies.get("https") or proxies.get("all")
    if not url or host in LOCAL or proxy_bypass(host):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, or a bracket is not closed
        usable = False
    if not usable:
        raise SettingError(
            f"{_who_names_the_proxy()} names no web proxy that pansvm knows, such as http://proxy.example.org:3128. "
            "Write a web proxy of this hospital's into HTTPS_PROXY: http:// in front of its name, a colon and its port "
            f"behind it. Or, if {host} is reached without one, put {host} into NO_PROXY."
        )
    return parts


def _who_names_the_proxy() -> str:
    """Return the environment variable that names the proxy, as it is written; there may be a setting of the system."""
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    return next((name for name in names if os.environ.get(name)), "A setting of this system")


def _not_there(host: str, address: str, error: Exception) -> NotThereError:
    """Say who does not answer, and whom to ask."""
    proxy = _proxy_for(host)
    if proxy is not None:
        way = f"{proxy.hostname}:{proxy.port or 80}"
        return NotThereError(
            f"The web proxy {way}, which {_who_names_the_proxy()} names, does not connect to {address} ({error}). Ask "
            "this hospital's network people whether connections to that address and port may go through it; if none is "
            "needed, put the address's name into NO_PROXY. Or the coordinator has not started its server."
        )
    if isinstance(error, socket.gaierror):
        return NotThereError(
            f"The name {host} is not known here. If it does not come up, ask this hospital's network people whether "
            "names of the internet can be looked up from this machine, and the coordinator whether the name is right."
        )
    reason = getattr(error, "strerror", None) or "no answer in time"
    return NotThereError(
        f"Nobody answers at {address} ({reason}). Has the coordinator started its "
        "server, and does this hospital's firewall let connections out to that address and port?"
    )


def _text(address: str, error: ssl.SSLCertVerificationError) -> str:
    reason = error.verify_message
    if error.verify_code in (9, 10):  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
        who = "Is this machine's clock right? If so, coordinator and hospitals have to make new folders."
    elif error.verify_code in (62, 64):  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
        who = "The coordinator's certificate is for another name than the invitation's address: ask the coordinator."
    else:
        who = (
            "Its certificate is not signed by the authority of the invitation: another server answers there (a proxy "
            "of this hospital that opens TLS, or somebody who poses as the coordinator), or the coordinator has new "
            "certificates and has to send a new invitation."
        )
    return f"The server at {address} is not the coordinator's ({reason}). Nothing was sent. {who}"

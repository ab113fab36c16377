"""Whose account may use a coordinator's SuperLink on its machine: whoever may is the coordinator.

Open-source Flower takes runs and keys at that port without a secret. Linux tells whose process has made a connection of
this machine, so that the SuperLink takes them from its own account alone; of all others, such as a web server's, only
what hospitals' SuperNodes ask, which have to sign it.
"""

import os
import pwd
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError

NO_LOGIN = ("nologin", "false", "sync", "halt", "shutdown")
"""Programs by which an account cannot log in, as the shell of its line in the system's list."""

SHOWN = 5
CONNECTIONS = Path("/proc/self/net/tcp")
"""Linux's list of TCP connections: both ends, state and user number of each; a line for each end on this machine."""

ESTABLISHED, LOOKS = "01", 5
"""The state of an end that a process holds: others may have user number 0. How often a missing line is looked for,
which the system may leave out if the list changes while it is read."""

FOR_HOSPITALS = "/v1/fleet/"
FORBIDDEN = b"Only the account that runs this SuperLink, on this machine, may use this part of it."

Address = tuple[str, int]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class OwnAccountOnly:
    """Lets an ASGI app answer this process's own account only, and hospitals' questions from whomever they come."""

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer, or refuse with HTTP's 403."""
        if scope["type"] == "lifespan" or (scope["type"], _allowed(scope)) == ("http", True):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": FORBIDDEN})


def _allowed(scope: Message) -> bool:
    return scope["path"].startswith(FOR_HOSPITALS) or owner(scope["client"], scope["server"]) == os.getuid()


def owner(client: Address, server: Address) -> int | None:
    """Return the user id of the process that has made a connection of this machine; None if there is no such entry."""
    try:
        ends = [_end(*client), _end(*server), ESTABLISHED]
    except OSError:  # an address of another kind than IPv4
        return None
    for _ in range(LOOKS):
        for line in CONNECTIONS.read_text().splitlines():
            fields = line.split()
            if fields[1:4] == ends:
                return int(fields[7])
    return None


def _end(host: str, port: int) -> str:
    """Return an end of a connection as the system writes it.

    Examples
    --------
    >>> _end("127.0.0.1", 8443).endswith(":20FB")
    True
    """
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def others_with_login(accounts: Iterable[pwd.struct_passwd], uid: int) -> list[str]:
    """Return the names of all accounts but one's own and root's that have a shell to log in with.

    The system's list may lack accounts of a directory service, such as LDAP.
    """
    mine = {uid, 0}
    return [
        account.pw_name
        for account in accounts
        if account.pw_uid not in mine and account.pw_shell.rpartition("/")[2] not in NO_LOGIN
    ]


def check_alone(shared_machine: bool) -> None:
    """Check, where the system does not tell whose a connection is, that no other account of this machine can log in.

    SettingError if one can, unless its user knows.
    """
    if shared_machine or CONNECTIONS.exists():
        return
    if others := others_with_login(pwd.getpwall(), os.getuid()):
        named = ", ".join(others[:SHOWN]) + (" and others" if len(others) > SHOWN else "")
        raise SettingError(
            f"Other accounts of this machine can log in: {named}. This system does not tell whose a connection is, so "
            "each of them can reach the SuperLink's port here, start runs and register keys, as the coordinator. Use "
            "Linux, or a machine without other login accounts; or trust them: then add --shared-machine, which closes "
            "nothing."
        )

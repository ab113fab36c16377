"""What keeps a SuperNode running: a unit for systemd."""

import os
import shlex
import sys
from importlib.resources import files
from pathlib import Path
from string import Template

from clients.ledger.home import tables_home
from flower_pansvm.study.folder import account_name


def unit(folder: Path, name: str) -> str:
    """Return the systemd unit of a hospital."""
    text = files("clients.deployment").joinpath("pansvm-hospital.service.template").read_text("utf-8")
    return Template(text).substitute(
        name=name,
        file=shlex.quote(str(folder / "pansvm-hospital.service")),
        folder=_quoted(folder),
        argument=_quoted(str(folder).replace("$", "$$")),  # variables are put into commands only
        unquoted=str(folder).replace("%", "%%"),  # where systemd knows no quotation marks
        python=_quoted(sys.executable),
        # Whatever the environment says: who has changed the account may have kept that of another.
        user=account_name(os.getuid()).removeprefix("#"),  # systemd takes a number as it is
        tables=_quoted(tables_home()),
        state=_quoted(f"XDG_STATE_HOME={tables_home().parent.parent}"),
    )


def _quoted(path: object) -> str:
    """Return a path as systemd reads it: in quotation marks, with its own signs doubled."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'

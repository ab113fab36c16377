"""Where an account's ledgers lie: one place for all its hospitals and studies, a folder for each table."""

import os
from pathlib import Path
from typing import Any

from clients.state_folder import read_checked, write_checked
from flower_pansvm.errors import BudgetError
from flower_pansvm.private_folder import account_state, why_unusable

OWNER = "ledger"  # what a file of a ledger's folder calls the name of the folder


def tables_home() -> Path:
    """Return the place of this account's ledgers, made if it is not there; BudgetError if it cannot be used."""
    home = account_state() / "tables"
    # In a relative one each working folder would have ledgers and copies of its own.
    if problem := why_unusable(home) or ("" if os.access(home, os.W_OK) else "is read-only, or its disk is"):
        raise BudgetError(
            f"The place of the ledgers, pansvm/tables in the account's state folder, {problem}. It has to belong "
            "to the SuperNode's account and be closed to others (chmod 700), and the SuperNode has to be allowed to "
            "write there (systemd: ReadWritePaths). If the account has no home folder, set XDG_STATE_HOME to an "
            "absolute path.",
            detail=f"It is {home}.",
        )
    return home


def write_own(path: Path, content: dict[str, Any]) -> None:
    """Replace a file of a ledger's folder, so that it tells whose it is; a folder not finished yet has a dot first."""
    write_checked(path, {OWNER: path.parent.name.lstrip("."), **content})


def read_own(path: Path) -> dict[str, Any]:
    """Return what :func:`write_own` wrote; as `read_checked`, and ValueError if it is from another ledger's folder."""
    content = read_checked(path)
    if content.pop(OWNER, "") != path.parent.name.lstrip("."):
        raise ValueError("another ledger's")
    return content

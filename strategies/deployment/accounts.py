"""Who else has an account of the coordinator's machine: whoever reaches the SuperLink's port there is the coordinator.

The port takes runs and keys without a secret, as open-source Flower has none for its Control API.
"""

import os
import pwd
from collections.abc import Iterable

from flower_pansvm.errors import SettingError

NO_LOGIN = ("nologin", "false", "sync", "halt", "shutdown")
"""Programs by which an account cannot log in, as the shell of its line in the system's list."""

SHOWN = 5


def others_with_login(accounts: Iterable[pwd.struct_passwd], own: int) -> list[str]:
    """Return the names of all accounts but one's own and root's that have a shell to log in with.

    The system's list may lack accounts of a directory service, such as LDAP.
    """
    mine = {own, 0}
    return [
        one.pw_name
        for one in accounts
        if one.pw_uid not in mine and one.pw_shell.rpartition("/")[2] not in NO_LOGIN
    ]


def check_alone(shared_machine: bool) -> None:
    """Check that no other account of this machine can log in, unless its user knows; else SettingError."""
    found = [] if shared_machine else others_with_login(pwd.getpwall(), os.getuid())
    if found:
        named = ", ".join(found[:SHOWN]) + (" and others" if len(found) > SHOWN else "")
        raise SettingError(
            f"Other accounts of this machine can log in: {named}. Each of them can reach the SuperLink's port here, "
            "start runs of its own and register keys, as the coordinator. Use a machine without other login accounts; "
            "or close the port for them (docs/operate-coordinator.md), or trust them: then add --shared-machine, which "
            "itself closes nothing."
        )

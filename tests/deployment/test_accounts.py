"""Whether other accounts of a machine can log in, so that they could be the coordinator."""

import pwd

import pytest

from flower_pansvm.errors import SettingError
from strategies.deployment import accounts
from strategies.deployment.accounts import check_alone, others_with_login


def account(name: str, uid: int, shell: str) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", "/", shell))


OWN = account("pansvm", 900, "/bin/bash")
CLOSED = [
    account("root", 0, "/bin/bash"),
    OWN,
    account("daemon", 1, "/usr/sbin/nologin"),
    account("sync", 4, "/bin/sync"),
    account("ftp", 5, "/bin/false"),
]


def test_accounts_that_cannot_log_in_do_not_count() -> None:
    assert others_with_login(CLOSED, OWN.pw_uid) == []


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/zsh", "/bin/sh", ""])
def test_another_login_account_is_named_and_a_word_accepts_it(
    shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty shell is the system's default one."""
    monkeypatch.setattr(accounts.pwd, "getpwall", lambda: [*CLOSED, account("guest", 1000, shell)])
    monkeypatch.setattr(accounts.os, "getuid", lambda: OWN.pw_uid)
    with pytest.raises(SettingError, match="guest"):
        check_alone(shared_machine=False)
    check_alone(shared_machine=True)

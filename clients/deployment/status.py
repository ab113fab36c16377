"""``pansvm hospital status``: how a hospital's SuperNode is, in a line each, and an exit code for monitoring.

The codes are those of the plugins of Nagios and Icinga.
"""

import fcntl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from typing import Any

from cryptography import x509

from clients.deployment.approvals import waiting_runs
from clients.deployment.hospital import accepted, state_of
from clients.deployment.outside_parts import check_parts, others_pinned
from clients.deployment.own_folder import takes_files
from clients.deployment.supernode import SILENT_SECONDS
from clients.ledger.ledger import read_ledger
from clients.node.node_config import NODE_FILE, read_node_config
from clients.node.node_status import RUNNING_FILE, STATUS_FILE
from clients.policy import policy_of
from clients.runs import begun_in_month, read_runs
from flower_pansvm.bundle import hash_of, installed_files
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.outside import parse_document
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.private_folder import account_state, is_private
from flower_pansvm.study.invitation import INVITATION_FILE, Invitation
from flower_pansvm.terms import Scalar
from flower_pansvm.version import VERSION

OK, WARNING, CRITICAL = range(3)
SOON = timedelta(days=30)
LEAST_FREE = 2**24
"""Bytes of a disk without which a SuperNode answers nothing."""

ALMOST_SPENT = 0.05
"""Share of epsilon that is left when the budget is worth a warning."""


@dataclass(frozen=True)
class Line:
    """One thing about a hospital: what it is, what is so, and how bad that is."""

    name: str
    text: str
    code: int = OK


def status_of(folder: Path) -> list[Line]:
    """Return a hospital's status; SettingError if the folder is no hospital's, unreadable, or without an invitation."""
    node = read_node_config(folder)
    try:
        invitation = accepted(folder)
    except SettingError as error:
        if not (folder / INVITATION_FILE).exists():
            raise
        return [Line("invitation", str(error), CRITICAL), *_connection(folder, node), *disks(folder)]
    return [
        Line("hospital", f"{node.get('name', '')}, invitation {invitation.number} of {invitation.address}"),
        *_connection(folder, node),
        *disks(folder),
        _software(folder, node, invitation),
        budget_line(folder, node),
        *_waiting(folder, node),
        _expiry(invitation),
    ]


def is_running(folder: Path) -> bool:
    """Tell whether ``pansvm hospital start`` runs for a folder."""
    try:
        with (folder / RUNNING_FILE).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


KINDS = {"written": str, "connected_since": str | None, "trouble": str, "question": dict | None}
QUESTION_KINDS = {"time": str, "task": str, "run": str}


def read_status(folder: Path) -> dict[str, Any]:
    """Return what the last SuperNode of a folder has written; empty if there was none, or the file is damaged."""
    try:
        status = parse_document((folder / STATUS_FILE).read_text(encoding="utf-8"), "json")
        right = all(isinstance(status[name], kind) for name, kind in KINDS.items())
        question = status["question"] or dict.fromkeys(QUESTION_KINDS, "")
        right &= all(isinstance(question[name], kind) for name, kind in QUESTION_KINDS.items())
        right &= datetime.fromisoformat(status["written"]).tzinfo is not None
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return dict(status) if right else {}


def _connection(folder: Path, node: Mapping[str, Scalar]) -> Iterator[Line]:
    """Say whether it is connected and since when, and what it was asked last."""
    status = read_status(folder)
    question, answers = status.get("question"), False
    # On a full disk the file's content is old, and its time is not. A SuperNode that starts has none.
    path = folder / STATUS_FILE
    seen = path.stat().st_mtime if path.exists() else 0.0
    if not is_running(folder):
        yield Line("connection", "not running: pansvm hospital start, or the system's service", CRITICAL)
    elif not status or time.time() - seen > SILENT_SECONDS:
        yield Line("connection", "starting, waiting for the coordinator, or standing still", CRITICAL)
    elif status["connected_since"]:
        yield Line("connection", f"connected since {status['connected_since']}")
        answers = bool(status.get("answering"))
    else:
        yield Line("connection", f"not connected. {status['trouble']}".strip(), CRITICAL)
    if is_running(folder) and status.get("config", node) != node:
        text = f"{NODE_FILE} was changed since the SuperNode started, which refuses runs: start it anew"
        yield Line("configuration", text, CRITICAL)
    if not question:
        yield Line("last question", "none since it was started")
        return
    yield Line("last question", f"{question['task']} at {question['time']}")
    if answers:
        yield Line("run", f"{question['run']}, answering")
    else:
        yield Line("last run", question["run"])


def _software(folder: Path, node: Mapping[str, Scalar], invitation: Invitation) -> Line:
    """Say whether the software, and what node.toml names of other packages, is what the hospital has accepted."""
    sha = hash_of(installed_files())
    if sha != invitation.software["hash"]:
        return Line(
            "software", f"{VERSION}, hash {sha}; the invitation's is another: runs are refused", CRITICAL
        )
    if is_running(folder) and read_status(folder).get("software", sha) != sha:
        text = f"{VERSION} was installed since the SuperNode started, which refuses runs: start it anew"
        return Line("software", text, CRITICAL)
    if others_pinned(folder):
        try:
            check_parts(folder, policy_of(node, str(node.get("name", ""))))
        except PanSVMError as error:
            return Line("software", str(error), CRITICAL)
    return Line("software", f"{VERSION}, hash {sha}")


def disks(folder: Path) -> Iterator[Line]:
    """Say which of the folder and the hospital's state are open to others, on a full disk, or not to be written to."""
    state = state_of(folder)
    paths = sorted(path for path in {folder, state, account_state()} if path.exists())
    others = state.is_absolute() and state.exists() and not is_private(state)
    states = {
        "open to other accounts, or of one": [state] if others else [],
        "full, or nearly": [path for path in paths if disk_usage(path).free < LEAST_FREE],
        "not to be written to, or this account's quota is used up": [
            path for path in paths if not takes_files(path)
        ],
    }
    if text := "; ".join(f"{state}: {', '.join(map(str, bad))}" for state, bad in states.items() if bad):
        yield Line("disk", f"{text}. Mend that: a run is refused before it is charged", CRITICAL)


def budget_line(folder: Path, node: Mapping[str, Scalar]) -> Line:
    """Say the rest of the table's budget, for training and for test rows."""
    try:
        policy = policy_of(node, str(node.get("name", "")))
        epsilon, delta = policy.epsilon, policy.delta
        if not epsilon:
            return Line("budget", "none: no differentially private answers")
        ledger = read_ledger(state_of(folder))
    except PanSVMError as error:
        return Line("budget", str(error), CRITICAL)
    left = [
        epsilon_of(max(rho_of(epsilon, delta) - ledger.spent(side), 0.0), delta) for side in ("train", "test")
    ]
    spent = min(left) <= ALMOST_SPENT * epsilon
    text = f"epsilon {left[0]:.4f} left for training and {left[1]:.4f} for test rows, of {epsilon:g}"
    return Line("budget", text, WARNING if spent else OK)


def _waiting(folder: Path, node: Mapping[str, Scalar]) -> Iterator[Line]:
    """Say which runs wait for a person's approval, and how many may begin, where the policy bounds either."""
    try:
        policy = policy_of(node, str(node.get("name", "")))
    except PanSVMError:  # the line of the budget says what is wrong
        return
    approval, most = policy.approval, policy.runs_a_month
    if approval == "never" and not most:
        return
    try:
        log = read_runs(state_of(folder))
    except PanSVMError as error:
        yield Line("approval", str(error), CRITICAL)
        return
    if most:
        begun = len(begun_in_month(log, time.time()))
        end = ": the next one is refused" if begun >= most else ""
        yield Line("runs", f"{begun} of {most} in 30 days have begun{end}", WARNING if end else OK)
    if approval == "never":
        return
    runs = waiting_runs(log, approval)
    codes = ", ".join(run.code for run in runs)
    yield Line(
        "approval", f"waited for by {codes}" if runs else "no run waits for it", WARNING if runs else OK
    )


def _expiry(invitation: Invitation) -> Line:
    """Say when the certificate of the server's authority, and with it the server's own, expires."""
    end = x509.load_pem_x509_certificate(invitation.authority.encode()).not_valid_after_utc
    soon = end - datetime.now(UTC) < SOON
    return Line("next expiry", f"{end:%Y-%m-%d}, the coordinator's certificates", WARNING if soon else OK)

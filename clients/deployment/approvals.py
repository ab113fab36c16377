"""What a person at a hospital sees and decides of runs: which wait, what one may charge, and that it may begin."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clients.deployment.hospital import accepted
from clients.node.node_config import read_node_config
from clients.runs import CODE_DIGITS, MOST_TEXT, LoggedRun, largest_cost, read_runs, write_runs
from clients.state_folder import locked_state
from flower_pansvm.errors import SettingError
from flower_pansvm.printable import printable
from flower_pansvm.privacy.accountant import epsilon_of
from flower_pansvm.secure_sum.identities import read_roster


def approve_run(folder: Path, code: str, approval: str) -> None:
    """Approve a run that waits for it by the policy's ``approval``, once; SettingError if none does by this code."""
    with locked_state(folder):
        runs = read_runs(folder)
        run = find_run(runs, code)
        check_waits(run, runs, approval)
        approved = replace(run, approved=(*run.approved, time.time()), ready=True)
        write_runs(folder, {**runs, run.digest: approved})


def check_waits(run: LoggedRun, runs: Mapping[str, LoggedRun], approval: str) -> None:
    """Check that a run waits to be approved; a SettingError says why it does not, and what to do."""
    if run in waiting_runs(runs, approval):
        return
    if approval == "never":
        reason = (
            "No run waits: each begins by itself, as this hospital's policy has no 'approval' in node.toml."
        )
    elif run.ready:
        reason = "It is approved already, and has not begun. There is nothing to do."
    elif not run.asks:
        began = f"began on {when(run.begun[-1])}, and " if run.begun else ""
        reason = (
            f"It {began}was not asked for again. To approve it once more, let the coordinator start it again first: "
            "this hospital refuses it, and then it waits."
        )
    else:
        reason = "It begins by itself: a person has approved a run of its system and level, and 'approval' is 'first'."
    raise SettingError(f"Run {run.code} does not wait to be approved. {reason}")


def who_asks(folder: Path, run: LoggedRun) -> str:
    """Return who asks a hospital for a run: its coordinator, and the hospitals that take part."""
    invitation, roster = accepted(folder), Path(str(read_node_config(folder).get("roster", "")))
    try:
        same = hashlib.sha256(roster.read_bytes()).hexdigest() == run.study
        names = ", ".join(read_roster(roster)) if same else ""
    except OSError:
        names = ""
    return (
        f"the coordinator at {invitation.address} (invitation {invitation.number}), with "
        f"{names or 'hospitals of another roster than the one that is here now: it will be refused, or is old'}"
    )


def find_run(runs: Mapping[str, LoggedRun], code: str) -> LoggedRun:
    """Return the run whose digest begins with a code; SettingError if there is none, or more than one."""
    text = code.strip().lower()
    matches = [run for digest, run in runs.items() if digest.startswith(text) and len(text) >= CODE_DIGITS]
    if len(matches) > 1:
        raise SettingError(
            f"{len(matches)} runs have this code, which nobody gets by chance: the coordinator may mean you to approve "
            f"another one than you read. Ask it. Their whole codes: {', '.join(run.digest for run in matches)}."
        )
    if not matches:
        raise SettingError(
            f"No run with the code {printable(code, MOST_TEXT)} was asked for here. pansvm hospital runs lists all: "
            "the coordinator has to start a run first, and this hospital to refuse it."
        )
    return matches[0]


def waiting_runs(runs: Mapping[str, LoggedRun], approval: str) -> list[LoggedRun]:
    """Return the runs that a person has to approve before they begin, if they were asked for since they last did."""
    return [run for run in runs.values() if run.asks and not run.allowed(approval, runs)]


def largest_charge(run: LoggedRun, *, pure: bool) -> str:
    """Return the largest charge of a run, in words."""
    of_model = run.level != "dp"
    rho, delta = largest_cost(run.settings, of_model=of_model, pure=pure)
    what = "a test of its model" if of_model else "training rows, and as much for test rows"
    if rho:
        return f"at most epsilon {epsilon_of(rho, delta):.3g} for {what}"
    return "nothing; of its settings, epsilon and delta count at level dp only" if of_model else "nothing"


def when(seconds: float) -> str:
    """Return a time of this machine's zone, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))

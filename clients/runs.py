"""The log of a hospital's runs, and a person's decision on each: no task is answered before.

The policy's ``approval`` says which runs a person approves: ``never`` any; the ``first`` of each system in a study, so
that later ones of it may begin by themselves; ``always`` each. ``runs-a-month`` bounds them all. A run that nobody has
approved is refused as it asks to join, and written down; `pansvm hospital runs` shows it, ``approve`` approves it, and
the coordinator starts it again. What was approved are its level and settings, all but those of the coordinator's side;
and the system that it names: questions of another are refused.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from clients.hospital import Hospital
from clients.ledger.ledger import Ledger
from clients.state_folder import locked_state, read_checked, state_folder, write_checked
from flower_pansvm import records
from flower_pansvm.consents import LEVELS
from flower_pansvm.errors import NOT_FOLLOWED, BudgetError, SettingError
from flower_pansvm.printable import printable
from flower_pansvm.privacy.accountant import LARGEST_DELTA, LARGEST_EPSILON, admits, rho_of
from flower_pansvm.systems.evaluation import MODEL_TEST, TEST_DELTA
from flower_pansvm.tasks import Task

RUNS_FILE = "runs.json"
COORDINATOR_SETTINGS = ("out", "resume", "timeout", "audit")
"""Settings of the coordinator's side, which change nothing of what a site is asked."""

MOST_LOGGED, MOST_TEXT, MONTH = 500, 200, 30 * 24 * 3600.0
CODE_DIGITS, BEGUN = 10, "begun"
OWN_WEIGHTS = "own-weights"

COMMON_FILES = frozenset({"common", "evaluation", "scaling"})
_SELECTION = COMMON_FILES | {"pan_svm", "selection"}
SYSTEM_FILES = {
    "dp-svm": COMMON_FILES | {"dp_svm"},
    "filter-wrapper": _SELECTION,
    "hybrid-svm": COMMON_FILES | {"output_perturbation"},
    "local-only": COMMON_FILES | {"local_only"},
    "mixture": COMMON_FILES | {"mixture"},
    "pan-svm": COMMON_FILES | {"pan_svm"},
    "private-svm": COMMON_FILES | {"output_perturbation"},
    "random-kernel": COMMON_FILES | {"random_kernel"},
    "rsvm": _SELECTION,
    "ssvd": COMMON_FILES | {"pan_svm", "ssvd"},
    "svm-admm": COMMON_FILES | {"pan_svm", "admm"},
    "svm-ensemble": COMMON_FILES | {"ensemble"},
    "svm-rfe": _SELECTION,
    "svm-t": _SELECTION,
    "voted-wrapper": _SELECTION,
}
"""By the name that a person approves, the files of ``clients/systems/`` whose tasks such a run asks. Of a system that
is not in the table, somebody's own, each run is approved, and it may ask all."""


@dataclass(frozen=True)
class LoggedRun:
    """A run that was asked for, once or more often."""

    digest: str  # of all that a person approves: hospitals, level and settings
    system: str  # as the coordinator names it
    study: str  # a digest of the roster: the same hospitals and keys
    level: str
    settings: Mapping[str, str]
    asked: float  # when last, in seconds since 1970
    approved: tuple[float, ...] = ()
    begun: tuple[float, ...] = ()
    ready: bool = False  # approved, and has not begun since
    asks: bool = False  # has asked to join, and not begun since: clocks are set, and times tell no order

    @property
    def code(self) -> str:
        """What people call it by."""
        return self.digest[:CODE_DIGITS].upper()

    def allowed(self, approval: str, runs: Mapping[str, "LoggedRun"]) -> bool:
        """Return whether it may begin under a policy's ``approval``, given the hospital's log."""
        kind = (self.study, self.system, self.level)
        known = [run for run in runs.values() if (run.study, run.system, run.level) == kind]
        first = any(run.approved for run in known) if self.system in SYSTEM_FILES else self.ready
        return {"never": True, "first": first, "always": self.ready}[approval]


def admit_run(hospital: Hospital, level: str, file: str, *, joins: bool) -> None:
    """Let a run's task be answered if the policy asks nobody, or a person has approved the run; write the run down.

    ``file`` of ``clients/systems/`` answers it; ``joins`` if it is the run's first task. The run has begun with the one
    after that: a run that other hospitals refuse uses up no approval.

    Raises
    ------
    SettingError
        If nobody has approved it, it is another system's than what was approved, or there were too many in 30 days.
    """
    policy, now, system = hospital.policy, time.time(), str(hospital.terms.config.get("strategy", ""))
    if policy.approval != "never" and file not in SYSTEM_FILES.get(system, {file}):
        raise SettingError(
            f"Site '{hospital.name}' has been asked for a task of '{file}' in a run of {printable(system, MOST_TEXT)}, "
            f"which has none such, and a person there approves runs by their system. {NOT_FOLLOWED}"
        )
    decides = policy.approval != "never" or bool(policy.runs_a_month)
    if begun := cast(str, records.get_one(hospital.state, BEGUN, "level")):
        if decides and LEVELS.index(level) < LEVELS.index(begun):
            raise SettingError(
                f"Site '{hospital.name}' has been asked for a run at level {begun}. {NOT_FOLLOWED}"
            )
        return
    folder = state_folder(hospital)
    with locked_state(folder):
        try:
            runs = read_runs(folder)
        except SettingError:  # a damaged log stops no run where nobody decides
            if decides:
                raise
            runs = {}
        this = _requested_run(hospital, level, now)
        this = replace(runs.get(this.digest, this), asked=now, asks=True)
        allowed = this.allowed(policy.approval, runs)
        full = bool(policy.runs_a_month) and len(begun_in_month(runs, now)) >= policy.runs_a_month
        if allowed and not full and not joins:
            this = replace(this, begun=(*this.begun, now), ready=False, asks=False)
        try:
            write_runs(folder, {**runs, this.digest: this})
        except OSError:  # on a full disk the log of a hospital that decides nothing has to wait
            if decides:
                raise
    if not allowed:
        raise SettingError(
            f"A person at site '{hospital.name}' decides whether it takes part in this run, and nobody has yet. Ask "
            f"the hospital for: pansvm hospital approve {this.code}. Then start the same run again."
        )
    if full:
        raise SettingError(
            f"Site '{hospital.name}' takes part in at most {policy.runs_a_month} runs in 30 days. Wait, or ask the "
            "hospital for more: 'runs-a-month' in its node config."
        )
    if not joins:
        records.put(hospital.state, BEGUN, {"level": level})


def begun_in_month(runs: Mapping[str, LoggedRun], now: float) -> list[float]:
    """Return when those runs began that count for the most in 30 days: none of the future, after a wrong clock."""
    return [start for run in runs.values() for start in run.begun if now - MONTH < start <= now]


def check_cost(hospital: Hospital, ledger: Ledger, task: Task[Any, Any], rho: float) -> None:
    """Check that a run is charged no more than its settings say, which a person has read; else BudgetError."""
    rows = "test" if task.category == "evaluate" else "train"
    same = [c for c in ledger.charges if (c.run, c.rows) == (str(hospital.run_id), rows)]
    of_model = task.name == MODEL_TEST.name
    costs = [c.rho for c in same if (c.task == MODEL_TEST.name) == of_model]
    pure = OWN_WEIGHTS in hospital.policy.consents
    at_dp = records.get_one(hospital.state, BEGUN, "level") == "dp"
    # At another level a person has approved the charge for a test of the model alone, and at dp none for that.
    most = 0.0 if of_model == at_dp else largest_cost(hospital.terms.config, of_model=of_model, pure=pure)[0]
    if not admits(costs, rho, most):
        raise BudgetError(
            f"Site '{hospital.name}' has been asked for more than the run's settings say, which a person there has "
            f"approved. {NOT_FOLLOWED}"
        )


def largest_cost(config: Mapping[str, Any], *, of_model: bool, pure: bool) -> tuple[float, float]:
    """Return the largest cost of a run by its settings, training rows as much as test rows, and its delta.

    ``of_model`` of a test of its model; ``pure`` if the hospital agrees to weights whose noise has no delta, which cost
    more at the same epsilon. Nothing if the settings say none that can be.
    """
    try:
        epsilon = float(config.get("test-epsilon" if of_model else "epsilon", 0))
        delta = TEST_DELTA if of_model else float(config.get("delta", TEST_DELTA))
    except ValueError:
        return 0.0, TEST_DELTA
    if not (0 < epsilon <= LARGEST_EPSILON and 0 < delta <= LARGEST_DELTA):
        return 0.0, TEST_DELTA
    cost = rho_of(epsilon, delta)
    return (max(cost, epsilon**2 / 2) if pure and not of_model else cost), delta


def read_runs(folder: Path) -> dict[str, LoggedRun]:
    """Return the log of a state folder, by digest; SettingError if it is damaged."""
    try:
        entries, times = read_checked(folder / RUNS_FILE)["runs"], ("approved", "begun")
        runs = [LoggedRun(**{**entry, **{key: tuple(entry[key]) for key in times}}) for entry in entries]
    except FileNotFoundError:
        return {}
    except PermissionError:
        raise SettingError(
            f"{RUNS_FILE} in the state folder cannot be read by this account. Use the SuperNode's; chown gives it back."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SettingError(
            f"{RUNS_FILE} in the hospital's state folder is damaged, or another version's. Put back its backup; or "
            "remove it: then nothing is approved."
        ) from None
    return {run.digest: run for run in runs}


def write_runs(folder: Path, runs: Mapping[str, LoggedRun]) -> None:
    """Write the log; of runs that nobody approved and that never began only the latest are kept."""
    idle = sorted((run.asked, digest) for digest, run in runs.items() if not (run.approved or run.begun))
    dropped = {digest for _, digest in idle[: max(len(runs) - MOST_LOGGED, 0)]}
    kept = [asdict(run) for digest, run in runs.items() if digest not in dropped]
    write_checked(folder / RUNS_FILE, {"runs": kept})


def _requested_run(hospital: Hospital, level: str, now: float) -> LoggedRun:
    """Return the run that a hospital is asked for."""
    config, roster, study = hospital.terms.config, hospital.policy.roster, ""
    agreed = {key: str(value) for key, value in config.items() if key not in COORDINATOR_SETTINGS}
    settings = {printable(key, MOST_TEXT): printable(text, MOST_TEXT) for key, text in sorted(agreed.items())}
    with contextlib.suppress(OSError):  # who needs the roster says that it is missing
        study = hashlib.sha256(Path(roster).read_bytes()).hexdigest()
    whole = json.dumps([study, level, agreed], sort_keys=True)
    digest = hashlib.sha256(whole.encode()).hexdigest()
    system = printable(str(config.get("strategy", "")), MOST_TEXT)
    return LoggedRun(digest, system, study, level, settings, now)

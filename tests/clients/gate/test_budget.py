"""The hospital's ledger: it never shows less than was sent, and what is lost is spent."""

import errno
import fcntl
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import RecordDict

from clients.app import TASKS
from clients.budget import end_ledger, new_ledger
from clients.gate.levels import level_of
from clients.hospital import Hospital
from clients.ledger import ledger as budget
from clients.ledger.home import tables_home
from clients.ledger.ledger import EPOCH, change_ledger, charge, read_ledger
from clients.ledger.tables import link_table
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, SettingError
from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.systems.dp_svm import PRIVATE_SCORES, PRIVATE_STEP
from flower_pansvm.terms import Scalar
from tests.contexts import own_hospital

WHOLE = rho_of(1.0, 1e-5)


def hospital(folder: Path, run: int = 1, **node: Scalar) -> Hospital:
    known: dict[str, Scalar] = {"identity": "north.pem", "roster": "roster.json", "classes": "0,1"}
    own = own_hospital({"name": "north", "state": str(folder), "epsilon": 1.0, **known, **node}, run)
    records.put(own.state, EPOCH, {EPOCH: "e0"})
    return own


def a_table(seed: int = 0, rows: int = 60) -> Table:
    return Table(("age", "dose"), np.random.default_rng(seed).normal(size=(rows, 2)), None)


def begin(folder: Path, table: Table, test_fraction: float = 0.2) -> None:
    """Begin a budget as a person does, and join a run by this table."""
    new_ledger(folder, test_fraction)
    link_table(folder, table)
    change_ledger(folder, lambda ledger: replace(ledger, epochs=("e0",)))


def file_of(folder: Path) -> Path:
    """Return the file of a state folder's ledger."""
    return tables_home() / budget.read_link(folder).table / budget.LEDGER_FILE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    begin(tmp_path / "kept", a_table())
    return tmp_path / "kept"


def spent(folder: Path) -> list[float]:
    return [one.rho for one in read_ledger(folder).charges]


def test_what_is_spent_stays_spent_in_all_runs(folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, 0.6 * WHOLE)
    charge(hospital(folder, run=2), PRIVATE_STEP, 0.3 * WHOLE)
    with pytest.raises(BudgetError, match="enough") as caught:
        charge(hospital(folder, run=2), PRIVATE_STEP, 0.2 * WHOLE)
    # Runs of other studies are not this coordinator's affair.
    assert "run 1" not in str(caught.value)
    assert re.search(r"epsilon 0\.\d+ by run 1, epsilon 0\.\d+ by run 2", caught.value.detail)
    assert spent(folder) == [0.6 * WHOLE, 0.3 * WHOLE]
    charge(hospital(folder, run=3), PRIVATE_STEP, 0.1 * WHOLE * (1 - 1e-9))


def test_training_and_test_rows_have_a_budget_each(folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, WHOLE)
    charge(hospital(folder), PRIVATE_SCORES, WHOLE)
    for task in (PRIVATE_STEP, PRIVATE_SCORES):
        with pytest.raises(BudgetError, match="enough"):
            charge(hospital(folder), task, 1e-6)


def test_a_coordinator_cannot_change_the_budget(folder: Path) -> None:
    """Epsilon is the node config's; a run's own settings say something else."""
    node = hospital(folder)
    node = replace(node, terms=replace(node.terms, config={**node.terms.config, "epsilon": 20.0}))
    with pytest.raises(BudgetError, match="enough"):
        charge(node, PRIVATE_STEP, 1.01 * WHOLE)
    charge(hospital(folder, epsilon=2.0), PRIVATE_STEP, 1.01 * WHOLE)


def test_an_older_run_ends_when_another_has_begun(folder: Path) -> None:
    """Whether it has been asked anything or not."""
    older, newer = (hospital(folder, run) for run in (1, 2))
    charge(older, PRIVATE_STEP, 0.01)
    change_ledger(folder, lambda ledger: replace(ledger, epochs=(*ledger.epochs, "e1")))
    with pytest.raises(BudgetError, match="begun"):
        charge(older, PRIVATE_STEP, 0.001)
    records.put(newer.state, EPOCH, {EPOCH: "e1"})
    charge(newer, PRIVATE_STEP, 0.01)


def damage(folder: Path, how: str) -> None:
    file = file_of(folder)
    text = file.read_text()
    checksum, content = text.splitlines()
    fewer = json.dumps({**json.loads(content), "charges": []}, sort_keys=True)
    changed = {
        "a bit": text.replace('"rho": 0.02', '"rho": 0.01'),
        "cut": text[: len(text) // 2],
        "a charge less": f"{checksum}\n{fewer}\n",
    }
    file.unlink() if how == "missing" else file.write_text(changed.get(how, how))


@pytest.mark.parametrize("how", ["missing", "a bit", "cut", "a charge less", "", "[]", "null", "{}", "x"])
def test_a_lost_or_damaged_ledger_is_a_spent_one(folder: Path, how: str) -> None:
    charge(hospital(folder), PRIVATE_STEP, 0.02)
    file = file_of(folder)
    damage(folder, how)
    for task in (PRIVATE_STEP, PRIVATE_SCORES):
        with pytest.raises(BudgetError) as caught:
            charge(hospital(folder), task, 1e-6)
        assert str(file.parent) not in str(caught.value)
        assert str(file) in caught.value.detail
    with pytest.raises(BudgetError, match="spent"):
        level_of(hospital(folder), JOIN.name, TASKS[JOIN.name], JoinQuestion((), ("0", "1"), dp=True))


def test_a_site_never_begins_a_ledger_itself(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="--new"):
        charge(hospital(tmp_path / "fresh"), PRIVATE_STEP, 0.01)
    with pytest.raises(BudgetError, match="--new"):
        link_table(tmp_path / "fresh", a_table())
    assert list(tables_home().glob("*/")) == []


def test_a_ledger_is_not_begun_twice(folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, 0.02)
    with pytest.raises(BudgetError, match="stays"):
        new_ledger(folder, 0.2)
    assert spent(folder) == [0.02]


def test_only_the_account_reads_it(folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, 0.02)
    files = [file for file in tables_home().rglob("*") if file.is_file()]
    assert {file.name for file in files} == {"key", "state.lock", "budget.json", "rows.json"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(tables_home().stat().st_mode) == 0o700


def test_a_place_that_others_can_enter_or_that_cannot_be_made_is_refused(folder: Path) -> None:
    home = tables_home()
    home.chmod(0o755)
    with pytest.raises(BudgetError, match="chmod"):
        charge(hospital(folder), PRIVATE_STEP, 0.02)
    home.chmod(0o700)
    home.rename(home.with_name("elsewhere"))
    home.write_text("a file in its place")
    with pytest.raises(BudgetError, match="ReadWritePaths"):
        charge(hospital(folder), PRIVATE_STEP, 0.02)


def test_a_run_that_was_joined_with_another_ledger_is_not_answered(folder: Path) -> None:
    """Exchanged in the middle of a run, or a coordinator that has asked to join otherwise."""
    node = hospital(folder)
    records.put(node.state, EPOCH, {EPOCH: "of another run"})
    for here in (node, replace(node, state=RecordDict())):
        with pytest.raises(BudgetError, match="joined"):
            charge(here, PRIVATE_STEP, 0.02)
    assert spent(folder) == []


def test_a_person_may_end_a_budget_and_what_was_spent_stays_on_record(folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, WHOLE)
    before = change_ledger(folder, lambda ledger: replace(ledger, missed=("f0",)))
    end_ledger(folder)
    ledger = read_ledger(folder)
    assert (ledger.charges, ledger.missed, ledger.epochs) == ((), (), ("e0", "f0"))
    assert [(one.train, one.test) for one in ledger.ended] == [(WHOLE, 0.0)]
    # No row changes between training and evaluation.
    assert (ledger.key, ledger.columns) == (before.key, before.columns)
    joined = hospital(folder, run=2)
    records.put(joined.state, EPOCH, {EPOCH: "f0"})
    charge(joined, PRIVATE_STEP, WHOLE)
    # The table finds it as before, from another folder too.
    begin(folder.parent / "second", a_table())
    assert spent(folder.parent / "second") == [WHOLE]


@pytest.mark.parametrize("how", ["missing", "cut", "all of the place"])
def test_a_person_may_end_a_budget_whose_ledger_is_lost(how: str, folder: Path) -> None:
    charge(hospital(folder), PRIVATE_STEP, WHOLE)
    if how == "all of the place":
        shutil.rmtree(tables_home())
    else:
        damage(folder, how)
    with pytest.raises(BudgetError, match="spent"):
        link_table(folder, a_table())
    with pytest.raises(BudgetError, match="stays"):
        new_ledger(folder, 0.2)
    end_ledger(folder)
    link_table(folder, a_table())
    change_ledger(folder, lambda ledger: replace(ledger, epochs=("e0",)))
    charge(hospital(folder), PRIVATE_STEP, WHOLE)
    if how != "all of the place":
        assert [(math.isnan(one.train), math.isnan(one.test)) for one in read_ledger(folder).ended] == [
            (True, True)
        ]


def test_the_lock_of_a_dead_process_is_no_obstacle(folder: Path) -> None:
    """The system takes it off; the file stays and means nothing."""
    code = (
        "import os; from clients.ledger.home import tables_home; from clients.state_folder import locked_state\n"
        "locked_state(tables_home()).__enter__(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    link_table(folder, a_table())
    charge(hospital(folder), PRIVATE_STEP, 0.02)


KILLED = """
import itertools, json, os, sys
from pathlib import Path
from clients.ledger import ledger as budget
from flower_pansvm.systems.dp_svm import PRIVATE_STEP
from tests.clients.gate.test_budget import a_table, begin, hospital

def dying_after(steps):
    left = [steps]
    def wrapped(real):
        def call(*arguments, **named):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*arguments, **named)
        return call
    for name in ("open", "fsync", "replace", "close", "fdopen", "write"):
        setattr(os, name, wrapped(getattr(os, name)))

ended = 9
for steps in itertools.takewhile(lambda _: ended, itertools.count()):
    folder = Path(sys.argv[1]) / str(steps)
    begin(folder, a_table(seed=steps))
    child = os.fork()
    if child == 0:
        dying_after(steps)
        for answer in range(3):
            budget.charge(hospital(folder), PRIVATE_STEP, 0.001)
            (folder / f"answer{answer}").touch()
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    answers = len(list(folder.glob("answer*")))
    shown = len(budget.read_ledger(folder).charges)
    # The next one is written beside whatever the dead process has left.
    budget.charge(hospital(folder), PRIVATE_STEP, 0.001)
    print(json.dumps([ended, answers, shown]))
"""


@pytest.mark.slow
def test_killed_at_any_write_the_ledger_shows_all_that_was_answered(tmp_path: Path) -> None:
    """An answer leaves after `charge`: as many charges are there as answers, or one more, and never a damaged file."""
    here, program = Path(__file__).parents[3], [sys.executable, "-c", KILLED, str(tmp_path)]
    own = {**os.environ, "PYTHONPATH": str(here)}
    done = subprocess.run(program, cwd=here, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(shown in (answers, answers + 1) for _, answers, shown in found)
    # It has been killed before the first answer, after the last one, and with a charge whose answer never left.
    assert {answers for _, answers, _ in found} == {0, 1, 2, 3}
    assert any(shown > answers for _, answers, shown in found)
    assert found[-1] == [0, 3, 3]


class Disk:
    """What a disk holds if the power fails: what was synced, and of the rest what the system happens to have written.

    It follows what a ledger's folder is done to, by the files' own contents.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.contents: dict[int, str] = {}  # of files that were synced, by inode
        self.synced: dict[str, int] = {}  # names that were, and those that the system may have written
        self.moves: list[dict[str, int]] = []
        self.after_each: list[tuple[set[str], int]] = []
        self.answers = 0
        fsync, replace_file = os.fsync, Path.replace
        self.sync()

        def synced(file: int) -> None:
            self.note()
            fsync(file)
            path = Path(os.readlink(f"/proc/self/fd/{file}"))
            if path.is_dir():
                self.sync()
            else:
                self.contents[path.stat().st_ino] = path.read_text()
            self.note()

        def moved(path: Path, target: Path) -> Path:
            self.note()
            found = replace_file(path, target)
            self.moves.append({target.name: target.stat().st_ino})
            self.note()
            return found

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "replace", moved)

    def sync(self) -> None:
        file = file_of(self.folder)
        self.synced, self.moves = {budget.LEDGER_FILE: file.stat().st_ino}, []
        # The inode of a file that is gone is given to another.
        self.contents = {inode: text for inode, text in self.contents.items() if inode == file.stat().st_ino}
        self.contents.setdefault(file.stat().st_ino, file.read_text())

    def note(self) -> None:
        """Keep what there may be of the ledger if the power fails now, and how many answers have left."""
        inodes = [self.synced[budget.LEDGER_FILE], *(move[budget.LEDGER_FILE] for move in self.moves)]
        self.after_each.append(({self.contents.get(inode, "") for inode in inodes}, self.answers))


def test_whenever_the_power_fails_the_disk_shows_all_that_was_answered(folder: Path) -> None:
    """Also of what was written and not synced, nothing or all may be there; the ledger is never damaged."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(folder, patch)
        for _ in range(3):
            charge(hospital(folder), PRIVATE_STEP, 0.001)
            disk.answers += 1
            disk.note()
    shown = set()
    for texts, answers in disk.after_each:
        for text in texts:
            file_of(folder).write_text(text)
            charges = len(spent(folder))
            assert charges in (answers, answers + 1)
            shown.add((answers, charges))
    # Before and after each of the writes, and between the two names of a file.
    assert shown == {(answers, answers + more) for answers in range(3) for more in (0, 1)} | {(3, 3)}


def test_a_write_that_fails_is_no_answer_and_a_file_system_without_locks_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(code: int) -> Callable[..., None]:
        def refuse(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        return refuse

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", refusing(errno.ENOSPC))
        with pytest.raises(OSError, match="space"):
            charge(hospital(folder), PRIVATE_STEP, 0.001)
    monkeypatch.setattr(fcntl, "flock", refusing(errno.ENOLCK))
    with pytest.raises(SettingError, match="file system without locks"):
        charge(hospital(folder), PRIVATE_STEP, 0.02)
    assert spent(folder) == []

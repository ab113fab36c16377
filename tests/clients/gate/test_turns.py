"""One message at a time: threads, processes, and a state that was not saved."""

import copy
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, Message

from clients.gate.replay_guard import FOLDER, STATE, turn
from clients.hospital import SimulatedContext
from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.systems.scaling import MOMENTS
from strategies.settings import Settings
from tests.contexts import SIMULATED_NODE, context_of
from tests.grids import meddle


def site_in(folder: Path, simulated: bool = False, run_id: int = 1) -> Context:
    own = SIMULATED_NODE if simulated else {"name": "north", "state": str(folder / "state")}
    return context_of(own, run_id, SimulatedContext)


def saved(context: Context) -> Context:
    """Return the context as Flower would hand it to the next process."""
    return Context(
        context.run_id, context.node_id, context.node_config, copy.deepcopy(context.state), context.run_config
    )


@pytest.mark.parametrize("simulated", [True, False])
def test_threads_wait_for_each_other(simulated: bool, tmp_path: Path) -> None:
    context, inside, most = site_in(tmp_path, simulated), [0], [0]

    def work(_: int) -> None:
        with turn(context):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.002)
            inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert most == [1]


def test_other_sites_and_runs_do_not_wait(tmp_path: Path) -> None:
    other = site_in(tmp_path / "south")
    other.node_id = 3
    both = threading.Barrier(2, timeout=60)

    def work(context: Context) -> None:
        with turn(context):
            both.wait()

    (tmp_path / "south").mkdir()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [site_in(tmp_path), other]))


def test_a_message_that_starts_from_an_old_state_is_refused(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    with turn(context):
        pass
    before = saved(context)
    with turn(context):
        pass
    for _ in range(2):
        with pytest.raises(FederationError, match="remember"), turn(before):
            pytest.fail("answered")
    # The one whose state was saved goes on.
    with turn(saved(context)):
        pass


@pytest.mark.slow
def test_processes_wait_for_each_other_and_only_one_follows_the_last(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    with turn(context):
        pass
    script = (
        "import time\n"
        "from flwr.app import Context, RecordDict\n"
        "from clients.gate.replay_guard import turn\n"
        "from flower_pansvm import records\n"
        "from flower_pansvm.errors import FederationError\n"
        "state = RecordDict()\n"
        f"records.put(state, {STATE!r}, {records.get(context.state, STATE)!r})\n"
        f"context = Context(1, {context.node_id}, {context.node_config!r}, state, {{}})\n"
        "try:\n"
        "    with turn(context):\n"
        "        time.sleep(0.5)\n"
        "        print('answered')\n"
        "except FederationError:\n"
        "    print('refused')\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ}
        )
        for _ in range(3)
    ]
    said = sorted(process.communicate(timeout=120)[0].strip() for process in started)
    assert said == ["answered", "refused", "refused"]


def test_a_second_sum_from_the_same_state_gets_no_answer(
    settings: Settings, hospital_files: list[Path], hospitals: Any, enrol: Any, ask_moments: Any
) -> None:
    """Without the count, a hospital whose state was not saved withdraws from nothing and answers again."""
    grid = hospitals(settings, hospital_files)
    federation = enrol(grid, settings)
    context = grid._contexts[2]
    before, sent = copy.deepcopy(context.state), []
    meddle(grid, lambda message: message.metadata.dst_node_id == 2 and sent.append(message))
    ask_moments(federation)
    context.state = before
    kind = MOMENTS.message_type
    (reply,) = grid.send_and_receive([Message(sent[0].content, 2, kind)])
    assert reply.has_error()
    assert "does not remember its last message" in reply.error.reason


def test_files_of_runs_long_over_are_removed(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    with turn(context):
        pass
    (old,) = (tmp_path / "state" / FOLDER).iterdir()
    os.utime(old, (0, 0))
    with turn(site_in(tmp_path, run_id=2)):
        pass
    assert not old.exists()
    with pytest.raises(FederationError, match="remember"), turn(context):
        pytest.fail("answered")


# What is remembered, and by whom


def test_what_a_site_remembers_is_in_its_own_folder_and_flower_gets_a_number(tmp_path: Path) -> None:
    context, secret = site_in(tmp_path), os.urandom(32)
    for expected in ({}, {"private": secret}):
        with turn(context) as hospital:
            assert records.get(hospital.state, "keys") == expected
            records.put(hospital.state, "keys", {"private": secret})
        assert records.get(context.state, STATE).keys() == {"run", "number"}
        assert set(context.state) == {f"{STATE}.arrays", f"{STATE}.values"}
    (file,) = (tmp_path / "state" / FOLDER).iterdir()
    assert secret in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


def test_an_error_counts_as_a_message_and_what_was_remembered_stays(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    with turn(context):
        pass
    before = saved(context)
    with suppress(ZeroDivisionError), turn(context) as hospital:
        records.put(hospital.state, "withdrawn", {})
        raise ZeroDivisionError
    assert not records.has(context.state, "withdrawn")
    with pytest.raises(FederationError), turn(before):
        pytest.fail("answered")
    with turn(context) as hospital:
        assert records.has(hospital.state, "withdrawn")


def test_less_takes_the_place_of_more(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    for length in (10**6, 3, 10**5):
        with turn(context) as hospital:
            records.put(hospital.state, "kept", {"kept": bytes(length)})
        with turn(context) as hospital:
            assert records.get(hospital.state, "kept") == {"kept": bytes(length)}


@pytest.mark.parametrize("lost", ["of Flower", "of the site", "of both"])
def test_a_run_that_one_of_both_has_forgotten_does_not_go_on(lost: str, tmp_path: Path) -> None:
    """A SuperNode that was started again has no state; a state folder that is put back from a copy has an old one."""
    context = site_in(tmp_path)
    with turn(context) as hospital:
        records.put(hospital.state, "keys", {"private": bytes(32)})
    if lost != "of the site":
        context = site_in(tmp_path)
    if lost != "of Flower":
        shutil.rmtree(tmp_path / "state" / FOLDER)
    if lost == "of both":
        with turn(context) as hospital:
            assert not hospital.state
        return
    with pytest.raises(FederationError, match="remember"), turn(context):
        pytest.fail("answered")


def test_a_file_that_is_damaged_ends_the_run_at_this_site(tmp_path: Path) -> None:
    context = site_in(tmp_path)
    with turn(context) as hospital:
        records.put(hospital.state, "keys", {"private": bytes(32)})
    (file,) = (tmp_path / "state" / FOLDER).iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:5], content[:8] + b"\xff" * 40, b"\xff" + content[1:]):
        file.write_bytes(damaged)
        with pytest.raises(Exception, match=r"remember|parsing"), turn(context):
            pytest.fail("answered")
        assert not records.has(context.state, "keys")

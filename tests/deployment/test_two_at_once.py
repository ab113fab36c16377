"""Two commands in one second: each folder and file is one's, and nothing is lost or mixed."""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from clients.budget import new_ledger
from clients.deployment.hospital import make_hospital
from clients.ledger.ledger import read_ledger
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.files import complete_file, write
from flower_pansvm.locking import COMMAND, RUN, locked
from flower_pansvm.secure_sum.new_identity import create_identity
from simulations.papers.table_runs import do_runs
from strategies import run_folder
from strategies.deployment import superlink
from strategies.run_folder import made_folder
from tests.command_line import Run
from tests.deployment.conftest import Study

ROOT = Path(__file__).parents[3]
AT_ONCE = 8
COMMANDS = {
    "run": ["run", "--engine=in-process", "--quiet", "--data=wine", "--sites=3", "--set=landmarks=10"],
    "compare": ["compare", "--data=wine", "--strategies=central:svc", "--repeats=1", "--sites=3"],
}


def at_once(job: Callable[[int], object], times: int = AT_ONCE) -> tuple[list[object], list[Exception]]:
    """Do a job in so many threads that begin together; what came of them, and the errors of those that failed."""
    barrier = threading.Barrier(times)

    def one(number: int) -> object:
        barrier.wait()
        try:
            return job(number)
        except PanSVMError as error:
            return error

    with ThreadPoolExecutor(times) as pool:
        found = list(pool.map(one, range(times)))
    failed = [one for one in found if isinstance(one, Exception)]
    return [one for one in found if not isinstance(one, Exception)], failed


def test_commands_of_one_second_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    second = datetime(2026, 1, 2, 3, 4, 5)
    monkeypatch.setattr(run_folder, "datetime", SimpleNamespace(now=lambda: second))
    made, _ = at_once(lambda _: run_folder.new_default_folder())
    names = ["2026-01-02_030405", *(f"2026-01-02_030405-{number}" for number in range(2, 1 + AT_ONCE))]
    assert {folder.name for folder in made} == {*names} == {path.name for path in Path("runs").iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_of_commands_with_one_out_one_works_and_the_others_say_so(command: str, tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "flower_pansvm", *COMMANDS[command], "--out", "out"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    ended = [(process.returncode, err) for process in started for err in [process.communicate()[1]]]
    assert [code for code, _ in ended].count(0) >= 1
    for code, err in ended:
        # Who came when another was over has found its results, or its comparison, which is then the same.
        assert code == 0 or (
            "Error: " in err and ("Another process works in" in err or "results of another run" in err)
        )
        assert "Traceback" not in err
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_a_folder_that_was_made_for_nothing_goes(tmp_path: Path) -> None:
    with pytest.raises(SettingError), made_folder(tmp_path / "out"):
        raise SettingError("the data do not fit")
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    with made_folder(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").exists()
    with made_folder(tmp_path / "used") as folder:
        (folder / "result.json").write_text("{}")
    assert (tmp_path / "used" / "result.json").exists()


@pytest.mark.parametrize("name", [COMMAND, RUN])
def test_one_of_many_gets_the_lock(name: str, tmp_path: Path) -> None:
    refused = threading.Semaphore(0)

    def work(_: int) -> None:
        try:
            with locked(tmp_path / "out", name):
                for _ in range(AT_ONCE - 1):
                    assert refused.acquire(timeout=60)
        except SettingError:
            refused.release()
            raise

    done, failed = at_once(work)
    assert len(done) == 1
    assert len(failed) == AT_ONCE - 1
    assert all("Another process works in" in str(error) for error in failed), failed
    assert list((tmp_path / "out").iterdir()) == []


def test_the_lock_is_anothers_after_its_process_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom flower_pansvm.locking import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('has it', flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "has it\n"
        with pytest.raises(SettingError, match="process"), locked(tmp_path):
            pass
        process.kill()
    with locked(tmp_path):
        pass


def test_a_file_is_the_first_ones(tmp_path: Path) -> None:
    def write(number: int) -> int:
        with complete_file(tmp_path / "out.csv") as unfinished:
            unfinished.write_text(str(number) * 1000)
        return number

    written, failed = at_once(write)
    assert len(written) == 1
    assert all("exists" in str(error) for error in failed)
    assert (tmp_path / "out.csv").read_text() == str(written[0]) * 1000
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(ZeroDivisionError), complete_file(tmp_path / "out.csv", overwrite=True) as unfinished:
        unfinished.write_text(f"half {1 / 0}")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_a_pipe_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with complete_file(tmp_path / "link", overwrite=True) as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    with complete_file(Path(os.devnull), overwrite=True) as unfinished:
        unfinished.write_text("gone")
    assert not Path(os.devnull).is_file()
    inside, outside = os.pipe()
    (tmp_path / "pipe").symlink_to(f"/dev/fd/{outside}")
    with complete_file(tmp_path / "pipe", overwrite=True) as unfinished:
        unfinished.write_text("through")
    assert os.read(inside, 100) == b"through"
    for end in (inside, outside):
        os.close(end)


@pytest.mark.parametrize("command", ["predict", "schema"])
def test_a_file_that_came_while_a_command_computed_stays(
    command: str,
    pansvm: Run,
    tmp_path: Path,
    hospital_files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other_process(*_: object) -> object:
        (tmp_path / "out").write_text("another's")
        return (
            drafting.Draft("text", ())
            if command == "schema"
            else Predictions(pd.DataFrame({"prediction": ["0"]}), None, ())
        )

    from clients import prediction  # noqa: PLC0415
    from clients.checking import drafting  # noqa: PLC0415
    from clients.prediction import Predictions  # noqa: PLC0415

    monkeypatch.setattr(prediction, "predict_file", other_process)
    monkeypatch.setattr(drafting, "draft", other_process)
    given = ["model.npz", hospital_files[0]] if command == "predict" else [hospital_files[0]]
    err = pansvm.error(command, *given, "--out", "out")
    assert "exists" in err
    assert (tmp_path / "out").read_text() == "another's"


def test_reproductions_do_not_share_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(SettingError, match="process"):
        do_runs([], tmp_path, tmp_path, 1, lambda *_: None)


def test_invitations_of_one_second_have_numbers_of_their_own(invited: Study) -> None:
    done, failed = at_once(lambda _: invited.invite(renew=True))
    assert done
    assert all("Another process works in" in str(error) for error in failed), failed
    numbers = [one.number for one in done]
    assert sorted(numbers) == list(range(2, 2 + len(done)))
    before = sorted(path.name for path in invited.coordinator.folder.glob("invitation-*.json"))
    assert before == [f"invitation-{number}.json" for number in range(1, 1 + len(done))]
    assert invited.coordinator.invitation().number == 1 + len(done)


def test_an_invitation_that_is_accepted_twice_at_once_is_accepted_once(invited: Study) -> None:
    done, failed = at_once(lambda _: invited.accept("north"))
    assert done
    assert all("Another process works in" in str(error) for error in failed), failed
    text = (invited.hospitals["north"] / "node.toml").read_text()
    assert text.count("schema =") == 1


def test_a_hospitals_folder_is_the_first_ones(tmp_path: Path, hospital_files: list[Path]) -> None:
    done, failed = at_once(lambda _: make_hospital(tmp_path / "own", "own", str(hospital_files[0])))
    assert len(done) == 1
    assert len(failed) == AT_ONCE - 1


def test_a_budget_that_begins_several_times_at_once_is_whole(tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / str(number)
        _, failed = at_once(lambda _, folder=folder: new_ledger(folder, 0.2))
        assert not failed
        assert read_ledger(folder).charges == ()


def test_each_training_has_its_own_settings(
    invited: Study, flwr: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`flwr run` reads the file some seconds after it was written."""
    asked = tmp_path / "asked"
    asked.mkdir()
    flwr(f'if [ "$1" = run ]; then sleep 1; cat "$6" > {asked}/$$; echo "started run 7"; fi\necho "{{}}"')
    monkeypatch.setattr(superlink, "exit_on_signals", nullcontext)  # which are the main thread's
    _, failed = at_once(
        lambda number: superlink.train(invited.coordinator, tmp_path / f"out-{number}", lambda _: None), 3
    )
    assert len(failed) == 3
    texts = "".join(path.read_text() for path in asked.iterdir())
    assert all(json.dumps(str(tmp_path / f"out-{number}")) in texts for number in range(3))
    assert not list((invited.coordinator.folder / superlink.FLOWER_FOLDER).glob("run*.toml"))


@pytest.mark.parametrize("writer", [lambda path: write(path, "x" * 10_000), create_identity])
def test_a_disk_that_is_full_leaves_no_part_in_the_way(
    writer: Callable[[Path], object], tmp_path: Path
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises((OSError, SettingError), match="file"):
            writer(tmp_path / "file")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    writer(tmp_path / "file")

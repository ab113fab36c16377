"""The folder of a comparison: goes on where it stopped, and is never another comparison's."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from simulations.comparison.comparing import opened
from simulations.comparison.finished import PLAN_FILE, RUNS_FILE, check_folder, finish
from tests.simulations.comparison.conftest import plan as plan_of

PLAN = plan_of()


@dataclass(frozen=True)
class Work:
    """A run of a number, which fails if it is negative."""

    number: int

    @property
    def key(self) -> dict[str, int]:
        return {"number": self.number}


def work_on(work: Work) -> dict[str, float]:
    if work.number < 0:
        raise SettingError("it did not work,\nreally")
    return {"found": work.number / 3}


def finished_by(folder: Path, *numbers: int) -> tuple[dict[int, object], list[int]]:
    """Return what the runs of these numbers have found, and which of them were done for that."""
    done: list[int] = []

    def show(work: Work, *_: object) -> None:
        done.append(work.number)

    results = finish([Work(number) for number in numbers], folder, 1, work_on, show)
    return {work.number: result for work, result in results.items()}, done


@pytest.mark.usefixtures("_in_this_process")
def test_only_what_is_missing_is_run_and_all_is_in_order(tmp_path: Path) -> None:
    assert finished_by(tmp_path, 3, 1) == ({3: {"found": 1.0}, 1: {"found": 1 / 3}}, [3, 1])
    found, done = finished_by(tmp_path, 1, 2, 3)
    assert list(found.items()) == [(1, {"found": 1 / 3}), (2, {"found": 2 / 3}), (3, {"found": 1.0})]
    assert done == [2]


@pytest.mark.usefixtures("_in_this_process")
def test_half_a_line_is_run_again(tmp_path: Path) -> None:
    finished_by(tmp_path, 1, 2)
    file = tmp_path / RUNS_FILE
    file.write_text(file.read_text()[:-5])
    assert finished_by(tmp_path, 1, 2)[1] == [2]
    assert finished_by(tmp_path, 1, 2)[1] == []


@pytest.mark.usefixtures("_in_this_process")
@pytest.mark.parametrize(
    "damaged", [b"null", b"42", b"\xff\xfe\x00", b'[{"number": 0}, 5]', b'[{"number": 0}, {}]']
)
def test_a_damaged_line_costs_its_own_run_alone(tmp_path: Path, damaged: bytes) -> None:
    finished_by(tmp_path, 0, 1)
    stored = tmp_path / RUNS_FILE
    stored.write_bytes(damaged + b"\n" + stored.read_bytes().splitlines()[1])
    assert finished_by(tmp_path, 0, 1)[1] == [0]


def test_a_file_is_hashed_once(monkeypatch: pytest.MonkeyPatch, hospital_files: list[Path]) -> None:
    read: list[Path] = []
    whole = Path.read_bytes

    def counted(file: Path) -> bytes:
        read.append(file)
        return whole(file)

    monkeypatch.setattr(Path, "read_bytes", counted)
    plan = plan_of(data=(str(hospital_files[0]),))
    assert plan.digests
    assert plan.digests
    assert read.count(hospital_files[0]) == 1


def test_a_failed_run_is_kept_and_tried_again(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = {1: {"found": 1 / 3}, -1: {"error": "it did not work, really"}}
    assert finished_by(tmp_path, 1, -1) == (found, [1, -1])
    request.getfixturevalue("_in_this_process")
    assert finished_by(tmp_path, 1, -1) == (found, [-1])


def test_the_folder_of_another_comparison_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for _ in range(2):
        with opened(folder, PLAN):
            pass
    for other in (
        replace(PLAN, repeats=3),
        replace(PLAN, data=("wine",)),
        replace(PLAN, varied={"C": ("2",)}),
    ):
        with pytest.raises(SettingError, match="comparison"), opened(folder, other):
            pass


def test_data_that_have_changed_are_another_comparison(tmp_path: Path, hospital_files: list[Path]) -> None:
    plan = replace(PLAN, data=(str(hospital_files[0]),))
    with opened(tmp_path / "out", plan):
        pass
    hospital_files[0].write_text(hospital_files[1].read_text())
    with (
        pytest.raises(SettingError, match=r"sha256.*Restore its files"),
        opened(tmp_path / "out", replace(plan)),
    ):
        pass


def test_other_versions_are_named_alone_and_are_to_be_installed(tmp_path: Path) -> None:
    with opened(tmp_path, PLAN):
        pass
    file = tmp_path / "comparison.json"
    stored = json.loads(file.read_text())
    stored["versions"]["scipy"] = "1.0"
    file.write_text(json.dumps(stored))
    wanted = r'versions is \{"scipy": "1.0"\}, not \{"scipy": "[^"]+"\}. Install its versions to continue it'
    with pytest.raises(SettingError, match=wanted), opened(tmp_path, PLAN):
        pass


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(SettingError, match="empty"), opened(tmp_path, PLAN):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "out", PLAN),
        pytest.raises(SettingError, match="process"),
        opened(tmp_path / "out", PLAN),
    ):
        pass
    (tmp_path / "out" / PLAN_FILE).write_text("{")
    with pytest.raises(SettingError, match="damaged"), opened(tmp_path / "out", PLAN):
        pass


def test_a_comparisons_folder_takes_no_runs_of_a_reproduction(tmp_path: Path) -> None:
    (tmp_path / RUNS_FILE).touch()
    check_folder(tmp_path, RUNS_FILE, "reproduction")
    (tmp_path / PLAN_FILE).touch()
    check_folder(tmp_path, PLAN_FILE, "comparison")
    with pytest.raises(SettingError, match="holds no reproduction"):
        check_folder(tmp_path, RUNS_FILE, "reproduction")

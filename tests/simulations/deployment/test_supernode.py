"""One SuperNode of a hospital at a time, and one that was ended by force gets in again."""

from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from simulations.deployment import supernode
from simulations.deployment.supernode import RUNNING_FILE, run_supernode, running_alone
from tests.simulations.deployment.conftest import Study


def test_a_second_supernode_of_a_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with running_alone(tmp_path) as was_cut_off:
        assert not was_cut_off
        with pytest.raises(SettingError, match="already"), running_alone(tmp_path):
            pass
    with running_alone(tmp_path):
        pass


@pytest.fixture
def hospital(joined: Study, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(supernode, "AGAIN_SECONDS", 0.0)
    return joined.hospitals["north"]


def attempts(monkeypatch: pytest.MonkeyPatch, *commands: str) -> list[str]:
    """Let the SuperNode be one shell command after the other; what is left of them is returned."""
    left = list(commands)
    original = supernode._run

    def run(_: list[str], *others: object) -> object:
        return original(["sh", "-c", left.pop(0)], *others)

    monkeypatch.setattr(supernode, "_run", run)
    return left


REFUSED = "echo 'ERROR : Exit Code: 305'; exit 1"


def test_one_that_was_killed_waits_until_the_server_has_forgotten_it(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = attempts(monkeypatch, "kill -9 $$", REFUSED, REFUSED, "exit 3")
    said: list[str] = []
    with pytest.raises(SettingError, match="exit"):
        run_supernode(hospital, joined.coordinator.invitation(), said.append)
    with pytest.raises(SettingError, match="exit"):
        run_supernode(hospital, joined.coordinator.invitation(), said.append)
    assert left == []
    assert len([line for line in said if "ended by force before" in line]) == 2


def test_one_that_ended_in_order_is_refused_at_once_and_both_causes_are_told(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = attempts(monkeypatch, "exit 0", REFUSED, "never")
    for said in (
        "ended in order: .* whether this hospital is in the latest invitation",
        r"does not know this hospital's key, or .* a copy of this folder",
    ):
        with pytest.raises(SettingError, match=said):
            run_supernode(hospital, joined.coordinator.invitation(), print)
    assert left == ["never"]
    assert (hospital / RUNNING_FILE).read_text() == ""


def test_one_whose_question_went_astray_starts_anew(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run was stopped meanwhile: the SuperNode would wait for its answer, and send it in place of the next."""
    stray = "echo 'INFO :      Run ID 7 is not in `RUNNING` status. Ignoring message 5.'; exec sleep 600"
    left = attempts(monkeypatch, stray, "exit 3")
    said: list[str] = []
    with pytest.raises(SettingError, match="exit code 3"):
        run_supernode(hospital, joined.coordinator.invitation(), said.append)
    assert left == []
    assert "starts anew" in "".join(said)

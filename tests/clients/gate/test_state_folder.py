"""The folder of what outlives a run: private, and one for each site."""

import stat
from pathlib import Path

import pytest

from clients.hospital import SimulatedContext
from clients.state_folder import state_folder
from flower_pansvm.errors import SettingError
from flower_pansvm.terms import Scalar
from tests.contexts import SIMULATED_NODE, own_hospital


def folder_of(node: dict[str, Scalar]) -> Path:
    return state_folder(own_hospital(node, kind=SimulatedContext))


def test_a_hospital_has_a_private_folder_that_stays(state_home: Path) -> None:
    folder = folder_of({"name": "north"})
    assert folder == state_home / "site-north"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "file").write_text("kept")
    assert folder_of({"name": "north"}) == folder
    assert (folder / "file").read_text() == "kept"


def test_names_of_sites_are_no_paths(state_home: Path) -> None:
    """Sites of one account do not share a folder, whatever they are called; the number of the node is not in it."""
    names = ["..", "../x", "a/b", "a%2Fb", "ä b"]
    folders = {folder_of({"name": name}) for name in names} | {state_home / "site"}
    assert folder_of({}) == state_home / "site"
    assert len(folders) == len(names) + 1
    assert {folder.parent for folder in folders} == {state_home}


def test_the_node_config_names_another_folder_and_a_simulated_site_has_none(
    tmp_path: Path, state_home: Path
) -> None:
    other = tmp_path / "kept" / "here"
    assert folder_of({"name": "north", "state": str(other)}) == other
    with pytest.raises(AssertionError):
        folder_of(SIMULATED_NODE)
    assert not state_home.exists()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702, 0o720])
def test_a_folder_that_others_may_enter_is_refused(mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(SettingError, match="north") as refused:
        folder_of({"name": "north", "state": str(folder)})
    assert str(tmp_path) not in str(refused.value)


def test_a_file_or_a_relative_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="it is no folder"):
        folder_of({"name": "north", "state": str(tmp_path / "file")})
    with pytest.raises(SettingError, match="absolute"):
        folder_of({"name": "north", "state": "kept"})

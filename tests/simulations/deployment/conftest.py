"""A study of three hospitals on this machine, from its folders to the invitation; nothing is started."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from simulations.deployment.coordinator import Coordinator
from simulations.deployment.hospital import accept, make_hospital
from simulations.deployment.invitation import Invitation
from simulations.deployment.registration import Registration

RANGES = "classes,0,1\ncolumn,low,high\nage,0,120\ndose,-1,1\n"


@dataclass
class Study:
    coordinator: Coordinator
    hospitals: dict[str, Path]  # their folders
    files: dict[str, Path]  # their registrations
    settings: dict[str, str]

    def registrations(self) -> list[Registration]:
        return [Registration.read(file) for file in self.files.values()]

    def invite(self, **changes: object) -> Invitation:
        return self.coordinator.invite(self.registrations(), self.settings, **changes)  # type: ignore[arg-type]

    @property
    def invitation(self) -> Path:
        return self.coordinator.folder / "invitation.json"

    def accept(self, name: str) -> Invitation:
        return accept(self.hospitals[name], self.invitation, self.coordinator.invitation().code)


@pytest.fixture
def study(tmp_path: Path, hospital_files: list[Path]) -> Study:
    ranges = tmp_path / "ranges.csv"
    ranges.write_text(RANGES)
    coordinator = Coordinator.make(tmp_path / "coordinator", "localhost:8443", 8443)
    folders, files = {}, {}
    for name, table in zip(("north", "south", "west"), hospital_files, strict=True):
        folders[name] = tmp_path / name
        files[name], _ = make_hospital(tmp_path / name, name, str(table))
    return Study(coordinator, folders, files, {"ranges": str(ranges)})


@pytest.fixture
def invited(study: Study) -> Study:
    study.invite()
    return study


@pytest.fixture
def joined(invited: Study) -> Study:
    for name in invited.hospitals:
        invited.accept(name)
    return invited

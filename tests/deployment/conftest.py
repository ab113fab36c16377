"""A study of three hospitals on this machine, from its folders to the invitation; nothing is started."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from clients.deployment.checks import check_hospital
from clients.deployment.hospital import accept, make_hospital
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.registration import Registration
from flower_pansvm.terms import Scalar
from strategies.deployment import superlink
from strategies.deployment.coordinator import Coordinator

SCHEMA = "classes = [0, 1]\ncolumns.age.range = [0, 120]\ncolumns.dose.range = [-1, 1]\n"


@dataclass
class Study:
    coordinator: Coordinator
    hospitals: dict[str, Path]  # their folders
    files: dict[str, Path]  # their registrations
    settings: dict[str, Scalar]
    schema: Path | None

    def registrations(self) -> list[Registration]:
        return [Registration.read(file) for file in self.files.values()]

    def invite(self, **changes: object) -> Invitation:
        return self.coordinator.invite(
            self.registrations(), self.settings, **{"schema": self.schema, **changes}
        )

    @property
    def invitation(self) -> Path:
        return self.coordinator.folder / "invitation.json"

    def accept(self, name: str) -> Invitation:
        return accept(self.hospitals[name], self.invitation, self.coordinator.invitation().code)

    def check(self, name: str = "north") -> list[str]:
        """Return what a hospital is told before it connects."""
        return list(check_hospital(self.hospitals[name]))


@pytest.fixture
def study(tmp_path: Path, hospital_files: list[Path]) -> Study:
    schema = tmp_path / "ours.toml"
    schema.write_text(SCHEMA)
    coordinator = Coordinator.make(tmp_path / "coordinator", "localhost:8443", 8443)
    folders, files = {}, {}
    for name, table in zip(("north", "south", "west"), hospital_files, strict=True):
        folders[name] = tmp_path / name
        files[name], _ = make_hospital(tmp_path / name, name, str(table))
    return Study(coordinator, folders, files, {}, schema)


@pytest.fixture
def invited(study: Study) -> Study:
    study.invite()
    return study


@pytest.fixture
def joined(invited: Study) -> Study:
    for name in invited.hospitals:
        invited.accept(name)
    return invited


@pytest.fixture
def flwr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes a shell script of `flwr`; a server seems to be there."""
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    monkeypatch.setattr(superlink, "check_server", lambda *_: None)
    monkeypatch.setattr(superlink, "flower_environment", lambda _: {**os.environ, "PATH": path})

    def script(text: str) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "flwr").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / "flwr").chmod(0o700)

    return script

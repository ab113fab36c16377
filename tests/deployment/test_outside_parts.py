"""What a hospital takes from another package is pinned when it accepts an invitation, and refused if it has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from clients.deployment.outside_parts import PARTS_FILE, check_parts, outside_parts, pin_parts
from clients.policy import HospitalPolicy
from flower_pansvm.errors import SettingError

PROGRAM = "from nowhere import nothing  # no check executes it\n"


@pytest.fixture
def site_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package with a secure sum, a kind of table and a function."""
    folder = tmp_path / "site-packages"
    info, package = folder / "our_fhir-1.5.dist-info", folder / "our_fhir"
    info.mkdir(parents=True)
    package.mkdir()
    (package / "__init__.py").write_text(PROGRAM)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-fhir\nVersion: 1.5\n")
    (info / "top_level.txt").write_text("our_fhir\n")
    (info / "entry_points.txt").write_text(
        "[flower_pansvm.protocols]\nall-pairs = our_fhir:AllPairs\n[flower_pansvm.sources]\n.fhir = our_fhir:read\n"
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "our_fhir", raising=False)  # another test's
    return folder


CASES = [
    ("/data/ward.csv", "ring", []),
    ("/data/ward.csv", "", []),
    ("python:our_fhir:patients", "", ["python:our_fhir:patients"]),
    ("/data/ward.fhir.gz", "all-pairs", ["all-pairs", ".fhir"]),
]


@pytest.mark.parametrize(("data", "aggregation", "names"), CASES)
def test_each_part_of_another_package_has_its_version_and_the_pages_hash(
    data: str, aggregation: str, names: list[str], site_packages: Path
) -> None:
    files = "find our_fhir -type f ! -path '*/__pycache__/*.pyc' | LC_ALL=C sort"
    command = f"{files} | xargs -d '\\n' sha256sum | sha256sum"
    assert command in (Path(__file__).parents[2] / "docs" / "hardening.md").read_text(encoding="utf-8")
    printed = subprocess.run(
        command, cwd=site_packages, shell=True, capture_output=True, text=True, check=True
    ).stdout
    found = outside_parts(HospitalPolicy(data=data, aggregation=aggregation))
    assert found == dict.fromkeys(names, f"our-fhir 1.5, hash {printed.split()[0]}")


@pytest.mark.parametrize(("data", "aggregation", "names"), CASES)
def test_a_part_that_was_changed_since_it_was_pinned_is_refused(
    data: str, aggregation: str, names: list[str], site_packages: Path, tmp_path: Path
) -> None:
    policy = HospitalPolicy(data=data, aggregation=aggregation)
    if names:
        with pytest.raises(SettingError, match="has pinned no such part"):
            check_parts(tmp_path, policy)
    pin_parts(tmp_path, outside_parts(policy))
    assert list(check_parts(tmp_path, policy)) == names
    (site_packages / "our_fhir" / "more.so").write_bytes(b"compiled")
    if names:
        with pytest.raises(SettingError, match="hospital accept"):
            check_parts(tmp_path, policy)
    pin_parts(tmp_path, outside_parts(policy))
    assert list(check_parts(tmp_path, policy)) == names


@pytest.mark.parametrize(("data", "aggregation", "names"), CASES[2:])
def test_a_part_whose_package_was_uninstalled_is_named_with_the_package(
    data: str, aggregation: str, names: list[str], tmp_path: Path
) -> None:
    pin_parts(tmp_path, dict.fromkeys(names, "our-fhir 1.5, hash abc"))
    with pytest.raises(SettingError, match=r"none that is installed.*our-fhir 1\.5"):
        check_parts(tmp_path, HospitalPolicy(data=data, aggregation=aggregation))
    assert check_parts(tmp_path, HospitalPolicy(data="/data/ward.csv", aggregation="ring")) == {}


@pytest.mark.parametrize("damaged", [b"{bad", b"\xff", b"[]", b""])
def test_a_damaged_file_of_pins_is_told(damaged: bytes, tmp_path: Path) -> None:
    (tmp_path / PARTS_FILE).write_bytes(damaged)
    with pytest.raises(SettingError, match="damaged"):
        check_parts(tmp_path, HospitalPolicy(data="/data/ward.csv"))


def test_compiled_code_beside_its_sources_is_part_of_the_hash(site_packages: Path, tmp_path: Path) -> None:
    policy = HospitalPolicy(data="python:our_fhir:patients")
    pin_parts(tmp_path, outside_parts(policy))
    (site_packages / "our_fhir" / "more.pyc").write_bytes(b"compiled")
    with pytest.raises(SettingError, match="hospital accept"):
        check_parts(tmp_path, policy)

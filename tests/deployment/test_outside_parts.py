"""What a hospital takes from another package than this one is told with its version: the hash leaves it out."""

from pathlib import Path

import pytest

from clients.deployment.checks import outside_parts
from clients.policy import HospitalPolicy


@pytest.mark.parametrize(
    ("data", "aggregation", "told"),
    [
        ("/data/ward.csv", "ring", []),
        ("/data/ward.csv", "", []),
        ("python:our_fhir:patients", "", ["python:our_fhir:patients"]),
        ("/data/ward.fhir.gz", "all-pairs", ["all-pairs", ".fhir"]),
    ],
)
def test_each_part_of_another_package_is_told_with_its_version(
    data: str, aggregation: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "our_fhir-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-fhir\nVersion: 1.5\n")
    (info / "top_level.txt").write_text("our_fhir\n")
    (info / "entry_points.txt").write_text(
        "[flower_pansvm.protocols]\nall-pairs = our_fhir:AllPairs\n[flower_pansvm.sources]\n.fhir = our_fhir:read\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = list(outside_parts(HospitalPolicy(data=data, aggregation=aggregation)))
    assert found == [
        f"from another package: {one} of our-fhir 1.5, which the hash leaves out" for one in told
    ]

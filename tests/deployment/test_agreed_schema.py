"""The schema file that an invitation brings along, and one of the hospital's own."""

import re
from pathlib import Path

import pytest

from clients.deployment.node_file import set_key
from clients.node.node_config import read_node_config
from flower_pansvm.errors import SettingError
from tests.deployment.conftest import SCHEMA, Study

WIDER = SCHEMA.replace("120", "130")


def renewed(study: Study, name: str | None, text: str = WIDER) -> dict[str, object]:
    """Return north's node config once it has accepted a renewed invitation with another schema file, or none."""
    if name is not None:
        study.schema = study.coordinator.folder.parent / name
        study.schema.write_text(text)
    study.invite(renew=True, **({"schema": None} if name is None else {}))
    study.accept("north")
    return read_node_config(study.hospitals["north"])


@pytest.mark.parametrize("name", ["ours.toml", "ours.txt"])
def test_a_renewed_schema_file_is_used_whatever_it_is_called(name: str, joined: Study) -> None:
    used = Path(str(renewed(joined, name)["schema"]))
    assert used.read_text() == WIDER
    assert used.suffix == Path(name).suffix
    joined.check()


def test_a_schema_file_of_the_hospitals_own_stays_and_a_run_that_would_be_refused_is_told(
    joined: Study, tmp_path: Path
) -> None:
    own, folder = tmp_path / "own.toml", joined.hospitals["north"]
    own.write_text(f"{SCHEMA}\n# as our files are\n[reading]\nskip-footer = 0\n")
    set_key(folder, "schema", own)
    joined.check()
    assert renewed(joined, "ours.txt")["schema"] == str(own)
    with pytest.raises(SettingError, match=r"differ in columns, .* schema = '.*schema\.txt'"):
        joined.check()
    set_key(folder, "schema", folder / "schema.txt")
    joined.check()


def test_a_study_may_give_up_its_schema_file(joined: Study) -> None:
    joined.settings = {"strategy": "pan-svm", "privacy": "perturbed"}
    folder = joined.hospitals["north"]
    for key, value in {"privacy": "perturbed", "noise": 0.25}.items():
        set_key(folder, key, value)
    renewed(joined, None)
    with pytest.raises(SettingError, match="the invitation has none"):
        joined.check()
    node = folder / "node.toml"
    node.write_text(re.sub("^schema = .*$", "", node.read_text(), flags=re.MULTILINE))
    joined.check()

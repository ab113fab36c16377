"""What hospitals get after a run is what their coordinator's run has made, or is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.deployment.outcome import receive
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.files import write
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.study.documents import signed
from flower_pansvm.study.handout import KIND
from simulations.running import run
from strategies.deployment.coordinator import Coordinator
from strategies.settings import make_settings
from tests.deployment.conftest import Study


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run."""
    folder = tmp_path_factory.mktemp("run") / "out"
    settings = make_settings(data="wine", sites=3, landmarks="10", tol=0.1, out=str(folder))
    return run(settings, "in-process", lambda _: None)


def handed_out(study: Study, trained: Path) -> Path:
    file = study.coordinator.folder / "for-hospitals.json"
    study.coordinator.hand_out(trained, file)
    return file


def test_every_hospital_gets_the_model_and_the_figures_as_they_are(
    joined: Study, trained: Path, tmp_path: Path
) -> None:
    file = handed_out(joined, trained)
    for name, folder in joined.hospitals.items():
        kept = receive(folder, file, tmp_path / f"got-{name}")
        for part in ("model.npz", "result.json"):
            assert (kept / part).read_bytes() == (trained / part).read_bytes()


def test_figures_are_not_there_without_their_model(
    joined: Study, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that gets full in between: they would be those of a run that has made none."""

    def until_full(path: Path, content: bytes | str) -> None:
        if any(path.parent.iterdir()):
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr("clients.deployment.outcome.write", until_full)
    with pytest.raises(OSError, match="space"):
        receive(joined.hospitals["north"], handed_out(joined, trained), tmp_path / "got")
    assert [path.name for path in (tmp_path / "got").iterdir()] == ["model.npz"]


def test_nothing_is_overwritten(joined: Study, trained: Path, tmp_path: Path) -> None:
    file = handed_out(joined, trained)
    receive(joined.hospitals["north"], file, tmp_path / "got")
    with pytest.raises(SettingError, match="empty"):
        receive(joined.hospitals["north"], file, tmp_path / "got")
    with pytest.raises(SettingError, match="exists"):
        handed_out(joined, trained)


Change = Callable[[dict[str, Any]], object]
BAD: dict[str, tuple[Change, bool, str]] = {
    "figures": (lambda it: it.update(result=it["result"].replace("0", "1")), False, "was changed after"),
    "model": (lambda it: it.update(model=it["model"][:-8] + "AAAAAAA="), False, "was changed after"),
    "signer": (lambda it: it.update(coordinator="00" * 32), False, "signed by somebody else"),
    "no model, signed": (lambda it: it.update(model=""), True, "not that of its own figures"),
    "no base64, signed": (lambda it: it.update(model="?"), True, "no results of a run"),
    "no npz, signed": (lambda it: it.update(model="AAAA"), True, "model.npz"),
    "no json, signed": (lambda it: it.update(result="{"), True, "no results of a run"),
    "a number, signed": (lambda it: it.update(result="1"), True, "no results of a run"),
    "an invitation": (lambda it: it.update(kind="pansvm invitation 1"), False, "is an invitation"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_not_the_coordinators_run_is_refused(
    bad: str, joined: Study, trained: Path, tmp_path: Path
) -> None:
    change, sign, said = BAD[bad]
    file = handed_out(joined, trained)
    content = json.loads(file.read_text())
    change(content)
    if sign:
        del content["kind"], content["signature"]
        content = signed(KIND, content, load_identity(joined.coordinator.folder / "coordinator.pem"))
    file.write_text(json.dumps(content))
    with pytest.raises(PanSVMError, match=said):
        receive(joined.hospitals["north"], file, tmp_path / "got")
    assert not (tmp_path / "got").exists()


def test_another_coordinators_results_are_refused(joined: Study, trained: Path, tmp_path: Path) -> None:
    other = Coordinator.make(tmp_path / "mallory", "localhost:8443", 8443)
    other.hand_out(trained, tmp_path / "file.json")
    with pytest.raises(SettingError, match="signed"):
        receive(joined.hospitals["north"], tmp_path / "file.json", tmp_path / "got")

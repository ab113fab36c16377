"""``pansvm hospital`` and ``pansvm coordinator`` as people type them."""

import io
import json
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from flower_pansvm.study.handout import FILE
from strategies.deployment import accounts, server
from strategies.deployment.superlink import checkout
from tests.command_line import Run
from tests.deployment.conftest import SCHEMA


@pytest.fixture
def tables(hospital_files: list[Path], tmp_path: Path) -> list[Path]:
    (tmp_path / "ours.toml").write_text(SCHEMA)
    return hospital_files


def code_in(out: str, before: str) -> str:
    (line,) = (line for line in out.splitlines() if before in line)
    return line.split(": ")[-1]


def test_each_hospital_types_two_commands_before_it_starts(
    pansvm: Run, tables: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pansvm("coordinator", "init", "--address", "coordinator.example.org:443")[0] == 0
    told = {}
    for number, table in enumerate(tables):
        out = pansvm.output(
            "hospital", "init", "--name", f"h{number}", "--data", table, "--folder", f"h{number}"
        )
        told[f"h{number}"] = code_in(out, "Its code")
    files = [f"{name}/{name}.registration.json" for name in told]
    out = pansvm.output("coordinator", "invite", *files, "--schema", "ours.toml")
    for name, own in told.items():
        assert f"  {name}: {own}" in out.splitlines()
    invitation = code_in(out, "Its code")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # a script's
    err = pansvm.error("hospital", "accept", "coordinator/invitation.json", "--folder", "h0")
    assert "nothing is accepted. Where nobody can type, give it as --code" in err
    for name in told:
        out = pansvm.output(
            "hospital", "accept", "coordinator/invitation.json", "--folder", name, "--code", invitation
        )
        assert "accepted, with h0, h1, h2" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hospital", "init", "--name", "a/b", "--data", "hospital0.csv"], "invalid as a hospital's name"),
        (["hospital", "init", "--name", "a", "--data", "hospitl0.csv"], "There is no table"),
        (["hospital", "accept", "nothing.json", "--code", "x"], "nothing.json cannot be read"),
        (["hospital", "accept", "hospital0.csv", "--code", "x"], "is no JSON file of pansvm"),
        (["hospital", "check"], "is no hospital's folder"),
        (["hospital", "check", "--folder", "ours.toml"], "is no hospital's folder"),
        (["coordinator", "init", "--address", "https://a:1"], "is not a valid address"),
        (["coordinator", "init", "--address", "a..b:443"], "is not a valid address"),
        (["coordinator", "init", "--address", f"{64 * 'a'}.b:443"], "is not a valid address"),
        (["coordinator", "init", "--address", "a:1", "--port", "70000"], "The port 70000 is invalid"),
        (["coordinator", "invite", "a.json"], "is no coordinator's folder"),
        (["coordinator", "start"], "is no coordinator's folder"),
        (["coordinator", "train", "--out", "x"], "is no coordinator's folder"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_a_mistake_is_one_paragraph(arguments: list[str], said: str, pansvm: Run) -> None:
    code, out, err = pansvm(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert said in err
    assert "Traceback" not in err


def test_a_server_starts_beside_other_login_accounts_by_a_word_only(
    pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(server, "run_superlink", lambda own, _: started.append(own.folder))
    there = [*pwd.getpwall(), pwd.struct_passwd(("guest", "x", 54321, 54321, "", "/", "/bin/bash"))]
    monkeypatch.setattr(accounts.pwd, "getpwall", lambda: there)
    monkeypatch.setattr(accounts, "CONNECTIONS", Path("/none"))  # as on macOS
    pansvm.output("coordinator", "init", "--address", "localhost:8443")
    said = pansvm.error("coordinator", "start")
    assert "guest" in said
    assert "--shared-machine" in said
    assert started == []
    pansvm.output("coordinator", "start", "--shared-machine")
    assert [folder.name for folder in started] == ["coordinator"]


@pytest.mark.slow
def test_start_ends_with_what_the_check_has_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flower_pansvm", "hospital", "start", "--folder", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=checkout(), capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("is no hospital's folder") == 1


def test_what_waits_for_questions_has_not_loaded_what_reads_tables() -> None:
    code = """
import sys
import clients.cli.hospital
from clients.deployment import hospital, supernode
from flower_pansvm.study import connection
print(sorted({"matplotlib", "pandas", "pyarrow", "scipy", "sklearn"} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=checkout(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_train_looks_at_out_first(pansvm: Run, tmp_path: Path) -> None:
    """Whoever forgets --resume deletes no checkpoint, and no run is started whose results cannot be kept."""
    assert pansvm("coordinator", "init", "--address", "localhost:8443")[0] == 0
    checkpoint = tmp_path / "stopped" / "checkpoint"
    checkpoint.mkdir(parents=True)
    for name in ("settings.json", "00001-moments.npz"):
        (checkpoint / name).write_text("{}")
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "result.json").write_text("{}")
    for arguments, said in (
        (["stopped"], "has a run that was stopped. Choose another --out; or resume it"),
        (["done"], "has the results of another run"),
        (["new", "--resume"], "has no checkpoint to resume from"),
    ):
        code, out, err = pansvm("coordinator", "train", "--out", *arguments)
        assert (code, out) == (1, "")
        assert said in err
    assert len(list(checkpoint.iterdir())) == 2


def test_a_training_that_is_over_goes_on_with_what_hospitals_get(
    pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk got full just then, nothing has to be computed, or charged, once more."""
    pansvm.output("coordinator", "init", "--address", "localhost:8443")
    out = tmp_path / "done"
    out.mkdir()
    (out / "result.json").write_text('{"model_sha256": null}')
    (out / FILE).write_text("")  # as a process leaves it that is killed before it is complete
    monkeypatch.setattr("strategies.deployment.superlink.train", lambda *_, **__: pytest.fail("it trains"))
    monkeypatch.setattr("strategies.report.page.write_report", lambda folder: folder / "report.html")
    monkeypatch.setattr("strategies.cli.cautions_of", lambda _: [])
    said = pansvm.output("coordinator", "train", "--resume", "--out", "done")
    assert f"Send to the hospitals: {out / FILE}" in said
    assert json.loads((out / FILE).read_text())["result"] == '{"model_sha256": null}'

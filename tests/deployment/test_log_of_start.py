"""What `pansvm hospital start` prints goes into a log, which is kept, and read by others than who may see cells."""

from types import SimpleNamespace

import pandas as pd
import pytest

from clients.checking.finding import NOTE, WARNING, Finding
from tests.command_line import Run
from tests.deployment.conftest import Study


def test_the_log_of_start_shows_no_cell(pansvm: Run, joined: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, started = joined.hospitals["north"], []
    table = folder.parent / "hospital0.csv"
    frame = pd.read_csv(table)
    frame.assign(age=frame["age"].mask(frame.index < 4, -999)).to_csv(table, index=False)

    def run(command: list[str], check: bool) -> SimpleNamespace:
        started.append(command)
        return SimpleNamespace(returncode=1)

    with monkeypatch.context() as patched:
        patched.setattr("clients.cli.hospital.subprocess.run", run)
        pansvm("hospital", "start", "--folder", folder)
    ((*_, check, for_log, _, _),) = started
    assert "warning: hospital0.csv: Column 'age' holds -999" in pansvm.output(
        "hospital", check, "--folder", folder
    )
    log = pansvm.output("hospital", check, for_log, "--folder", folder)
    assert "-999" not in log
    assert log.endswith("See: pansvm hospital check\n")


def test_doubts_about_a_level_that_the_policy_refuses_are_not_called_ok(
    pansvm: Run, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = Finding(WARNING, "The level is weak on this table.")
    monkeypatch.setattr("clients.deployment.checks.level_findings", lambda *_: [weak])
    said = pansvm.output("hospital", "check", "--folder", joined.hospitals["north"])
    assert f"{NOTE}: {weak.text}" in said.splitlines()

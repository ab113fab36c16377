"""A whole study on one machine: real SuperLink, real SuperNodes, and nothing left of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clients.deployment.hospital import accept, make_hospital
from clients.ledger.ledger import read_ledger
from clients.node.node_config import read_node_config
from clients.table.reading import read_table
from clients.table.table import LABEL
from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import load_model
from flower_pansvm.study.processes import free_port
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from simulations.study_processes import processes_about
from simulations.trial import (
    READY,
    SCHEMA,
    agree,
    generated_tables,
    run_trial,
    started_command,
    wait_for,
)
from strategies.deployment.coordinator import Coordinator
from tests.deployment.conftest import Study
from tests.deployment.test_faults import CHEATS

ROOT = Path(__file__).parents[3]


def cells_in(folder: Path, tables: list[Path]) -> set[str]:
    """Return which blood pressures are in a file, or in those of a folder, as text or as binary numbers."""
    cells = set(pd.concat(pd.read_csv(table, dtype=str) for table in tables)["pressure"])
    # Shorter ones may be there by chance.
    cells = {cell for cell in cells if len(cell.partition(".")[2]) >= 3}
    known = {form for cell in cells for form in (cell.encode(), np.float64(cell).tobytes())}
    content = b"".join(file.read_bytes() for file in (folder, *folder.rglob("*")) if file.is_file())
    return {str(form) for form in known if form in content}


@pytest.mark.slow(minutes=3)
def test_a_study_on_one_machine_leaves_a_model_and_a_report_and_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine sums would take minutes; with steps=0 there are three."""
    folder = tmp_path / "study"
    command = [sys.executable, "-m", "flower_pansvm", "demo", "--out", str(folder), "--set", "steps=0"]
    drawn = {name: value for name, value in os.environ.items() if name != "PANSVM_DATA"}
    done = subprocess.run(
        command, cwd=ROOT, env=drawn, capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert processes_about(folder) == {}
    result = json.loads((folder / "results" / "result.json").read_text())
    assert result["sites"] == 4
    assert result["privacy"]["not_covered"] == []
    model, tables = load_model(folder / "results" / "model.npz"), sorted(folder.glob("hospital-*.csv"))
    assert model.schema_.columns == ("age", "pressure")
    # Of all rows 0.86 with a deviation of 0.006; of the few test rows, whose counts have noise, it is one of chance.
    rows = pd.concat(map(pd.read_csv, tables))
    assert np.mean(model.predict(rows[["age", "pressure"]]) == rows[LABEL]) > 0.8
    assert "dp-svm" in (folder / "results" / "report.html").read_text()
    assert len(cells_in(folder, tables)) > 500  # they are found where they are
    for name in ("coordinator", "coordinator.log", "results"):
        assert cells_in(folder / name, tables) == set()
    kept = sorted(path for path in (folder / "coordinator").rglob("*") if path.suffix in (".db", ".sqlite"))
    assert kept, "the SuperLink's database was not looked at"
    for number in range(1, 5):
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / f"hospital-{number}"))
        assert read_ledger(folder / f"hospital-{number}" / "state").spent("train") > 0
        log = (folder / f"hospital-{number}.log").read_text()
        assert "asked for private_moments" in log
        assert "Traceback" not in log
        received = folder / f"hospital-{number}" / "results"
        assert {path.name for path in received.iterdir()} == {"model.npz", "result.json", "report.html"}
        assert (received / "model.npz").read_bytes() == (folder / "results" / "model.npz").read_bytes()


@pytest.mark.slow
def test_a_hospital_whose_key_the_server_does_not_know_is_told_so(tmp_path: Path) -> None:
    """'west' has left the study by a second invitation, and starts with the first one."""
    port = free_port()
    coordinator = Coordinator.make(tmp_path / "coordinator", f"localhost:{port}", port)
    tables = generated_tables(tmp_path, hospitals=3, rows=20)
    (tmp_path / "ours.toml").write_text(SCHEMA)
    made = [make_hospital(tmp_path / name, name, str(file))[1] for name, file in tables.items()]
    west = tmp_path / made[2].name
    first = coordinator.invite(made, {}, tmp_path / "ours.toml")
    accept(west, coordinator.folder / "invitation.json", first.code)
    coordinator.invite(made[:2], {"min-sites": 2}, tmp_path / "ours.toml", renew=True)
    with started_command("coordinator", tmp_path) as link:
        wait_for({"coordinator": link}, tmp_path, READY)
        command = [sys.executable, "-m", "flower_pansvm", "hospital", "start", "--folder", str(west)]
        path = f"{CHEATS}:{os.environ.get('PYTHONPATH', '')}"
        hasty = {**os.environ, "PYTHONPATH": path, "PANSVM_CHEAT": "impatient"}
        done = subprocess.run(
            command, cwd=ROOT, env=hasty, capture_output=True, text=True, check=False, timeout=300
        )
    assert done.returncode == 1
    assert "does not let this SuperNode in" in done.stderr
    assert "Traceback" not in done.stderr
    assert processes_about(tmp_path) == {}


def test_the_generated_tables_are_within_their_public_ranges(tmp_path: Path) -> None:
    tables = generated_tables(tmp_path)
    (tmp_path / "ours.toml").write_text(SCHEMA)
    public = TableSchema.read(tmp_path / "ours.toml")
    for file in tables.values():
        table = read_table(file)
        assert set(table.labels if table.labels is not None else ()) == set(public.classes)
        for column, values in zip(table.columns, table.X.T, strict=True):
            low, high = public.public_ends[column]
            assert low <= values.min() < values.max() <= high


@pytest.mark.parametrize(
    ("settings", "level", "noise"),
    [
        ({}, "dp", 0.5),
        ({"strategy": "pan-svm"}, "perturbed", 0.25),
        ({"strategy": "svm-admm", "noise": 1.0}, "perturbed", 1.0),
        ({"strategy": "pan-svm", "privacy": "exact"}, "exact", 0.5),
    ],
)
def test_a_trial_s_hospitals_agree_to_what_its_strategy_needs_and_to_no_more(
    settings: dict[str, Scalar], level: str, noise: float, study: Study
) -> None:
    study.settings = settings
    agree(study.hospitals["north"], study.invite())
    node = read_node_config(study.hospitals["north"])
    assert (node["privacy"], node["noise"]) == (level, noise)


def test_a_trial_that_cannot_be_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(SettingError, match="empty"):
        run_trial(tmp_path / "full", {}, print)
    with pytest.raises(SettingError, match="'x'"):
        run_trial(tmp_path / "new", {"epsilon": "x"}, print)
    assert not (tmp_path / "new").exists()
    assert processes_about(tmp_path) == {}

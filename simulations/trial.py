"""A whole study on one machine: hospitals, coordinator, TLS and keys as in reality; every started process is ended."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from clients.deployment.hospital import accept, make_hospital
from clients.deployment.node_file import set_key
from clients.deployment.outcome import receive
from clients.table.table import LABEL
from flower_pansvm.errors import EngineError
from flower_pansvm.files import write
from flower_pansvm.locking import locked
from flower_pansvm.result_file import MODEL_FILE, read_result
from flower_pansvm.study.folder import new_folder
from flower_pansvm.study.handout import FILE
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.processes import (
    GRACE_SECONDS,
    exit_on_signals,
    flower_environment,
    free_port,
    started_process,
)
from flower_pansvm.terms import Scalar, Terms
from strategies.deployment.coordinator import FLOWER_FOLDER, RECOMMENDED, Coordinator
from strategies.deployment.superlink import checkout, train
from strategies.report.cautions import cautions
from strategies.report.page import write_report
from strategies.settings import settings_from

START_SECONDS = 300.0
"""Longest wait for SuperLink and SuperNodes; on a machine that does other work they take a minute."""

READY, CONNECTED = "The server is ready", "connected; waits"
TAIL_LINES = 15

SCHEMA = "classes = [0, 1]\ncolumns.age.range = [0, 120]\ncolumns.pressure.range = [40, 250]\n"
"""The schema file of a trial's tables."""


def generated_tables(folder: Path, hospitals: int = 4, rows: int = 200) -> dict[str, Path]:
    """Write synthetic tables, one a hospital, and return their paths by hospital: a disease of age and pressure."""
    generator, files = np.random.default_rng(0), {}
    for index in range(1, hospitals + 1):
        age, pressure = (
            generator.uniform(20, 90, rows),
            generator.normal(130 + 2 * index, 15, rows).clip(60, 220),
        )
        risk = (age - 55) / 10 + ((pressure - 135) / 12) ** 2 - 1 + generator.normal(0, 0.5, rows)
        frame = pd.DataFrame(
            {"age": age.round(), "pressure": pressure.round(4), LABEL: (risk > 0).astype(int)}
        )
        files[f"hospital-{index}"] = folder / f"hospital-{index}.csv"
        frame.to_csv(files[f"hospital-{index}"], index=False)
    return files


def run_trial(folder: Path, settings: Mapping[str, Scalar], show: Callable[[str], None]) -> Path:
    """Set up a study in a new folder, train, end all started processes, and return the folder of the results.

    ``settings`` are added to the recommended ones. SettingError if one is invalid or the folder is not empty,
    EngineError if SuperLink or SuperNodes do not start, RunFailedError if the training fails.
    """
    settings_from({"strategy": RECOMMENDED["strategy"], **settings})
    folder = new_folder(folder)
    with locked(folder):
        began = time.monotonic()
        tables = generated_tables(folder)
        coordinator, agreements = set_up(folder, tables, settings)
        names = list(tables)
        show(f"{len(names)} hospitals and a coordinator on port {coordinator.port} are set up in {folder}")
        for agreement in agreements:
            show(f"they agree to a run that is not differentially private: {agreement} in each node.toml")
        with exit_on_signals(), started_study(folder, names):
            show(f"all are connected after {time.monotonic() - began:.0f} s; the logs are {folder}/*.log")
            results = train(coordinator, folder / "results", show)
        coordinator.hand_out(results, results / FILE)
        for name in names:
            write_report(receive(folder / name, results / FILE, folder / name / "results"))
        report = write_report(results)
        for text in cautions(read_result(results)):
            show(f"Caution: {text}")
        show(
            f"the study took {time.monotonic() - began:.0f} s; model: {results / MODEL_FILE}, report: {report}"
        )
        return results


def set_up(
    folder: Path, tables: Mapping[str, Path], settings: Mapping[str, Scalar], schema: str = SCHEMA
) -> tuple[Coordinator, set[str]]:
    """Make the folders of a coordinator and of a hospital for each table, and let all of them accept the invitation.

    Returns the coordinator and the hospitals' agreements, as of `agree`.
    """
    port = free_port()
    write(folder / "schema.toml", schema)
    coordinator = Coordinator.make(folder / "coordinator", f"localhost:{port}", port)
    registrations = [make_hospital(folder / name, name, str(file))[1] for name, file in tables.items()]
    invitation = coordinator.invite(registrations, settings, folder / "schema.toml")
    for name in tables:
        accept(folder / name, coordinator.folder / "invitation.json", invitation.code)
    return coordinator, {agree(folder / name, invitation) for name in tables} - {""}


def agree(folder: Path, invitation: Invitation) -> str:
    """Write a study's level and noise into a hospital's node config, and return them; empty at level `dp`.

    The user of a trial decides for all its hospitals. Other agreements, such as to show rows, are not written.
    """
    if invitation.privacy == "dp":
        return ""
    agreed: dict[str, str | float] = {"privacy": invitation.privacy}
    if invitation.privacy == "perturbed":
        agreed["noise"] = Terms.from_config(invitation.settings).noise
    for key, value in agreed.items():
        set_key(folder, key, value)
    return ", ".join(f"{key}={value}" for key, value in agreed.items())


@contextlib.contextmanager
def started_command(
    kind: str, folder: Path, name: str = "coordinator", **variables: str
) -> Iterator["subprocess.Popen[str]"]:
    """Run ``pansvm hospital start`` or ``pansvm coordinator start``, with a log beside its folder."""
    command = [sys.executable, "-m", "flower_pansvm", kind, "start", "--folder", str(folder / name)]
    # A trial has no patients.
    command += ["--shared-machine"] if kind == "coordinator" else []
    # Each hospital has a ledger of its own, not the account's.
    environment = {**flower_environment(folder / name / FLOWER_FOLDER), "XDG_STATE_HOME": str(folder / name)}
    with started_process(command, checkout(), environment | variables, folder / f"{name}.log") as process:
        try:
            yield process
        finally:
            # Its own processes, in groups of their own, end within this time.
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(6 * GRACE_SECONDS)


@contextlib.contextmanager
def started_study(folder: Path, hospitals: Iterable[str]) -> Iterator[None]:
    """Run the coordinator and its hospitals, connected when the block begins; errors as of `wait_for`."""
    with contextlib.ExitStack() as running:
        link = running.enter_context(started_command("coordinator", folder))
        wait_for({"coordinator": link}, folder, READY)
        nodes = {name: running.enter_context(started_command("hospital", folder, name)) for name in hospitals}
        wait_for(nodes, folder, CONNECTED)
        yield


def wait_for(processes: Mapping[str, "subprocess.Popen[str]"], folder: Path, sign: str) -> None:
    """Wait until the log of each process contains a sign; EngineError if one ends before, or after `START_SECONDS`."""
    deadline = time.monotonic() + START_SECONDS
    waiting = dict(processes)
    while waiting:
        for name, process in list(waiting.items()):
            log = (folder / f"{name}.log").read_text(errors="replace")
            if sign in log:
                del waiting[name]
            elif process.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join(log.splitlines()[-TAIL_LINES:])
                raise EngineError(
                    f"'{name}' did not start in time or ended. The end of {folder / name}.log:\n{tail}"
                )
        time.sleep(0.2)

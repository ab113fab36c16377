"""Whoever should not take part, and what is wrong before a training."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from simulations.benchmarks.faults.in_a_run import Fault, seen
from simulations.benchmarks.faults.study import Study
from simulations.deployment.certificates import make_certificates
from simulations.deployment.hospital import FLOWER_FOLDER, accept
from simulations.deployment.registration import Registration
from simulations.deployment.superlink import checkout
from simulations.deployment.supernode import flower_environment
from simulations.engines.processes import free_port, started_process

TOLD = re.compile(r"Exit Code|\[code|ERROR|CERTIFICATE|retrying")


def run_for(command: Sequence[str], folder: Path, seconds: float = 120.0) -> tuple[int | None, str]:
    """Return exit code and output of a command; no exit code if it still runs after some seconds."""
    log = folder / "by-hand.log"
    with started_process(
        list(command), checkout(), flower_environment(folder / FLOWER_FOLDER), log
    ) as process:
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
    return code, re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))


def hospital_start(folder: Path) -> tuple[int | None, str]:
    """Return exit code and output of ``pansvm hospital start``."""
    return run_for(
        [sys.executable, "-m", "simulations", "hospital", "start", "--folder", str(folder)], folder
    )


def by_hand(study: Study, name: str, *options: str) -> tuple[int | None, str]:
    """Return exit code and output of ``flower-supernode`` with some options, as the guide's appendix starts it."""
    command = [
        "flower-supernode",
        "--superlink",
        study.coordinator.address,
        "--port",
        str(free_port()),
        *options,
    ]
    return run_for(command, study.folder / name)


def strangers(folder: Path) -> Iterator[str]:
    """Start SuperNodes that should not get in, by `pansvm hospital start` and by hand."""
    with Study(folder) as study:
        north, south = folder / "hospital-1", folder / "hospital-2"
        study.end("hospital-1")
        authority, key = str(north / "ca.crt"), str(north / "supernode.key")
        other = folder / "other.crt"
        other.write_bytes(make_certificates("localhost")["ca.crt"])
        stranger = folder / "stranger.key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", stranger], check=True)
        tries = {
            "an unregistered key": ("--root-certificates", authority, "--auth-supernode-private-key", str(stranger)),
            "another authority's certificate": (
                "--root-certificates", str(other), "--auth-supernode-private-key", key,
            ),
            "no key": ("--root-certificates", authority),
            "plain text": ("--insecure",),
            "a second SuperNode with the key of one that is connected": (
                "--root-certificates", authority, "--auth-supernode-private-key", str(south / "supernode.key"),
            ),
        }  # fmt: skip
        for what, options in tries.items():
            code, said = by_hand(study, "hospital-1", *options)
            lines = [line for line in said.splitlines() if TOLD.search(line)]
            yield f"flower-supernode with {what}: exit code {code}"
            yield from (f"   {line.strip()}" for line in lines[:6])
        shutil.copy(south / "supernode.key", north / "supernode.key")
        code, said = hospital_start(north)
        yield f"hospital start with another hospital's key: exit code {code}: {said.splitlines()[-1]}"
        assert (code, "Traceback" in said) == (1, False)
        code, said = hospital_start(south)
        yield f"hospital start a second time: exit code {code}: {said.splitlines()[-1]}"
        assert (code, "Traceback" in said) == (1, False)


def struck_off(folder: Path) -> Iterator[str]:
    """Take a hospital whose SuperNode runs out of the study, and start the server again."""
    with Study(folder) as study:
        coordinator = study.coordinator
        kept = [Registration.read(folder / name / f"{name}.registration.json") for name in study.names[:3]]
        schema = folder / "schema.toml"
        coordinator.invite(kept, {"strategy": "pan-svm", "landmarks": 10.0}, schema, renew=True)
        for name in study.names[:3]:
            accept(folder / name, coordinator.folder / "invitation.json", coordinator.invitation().code)
        study.forget()
        study.start("coordinator")
        study.wait("hospital-4", "Error|no connection")
        with study.training(folder / "results") as training:
            yield from seen(study, training, "hospital-4", lines=8)
            assert training.end() == 0


def same_table(folder: Path) -> Iterator[str]:
    """Let two hospitals, with keys and names of their own, have the same table."""
    with Study(folder) as study:
        shutil.copy(folder / "hospital-3.csv", folder / "hospital-4.csv")
        with study.training(folder / "results") as training:
            yield from seen(study, training, "hospital-4")


FAULTS: dict[str, Fault] = {"strangers": strangers, "struck-off": struck_off, "same-table": same_table}

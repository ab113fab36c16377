"""Full disks, by small file systems in memory: it takes root to mount them."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from flower_pansvm.terms import Scalar
from simulations.benchmarks.faults.in_a_run import Fault, seen
from simulations.benchmarks.faults.study import Study

DP_SVM: dict[str, Scalar] = {"steps": 0.0}


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Put a folder on a disk of its own, and yield the file that fills it when it is written."""
    content = folder.with_name(f"{folder.name}-before")
    folder.mkdir(exist_ok=True)
    shutil.copytree(folder, content)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0700", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        shutil.copytree(content, folder, dirs_exist_ok=True)
        yield folder / "filling"
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as filling:
        while True:
            filling.write(bytes(1024))


def hospitals_disk_full(folder: Path) -> Iterator[str]:
    """Fill the disk of a hospital's budget before it is charged; with room again the run goes on."""
    study = Study(folder, settings=DP_SVM)
    with small_disk(folder / "hospital-4" / "state", 64) as filling, study:
        with study.training(folder / "results") as training:
            study.wait("hospital-4", "asked for private_moments")
            fill(filling)
            yield from seen(study, training, "hospital-4", lines=8)
            assert training.end() == 1
            assert "No space left on device" in training.log
            assert "No space left on device" in study.log("hospital-4")
            kept = training.kept
        filling.unlink()
        with study.training(folder / "results", *(["--resume"] if kept else [])) as training:
            yield from seen(study, training, "hospital-4")
            assert training.end() == 0


def coordinators_disk_full(folder: Path) -> Iterator[str]:
    """Fill the disk of the coordinator's results after the first sum; with room again the run goes on."""
    study = Study(folder)
    (folder / "disk").mkdir()
    with small_disk(folder / "disk", 1024) as filling, study:
        with study.training(folder / "disk" / "results") as training:
            training.wait("scaling +[0-9]")
            fill(filling)
            yield from seen(study, training)
            assert training.end() == 1
            assert "No space left on device" in training.log
            assert training.kept >= 1
        filling.unlink()
        with study.training(folder / "disk" / "results", "--resume") as training:
            yield from seen(study, training)
            assert training.end() == 0


def superlinks_disk_full(folder: Path) -> Iterator[str]:
    """Fill the disk of the SuperLink's database after the first sum; with room again, and started again, it goes on."""
    study = Study(folder)
    with small_disk(folder / "coordinator" / "flower", 65536) as filling, study:
        with study.training(folder / "results") as training:
            training.wait("scaling +[0-9]")
            fill(filling)
            yield from seen(study, training)
            yield from (f"coordinator start: {line}" for line in study.log("coordinator").splitlines()[-6:])
            assert training.end() == 1
            assert training.kept >= 1
        filling.unlink()
        study.start("coordinator")
        with study.training(folder / "results", "--resume") as training:
            yield from seen(study, training)
            assert training.end() == 0


FAULTS: dict[str, Fault] = {
    "hospitals-disk-full": hospitals_disk_full,
    "coordinators-disk-full": coordinators_disk_full,
    "superlinks-disk-full": superlinks_disk_full,
}

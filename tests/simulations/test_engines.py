"""``pansvm run`` on Flower's simulation engine and in process: one and the same model and audit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EVERYTHING = ("C=1,8", "cv-folds=3", "probability=true", "multi-class=ovo", "privacy=exact")


@pytest.mark.slow
def test_both_engines_give_the_same_model_and_audit(tmp_path: Path) -> None:
    results = []
    for engine in ("simulation", "in-process"):
        out = tmp_path / engine
        command = [
            sys.executable,
            "-m",
            "flower_pansvm",
            "run",
            "--data=wine",
            f"--engine={engine}",
            "--audit",
        ]
        command += [f"--out={out}", *(f"--set={setting}" for setting in EVERYTHING)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "test accuracy" in done.stdout
        assert "smallest cluster 5 rows" in done.stdout
        assert not (out / "transcript").exists()
        results.append(json.loads((out / "result.json").read_text()))
    there, here = results
    assert there["accuracy"] >= 0.9
    for same in ("model_sha256", "round_trips", "accuracy", "objective", "chosen", "disclosed", "audit"):
        assert there[same] == here[same]
    assert there["audit"]["fewest_rows"] > 0

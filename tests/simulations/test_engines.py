"""``pansvm run`` on Flower's simulation engine and in process: one and the same model."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from flower_pansvm.model import PanSVC


@pytest.mark.slow
def test_both_engines_give_the_same_model(tmp_path: Path) -> None:
    models = []
    for engine in ("simulation", "in-process"):
        out = tmp_path / engine
        command = [sys.executable, "-m", "simulations", "run", "--engine", engine, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "test accuracy" in done.stdout
        assert json.loads((out / "result.json").read_text())["accuracy"] >= 0.95
        models.append(PanSVC.load(out / "model.npz"))
    X = load_breast_cancer(as_frame=True).data
    there, here = (model.decision_function(X) for model in models)
    assert np.abs(there - here).max() < 1e-6


@pytest.mark.slow
def test_a_run_that_fails_on_the_engine_exits_with_an_error_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simulations", "run", "--data", "iris", "--set", "min-cluster=1000"]
    command += ["--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert "min-cluster" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout

"""Faults at real SuperNodes and a real SuperLink: no sum that the coordinator had is lost."""

import os
import re
import signal
from pathlib import Path

import pytest

from flower_pansvm.terms import Scalar
from simulations.study_processes import RunningStudy
from simulations.trial import CONNECTED

PAN_SVM: dict[str, Scalar] = {"strategy": "pan-svm", "landmarks": 10.0, "tol": 0.5, "test-fraction": 0.2}
LOCAL_ONLY: dict[str, Scalar] = {"strategy": "local-only", "timeout": 90.0}
CHEATS = Path(__file__).parent / "cheat"


@pytest.mark.slow(minutes=4)
def test_a_training_goes_on_after_ctrl_c_with_too_few_hospitals_left_and_while_its_server_is_killed(
    tmp_path: Path,
) -> None:
    with RunningStudy(tmp_path, PAN_SVM) as study:
        out, sign = tmp_path / "results", "asked for warm_start"
        with study.training(out) as training:
            study.wait(study.names[0], "asked for landmarks")
            os.kill(training.process.pid, signal.SIGINT)
            # A busy machine may be at the next sum before it stops.
            assert training.end() == 130
            assert 1 <= training.kept <= 2
        with study.training(out, "--resume") as training:
            for name in study.names[2:]:
                study.wait(name, sign)
                study.signal(name)
            assert training.end() == 1
            assert training.kept >= 2
            assert all(name in training.log for name in study.names[2:])
        for name in study.names[2:]:
            study.wait(name, CONNECTED)
        with study.training(out, "--resume") as training:
            study.wait(study.names[0], sign)
            study.signal("coordinator", "flower-superlink")
            assert training.end() == 0, training.log
            assert re.search(r"resuming after [2-9] sums", training.log)


@pytest.mark.slow(minutes=5)
def test_a_hospital_that_sends_something_else_is_named_or_left_out(tmp_path: Path) -> None:
    path = f"{CHEATS}:{os.environ.get('PYTHONPATH', '')}"
    left_out = "'hospital-4' does not answer and is left out"
    with RunningStudy(tmp_path, LOCAL_ONLY) as study:
        for cheat, (code, told) in {
            "empty:local_scores": (1, "hospital-4"),
            "shape:local_scores": (1, "hospital-4"),
            "words:local_scores": (1, "local_scores"),  # a sum does not say whose words are random
            "key:join": (1, "hospital-4"),
            "raise:local_scores": (0, left_out),
            "silent:local_scores": (0, left_out),
        }.items():
            study.start("hospital-4", PYTHONPATH=path, PANSVM_CHEAT=cheat)
            with study.training(tmp_path / cheat.partition(":")[0]) as training:
                assert (training.end(), told in training.log) == (code, True), training.log
                assert "4711" not in training.log

"""``pansvm compare`` from the command line, its processes, and what becomes of it when it is stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import active_children
from pathlib import Path

import pandas as pd
import pytest

from simulations.comparison.run import run_case
from simulations.comparison.workers import run_each
from tests.command_line import Run
from tests.simulations.comparison.conftest import plan

COMPARE = ("compare", "--data", "iris", "--sites", 3, "--repeats", 2, "--splits", "iid,dirichlet:1")
STRATEGIES = ("--strategies", "local-only,central:tree,central:naive-bayes")
# A shell starts what is in its background with SIGINT ignored, and so the command would be here.
START = """
import signal
from flower_pansvm.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
FILES = ["comparison.csv", "comparison.html", "comparison.json", "runs.jsonl", "summary.csv", "table.md"]


def without_seconds(folder: Path) -> list[list[str]]:
    frame = pd.read_csv(folder / "comparison.csv", dtype=str).drop(columns=["seconds", "date"])
    return [list(frame.columns), *frame.to_numpy().tolist()]


@pytest.mark.slow
def test_compare_leaves_a_table_and_goes_on_to_the_same_one(pansvm: Run, tmp_path: Path) -> None:
    command = (*COMPARE, *STRATEGIES, "--out", "out")
    out = pansvm.output(*command, "--jobs", 2)
    assert "[12/12]" in out
    assert (tmp_path / "out" / "table.md").read_text() in out
    assert "local-only (exact)" in out
    assert "central:tree (true rows)" in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    whole = without_seconds(tmp_path / "out")
    assert len(whole) == 1 + 12

    table, file = (tmp_path / "out" / name for name in ("comparison.csv", "runs.jsonl"))
    lines, rows = file.read_text().splitlines(keepends=True), set(table.read_text().splitlines())
    file.write_text("".join([*lines[4:7], lines[1], lines[8][:20]]))
    code, out, _ = pansvm(*command, "--jobs", 1)
    assert (code, without_seconds(tmp_path / "out") == whole) == (0, True)
    assert "4 of 12 runs are in" in out
    # What was there is there to the letter, with its seconds.
    assert len(rows & set(table.read_text().splitlines())) >= 5

    written = {name: (tmp_path / "out" / name).read_bytes() for name in FILES}
    err = pansvm.error(*command, "--seed", 1)
    assert "another comparison" in err
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == written


@pytest.mark.slow
def test_schema_and_dropped_columns_are_those_of_every_run(pansvm: Run, tmp_path: Path) -> None:
    """The label is a word and a column holds names: without the two options no run could read the table."""
    frame = pd.DataFrame(
        {"age": range(60), "name": [f"n{row}" for row in range(60)], "ill": ["no", "yes"] * 30}
    )
    frame.to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "ours.toml").write_text(
        'label = "ill"\nclasses = ["no", "yes"]\n[columns.age]\nrange = [0, 120]\n'
    )
    table = ("--data", "ward.csv", "--schema", "ours.toml", "--drop", "name", "--sites", 3)
    strategies = ("--strategies", "local-only,central:naive-bayes", "--repeats", 1, "--jobs", 1)
    pansvm.output("compare", *table, *strategies, "--out", "c")
    schema = tmp_path / "ours.toml"
    schema.write_text(schema.read_text().replace("120", "150"))
    assert "another comparison" in pansvm.error("compare", *table, *strategies, "--out", "c")


@pytest.mark.usefixtures("_in_this_process")
def test_a_failed_run_is_reported_and_the_others_go_on(pansvm: Run, tmp_path: Path) -> None:
    code, out, err = pansvm(
        "compare", "--data", "iris", "--strategies", "pan-svm,central:tree", "--repeats", 1, "--jobs", 1,
        "--set", "landmarks=400", "--out", "out",
    )  # fmt: skip
    assert (code, err) == (1, "")
    assert "pan-svm, iris, iid, ring, repeat 0: failed: landmarks is 400" in out
    assert "1 of 2 runs failed" in out
    assert "1 failed on iris, iid (pan-svm (exact)): landmarks is 400" in out
    frame = pd.read_csv(tmp_path / "out" / "comparison.csv").set_index("strategy")
    assert "Ask for fewer" in frame.loc["pan-svm", "error"]
    assert frame.loc["central:tree", "accuracy"] > 0.8
    assert frame.loc["central:tree", "date"].startswith("20")
    assert "scikit-learn" in frame.loc["central:tree", "versions"]
    assert "Ask for fewer" in (tmp_path / "out" / "comparison.html").read_text()


@pytest.mark.slow
def test_a_process_that_dies_takes_no_other_run_with_it() -> None:
    cases = plan(strategies=("pan-svm", "central:tree"), repeats=1).cases()

    def kill_the_first() -> None:
        while not active_children():
            time.sleep(0.01)
        active_children()[0].kill()

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    (one, first), (other, second) = run_each(cases, 1, run_case)
    killer.join()
    assert [one, other] == cases
    assert "ended before the run did" in first["error"]
    assert "error" not in second
    assert not active_children()


@pytest.mark.slow
def test_interrupted_and_killed_it_goes_on_to_the_table_of_a_whole_comparison(tmp_path: Path) -> None:
    quick = "--set landmarks=20 --set tol=0.1 --jobs 2 --strategies pan-svm,svm-ensemble,central:svc --out"
    command = [sys.executable, "-c", START, *map(str, COMPARE), *quick.split()]
    root = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

    def stopped_after(lines: int, number: int) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*command, "stopped"],
            cwd=tmp_path,
            env=root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        file = tmp_path / "stopped" / "runs.jsonl"
        while not (file.exists() and file.read_text().count("\n") >= lines):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        return process

    interrupted = stopped_after(3, signal.SIGINT)
    _, err = interrupted.communicate()
    assert interrupted.returncode != 0
    assert "Continue with: pansvm compare" in err
    assert "Traceback" not in err
    stopped_after(6, signal.SIGKILL).communicate()
    for folder in ("stopped", "whole"):
        subprocess.run([*command, folder], cwd=tmp_path, env=root, check=True, capture_output=True)
    assert without_seconds(tmp_path / "stopped") == without_seconds(tmp_path / "whole")

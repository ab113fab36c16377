"""The lowest versions that pyproject.toml allows work, installed from a package index in a new environment."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parents[1]
SOURCE = ("pyproject.toml", "README.md", "LICENSE", "flower_pansvm", "clients", "strategies", "simulations")
EXTRAS = "simulation,export"
INSTALL_SECONDS, COMMAND_SECONDS = 900, 600
NO_INDEX = ("error sending request", "dns error", "Failed to fetch", "client error (Connect)", "timed out")
"""In what uv says where there is no package index."""

COMMANDS = (
    *(
        "run",
        "tune",
        "select",
        "compare",
        "predict",
        "export",
        "check",
        "schema",
        "hospital init",
        "coordinator",
    ),
)


@pytest.fixture(scope="module")
def pansvm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the lowest versions in a new environment, and return its command line."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("uv, which installs the lowest versions, is not here")
    folder = tmp_path_factory.mktemp("lowest")
    # A copy, as the build leaves files in its folder.
    (folder / "source").mkdir()
    for name in SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / "source")
    python = folder / "venv" / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--python", str(python), "--resolution", "lowest-direct"]
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")],
        [*install, f"{folder / 'source'}[{EXTRAS}]"],
    ):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"nothing was installed within {INSTALL_SECONDS} s")
        if done.returncode != 0 and any(words in done.stderr for words in NO_INDEX):
            pytest.skip("there is no package index here")
        assert done.returncode == 0, done.stderr
    return folder / "venv" / "bin" / "pansvm"


def works(pansvm: Path, folder: Path, *arguments: object) -> str:
    """Run a command, which has to succeed, and return what it prints."""
    done = subprocess.run(
        [pansvm, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    assert done.returncode == 0, f"{arguments}: {done.stderr[-2000:]}"
    return done.stdout


SAME_TO_THE_BIT = """
import numpy as np, pandas as pd
from pathlib import Path
from clients.table.reading import read_table
frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=2000), "label": 1})
frame.to_csv("a.csv", index=False)
frame.to_parquet("a.parquet")
assert np.array_equal(read_table(Path("a.csv")).X, read_table(Path("a.parquet")).X)
"""
"""A table is the same however it is written, with each version of the library that reads it."""


@pytest.mark.slow(minutes=4)
def test_the_lowest_versions_train_report_predict_and_export(pansvm: Path, tmp_path: Path) -> None:
    for command in COMMANDS:
        assert "Usage" in works(pansvm, tmp_path, *command.split(), "--help")
    works(pansvm.with_name("python"), tmp_path, "-c", SAME_TO_THE_BIT)
    data = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 2, 3, -1]]
    data.to_parquet(tmp_path / "data.parquet")
    data.head(20).to_excel(tmp_path / "rows.xlsx", index=False)
    table = ("--data", "data.parquet", "--label", "target", "--sites", 3, "--set", "landmarks=10")
    works(pansvm, tmp_path, "run", *table, "--engine", "simulation", "--out", "flower")
    works(
        pansvm, tmp_path, "run", *table, "--engine", "in-process", "--out", "out", "--set", "probability=true"
    )
    for folder in ("flower", "out"):
        assert json.loads((tmp_path / folder / "result.json").read_text())["accuracy"] > 0.8
        assert (tmp_path / folder / "report.html").exists()
    works(pansvm, tmp_path, "predict", "out/model.npz", "rows.xlsx", "--out", "said.csv")
    assert len(pd.read_csv(tmp_path / "said.csv")) == 20
    assert "has the model" in works(pansvm, tmp_path, "export", "out/model.npz", "--out", "model.onnx")

"""The system in docs/extending.md runs in a copy of the tree; test_installed.py has the page's package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "extending.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
ROWS = re.compile(r"<!-- rows: (\S+), after (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def copy_with_ridge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do in a copy of the tree what the page says of a new system, and nothing else."""
    copy = tmp_path_factory.mktemp("copy") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.egg-info"))
    page = DOCS.read_text(encoding="utf-8")
    for name, text in FILE.findall(page):
        assert not (copy / name).exists()
        (copy / name).write_text(text, encoding="utf-8")
    for name, after, rows in ROWS.findall(page):
        lines = (copy / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (place,) = (number for number, line in enumerate(lines) if line.lstrip(" |").startswith(after))
        lines.insert(place + 1, rows)
        (copy / name).write_text("".join(lines), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "simulations.settings_page"], cwd=copy, check=True)
    return copy


SUITE = """
import pytest
from simulations.testing import CHECKS

@pytest.mark.parametrize("check", CHECKS)
def test_ridge(check):
    check("ridge")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "tests",
    [
        "tests/test_ridge.py",
        "tests/test_arrows.py tests/test_docs.py",
        "tests/strategies/report tests/strategies/test_settings.py",
        "tests/clients/test_runs.py::test_each_system_has_its_files",
    ],
)
def test_a_system_takes_what_the_page_says(tests: str, copy_with_ridge: Path) -> None:
    (copy_with_ridge / "tests" / "test_ridge.py").write_text(SUITE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        *tests.split(),
    ]
    done = subprocess.run(command, cwd=copy_with_ridge, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]

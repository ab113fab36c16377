"""The code in docs/extending.md runs, and what it makes is a strategy like any other."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulations.testing import CHECKS
from strategies.registry import STRATEGIES
from strategies.settings import all_settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "extending.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
ROWS = re.compile(r"<!-- rows: (\S+), after (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


def block(mark: str) -> str:
    """Return the Python code behind a mark."""
    return DOCS.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n```python\n")[1].split("```")[0]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the example with its strategy entered for one test only: other tests ask which there are."""
    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data})
    found: dict[str, Any] = {"__name__": "averaging"}
    exec(block("own strategy"), found)
    STRATEGIES["averaging"] = found["Averaging"]
    exec(block("own strategy's test"), found)
    return found


def test_the_example_makes_a_strategy_without_new_settings(names: dict[str, Any]) -> None:
    assert STRATEGIES["averaging"] is names["Averaging"]
    all_settings()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_example_does_what_a_strategy_has_to_do(
    check: Callable[[str], None], names: dict[str, Any]
) -> None:
    names["test_my_strategy"](check)


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

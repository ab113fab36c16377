"""Format, lint and types, as part of the one test command."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("check", [["ruff", "format", "--check"], ["ruff", "check"], ["mypy"]], ids=" ".join)
def test_style(check: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("room", ["flower_pansvm", "clients", "strategies", "simulations"])
def test_no_file_of_the_product_is_too_long_to_be_read_at_once(room: str) -> None:
    long = {path.name for path in (ROOT / room).rglob("*.py") if len(path.read_text().splitlines()) > 350}
    assert not long

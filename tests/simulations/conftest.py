"""The command line as a person uses it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulations.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pansvm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs ``pansvm`` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pansvm", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    return run


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the runs of a comparison or reproduction no processes of their own: each takes seconds to start."""
    from simulations.comparison.workers import attempt  # noqa: PLC0415

    monkeypatch.setattr(
        "simulations.comparison.finished.run_each",
        lambda works, _, run: ((work, attempt(run, work)) for work in works),
    )

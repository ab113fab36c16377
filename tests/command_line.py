"""The command line as a person uses it, and runs without it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from flower_pansvm.cli import main
from simulations.running import run
from strategies.settings import make_settings


def finished(folder: Path, **settings: Any) -> dict[str, Any]:
    """Return what a run of three sites in this process writes into its ``result.json``."""
    run(make_settings(**{"sites": 3, "out": str(folder), **settings}), "in-process", lambda _: None)
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


class Run:
    """``pansvm`` in a folder of its own: a call returns exit code, output and errors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["pansvm", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        captured = self._capsys.readouterr()
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    def output(self, *arguments: object) -> str:
        """Return what a command prints that ends well and warns of nothing."""
        code, out, err = self(*arguments)
        assert (code, err) == (0, ""), err
        return out

    def error(self, *arguments: object) -> str:
        """Return what is told by a command that ends with an error of this project."""
        code, out, err = self(*arguments)
        assert code == 1, out + err
        return err

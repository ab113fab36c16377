"""Strategies are found by name: by looking into their folder, with near matches, and no name twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from strategies.registry import all_strategies, strategies


@pytest.mark.slow
def test_every_strategy_is_found_without_a_list() -> None:
    """In a new process, in which nothing but the registry has been imported."""
    code = "from strategies.registry import all_strategies; print(*all_strategies())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(all_strategies())
    assert {"pan-svm", "voted-wrapper", "filter-wrapper"} <= set(all_strategies())


def test_a_file_in_the_folder_is_a_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = 'from strategies.registry import strategies\n@strategies.register("mine")\nclass Mine: ...\n'
    (tmp_path / "mine_of_a_test.py").write_text(code)
    monkeypatch.setattr("strategies.registry.__file__", str(tmp_path / "registry.py"))
    monkeypatch.setattr("strategies.__path__", [str(tmp_path)])
    monkeypatch.setattr(strategies, "data", dict(strategies.data))
    assert all_strategies()["mine"].__name__ == "Mine"
    monkeypatch.delitem(sys.modules, "strategies.mine_of_a_test")

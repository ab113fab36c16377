"""docs/result.md describes every name in a result.json, and none that there is not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flower_pansvm.constraints import setting_fields
from simulations.attack.counting import Attack
from simulations.testing import QUICK
from strategies.registry import STRATEGIES
from strategies.report.words.system import every_system
from tests.command_line import finished

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "result.md").read_text(encoding="utf-8")
FIRST_CELLS = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
DOCUMENTED = {name for cell in FIRST_CELLS for name in re.findall(r"`([^`]+)`", cell)}

PLACEHOLDER = re.compile(r"[A-Z]{2,}")


def paths(value: Any, start: str = "") -> Iterator[str]:
    """Give the names in a JSON value, the way to each of them joined by points."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from paths(one, f"{start}.{key.replace('.', ' ')}" if start else key)
    elif isinstance(value, list) and any(isinstance(one, dict | list) and one for one in value):
        for one in value:
            yield from paths(one, start)
    elif start:
        yield start


def undocumented(result: Any) -> set[str]:
    """Return the names of a result that the page does not have; an empty object counts by its own name."""
    names = DOCUMENTED | {
        ".".join(name.split(".")[:end]) for name in DOCUMENTED for end in range(1, name.count(".") + 1)
    }
    known = re.compile("|".join(PLACEHOLDER.sub("[^.]+", re.escape(name)) for name in names))
    return {path for path in paths(result) if not known.fullmatch(path)}


def test_a_name_that_is_not_described_is_noticed() -> None:
    assert undocumented(
        {"accuracy": 1, "made_up": {"a": [{"b": 1}]}, "objective": [{"upper": 1, "odd": 2}]}
    ) == {"made_up.a.b", "objective.odd"}


def test_audit_and_attack_are_described() -> None:
    figures = {f"audit.{name}" for one in every_system().values() for name in one.figures}
    assert figures <= DOCUMENTED
    tops = {name.split(".")[1] for name in DOCUMENTED if name.startswith("attack.")}
    assert tops == set(Attack.__dataclass_fields__)


def test_every_name_that_is_described_is_in_the_code() -> None:
    rooms = (ROOT / room for room in ("strategies", "simulations", "flower_pansvm"))
    code = "\n".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))
    words = set(re.findall(r"\w+", code)) | set(re.findall(r"\w+-\w+", code))
    for name in DOCUMENTED:
        for part in name.split("."):
            assert PLACEHOLDER.fullmatch(part) or part in words, name


@pytest.mark.parametrize(
    "strategy", [pytest.param(name, marks=() if name == "svm-t" else pytest.mark.slow) for name in STRATEGIES]
)
def test_every_name_of_each_strategys_result_is_described(strategy: str, tmp_path: Path) -> None:
    more = {"probability": True, "C": "1,1"} if strategy == "pan-svm" else {}
    own = setting_fields(STRATEGIES[strategy].settings_class)
    quick = {key.replace("-", "_"): value for key, value in QUICK.items() if key in own}
    result = finished(tmp_path / "out", strategy=strategy, audit=True, **{**quick, **more})
    assert result["audit"]
    if more:
        assert result["chosen"]
        assert result["decision_groups"]
    assert not undocumented(result)

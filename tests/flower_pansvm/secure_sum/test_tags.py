"""No two uses of a hash or a key may share their input."""

import ast
from pathlib import Path

from flower_pansvm.secure_sum import tags

ROOT = Path(__file__).parents[3]
TAGS = [value for value in vars(tags).values() if isinstance(value, bytes)]


def test_no_two_tags_are_the_same() -> None:
    assert len(TAGS) == len(set(TAGS)) >= 7


def test_no_other_file_has_a_tag() -> None:
    found = {
        file.relative_to(ROOT).as_posix()
        for room in ("flower_pansvm", "clients", "strategies", "simulations")
        for file in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, bytes)
        and node.value.startswith(b"flower-pansvm/")
    }
    assert found == {"flower_pansvm/secure_sum/tags.py"}

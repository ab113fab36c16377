"""The README's examples: every command can be typed as it stands, and those of one table fit together."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from simulations.cli.app import cli
from simulations.cli.assignments import assignments
from strategies.settings import all_settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"```bash\n(.*?)```", re.DOTALL)
EXAMPLES = re.compile(r"<!-- examples -->\n```bash\n(.*?)```", re.DOTALL)
Run = Callable[..., tuple[int, str, str]]


def pansvm_commands() -> list[list[str]]:
    """Return the words after ``pansvm`` of each command in the README."""
    text = "".join(BLOCKS.findall(README))
    return [
        shlex.split(line, comments=True)[1:] for line in re.findall(r"pansvm .*", text.replace("\\\n", " "))
    ]


@pytest.mark.parametrize("arguments", [one for one in pansvm_commands() if one], ids=" ".join)
def test_each_command_can_be_typed(arguments: list[str]) -> None:
    group = typer.main.get_command(cli)
    name, *rest = ["--audit=sums" if word == "--audit" else word for word in arguments]
    command = group.commands[name]  # type: ignore[attr-defined]
    context = command.make_context(name, rest)
    assert {key for key, _ in assignments(context.params.get("set_") or [])} <= set(all_settings())


@pytest.mark.slow
def test_the_examples_run_one_after_the_other_from_an_empty_folder(pansvm: Run, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra export is not installed")
    blocks = EXAMPLES.findall(README)
    assert len(blocks) == 2
    tables = re.fullmatch(r'python -c "\n(.*)"\n', blocks[0], re.DOTALL)
    assert tables is not None
    subprocess.run([sys.executable, "-c", tables[1]], cwd=tmp_path, check=True)
    for line in blocks[1].splitlines():
        _, name, *rest = shlex.split(line, comments=True)
        # Quicker than Flower's processes, with the same messages.
        engine = ["--engine", "in-process"] if name == "run" and "--engine" not in rest else []
        code, _, err = pansvm(name, *rest, *engine)
        assert code == 0, f"{line}\n{err}"
    assert {"model.onnx", "predictions.csv", "runs"} <= {path.name for path in tmp_path.iterdir()}
    assert len(list((tmp_path / "runs").iterdir())) == 6

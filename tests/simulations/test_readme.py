"""Commands in README and docs: each can be typed as it stands, and the examples of a page fit together."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from flower_pansvm.cli import COMMANDS, command_at
from flower_pansvm.command_line import assignments
from strategies.settings import all_settings
from tests.command_line import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
BLOCKS = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PYTHON_EXAMPLES = re.compile(r"<!-- python example -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLES = re.compile(r"<!-- examples -->\n```bash\n(.*?)```", re.DOTALL)


def pansvm_commands() -> list[list[str]]:
    """Return the words after ``pansvm`` of each different command in the pages."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(PAGES)]
    text = "".join(body for page in pages for kind, body in BLOCKS.findall(page) if kind in ("", "bash"))
    lines = re.findall(r"^(?:.* )?pansvm (.*)", text.replace("\\\n", " "), re.MULTILINE)
    found = [shlex.split(line, comments=True) for line in lines]
    return [list(words) for words in dict.fromkeys(map(tuple, found)) if words]


@pytest.mark.parametrize("arguments", pansvm_commands(), ids=" ".join)
def test_each_command_can_be_typed(arguments: list[str]) -> None:
    name, *rest = ["--audit=sums" if word == "--audit" else word for word in arguments]
    command = command_at(COMMANDS[name].target)
    # A list of commands may itself be one of another list, as that of 'pansvm hospital' is.
    while commands := getattr(command, "commands", None):
        name, *rest = rest
        command = commands[name]
    context = command.make_context(name, rest)
    assert {key for key, _ in assignments(context.params.get("set_") or [])} <= set(all_settings())


@pytest.mark.slow
def test_the_examples_run_one_after_the_other_from_an_empty_folder(pansvm: Run, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra export is not installed")
    blocks = EXAMPLES.findall(README)
    assert len(blocks) == 2
    tables = re.fullmatch(r'python -c "\n(.*)"\n', blocks[0], re.DOTALL)
    subprocess.run([sys.executable, "-c", tables[1]], cwd=tmp_path, check=True)
    for line in blocks[1].splitlines():
        _, name, *rest = shlex.split(line, comments=True)
        # Quicker than Flower's processes, with the same messages.
        engine = ["--engine", "in-process"] if name == "run" and "--engine" not in rest else []
        code, _, err = pansvm(name, *rest, *engine)
        # 'check' warns of the few largest numbers, which the guessed ranges leave out.
        assert code == (3 if name == "check" else 0), f"{line}\n{err}"
    assert {"model.onnx", "predictions.csv", "runs"} <= {path.name for path in tmp_path.iterdir()}
    assert len(list((tmp_path / "runs").iterdir())) == 4


@pytest.mark.slow
def test_the_tutorial_runs_from_an_empty_folder(pansvm: Run, tmp_path: Path) -> None:
    tables, *blocks = EXAMPLES.findall(TUTORIAL)
    code = re.fullmatch(r'python -c "\n(.*)"\n', tables, re.DOTALL)
    subprocess.run([sys.executable, "-c", code[1]], cwd=tmp_path, check=True)
    for line in "".join(blocks).splitlines():
        _, name, *rest = shlex.split(line.replace("$PWD", str(tmp_path)))
        done, _, err = pansvm(name, *rest)
        # 'check' has a warning: the other site's largest number is beyond a guessed range.
        assert done == (3 if name == "check" else 0), f"{line}\n{err}"
    for example in PYTHON_EXAMPLES.findall(TUTORIAL):
        exec(example, {})
    folders = {"first", "tuned", "selected", "audited", "private", "from-python"}
    assert folders == {path.name for path in (tmp_path / "runs").iterdir()}
    assert {"predictions.csv", "compared"} <= {path.name for path in tmp_path.iterdir()}

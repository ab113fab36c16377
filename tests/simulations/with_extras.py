"""A stand-in for an installation with some extras only: every other package cannot be imported."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Collection, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Python reads a file of this name first. What it hides is hidden from the processes that are started, too.
SITECUSTOMIZE = """
import sys
from importlib.machinery import PathFinder

HIDDEN = {hidden!r}

class Visible(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname.split(".")[0] in HIDDEN else super().find_spec(fullname, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Visible
"""

# Runs commands one after the other, in one process: Flower and scikit-learn take seconds to import.
DRIVER = """
import contextlib, importlib, io, json, sys, traceback
from pathlib import Path

given = json.loads(sys.stdin.read())
found = []
for module in given["modules"]:
    importlib.import_module(module)
from flower_pansvm.__main__ import main
for arguments in given["commands"]:
    sys.argv = ["pansvm", *arguments]
    errors, output, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            traceback.print_exc()
            code = "traceback"
    text = output.getvalue() + errors.getvalue() + (code if isinstance(code, str) else "")
    found.append([code if isinstance(code, int) else 0 if code is None else 1, text])
Path(given["results"]).write_text(json.dumps(found))
"""


class Ended(NamedTuple):
    """How a command has ended."""

    code: int
    said: str


def distributions(extras: Collection[str]) -> set[str]:
    """Return what ``pip install '.[extras]'`` installs, with all that it needs in turn, as far as it is here."""
    waiting, seen = [Requirement(f"{PROJECT['name']}[{','.join(extras)}]")], set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, *sorted(wanted.extras)) in seen:
            continue
        seen.add((name, *sorted(wanted.extras)))
        for requirement in map(Requirement, _requirements(name, wanted.extras)):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *wanted.extras}):
                waiting.append(requirement)
    return {name for name, *_ in seen}


def _requirements(name: str, extras: Collection[str]) -> list[str]:
    if name == PROJECT["name"]:
        return sum((PROJECT["optional-dependencies"][extra] for extra in extras), PROJECT["dependencies"])
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def hidden_packages(extras: Collection[str]) -> set[str]:
    """Return the names of the packages that are here, but not in an installation with these extras."""
    there = distributions(extras)
    return {
        package
        for package, owners in packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, owners))
    }


def run_with_extras(
    extras: Collection[str], folder: Path, commands: Sequence[Sequence[str]], modules: Sequence[str] = ()
) -> list[Ended]:
    """Run ``pansvm`` commands in a folder as if no more than some extras were installed.

    Parameters
    ----------
    extras : collection of str
        The extras; none for a hospital.
    folder : Path
        Where the commands run.
    commands : sequence of sequence of str
        What stands after ``pansvm``.
    modules : sequence of str
        Modules to import first.
    """
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(SITECUSTOMIZE.format(hidden=hidden_packages(extras)))
    results = folder / "hooks" / "results.json"
    results.unlink(missing_ok=True)
    given = {
        "commands": [list(words) for words in commands],
        "modules": list(modules),
        "results": str(results),
    }
    paths = f"{hooks}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(given),
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Ended(*one) for one in json.loads(results.read_text())]

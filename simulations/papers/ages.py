"""Which figures are older than the code that made them: ``python -m simulations.papers.ages``.

The code of a figure is all that its module imports, directly or not, with the strategies, baselines and secure sums
that it names, and their counterparts at the hospital. A figure is older if one of these files has changed since its
commit in more than words: comments, docstrings, line breaks and imports do not count, nor does a move to another
folder.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from inspect import getfile
from pathlib import Path
from typing import NamedTuple

from simulations.papers.declared import all_reproductions
from simulations.papers.record import REPRODUCED, recorded
from simulations.papers.reproduction import EXPERIMENTS
from strategies.settings import Settings

ROOT = Path(__file__).parents[2]
SLICED = ("strategies/", "flower_pansvm/systems/")
"""Folders with the counterparts of a hospital's systems."""
ROOMS = ("flower_pansvm", "clients", "strategies", "simulations")


class Figures(NamedTuple):
    """Figures of one commit in one file."""

    file: str  # from the root of the checkout
    part: str  # table or figure of a paper; empty if the file is one
    commit: str
    code: frozenset[str]  # files of the code that made them, from the root of the checkout


def imported(module: Path, root: Path = ROOT, named: Iterable[str] | None = None) -> frozenset[str]:
    """Return the files of this project that a file imports, directly or not, itself among them.

    A row of a table such as `STRATEGIES` counts as imported if it is ``named``, or a run's default; where nothing is
    named, also if a file of ``simulations/`` that is imported has its name. A hospital's system counts if the
    coordinator's part of it does.
    """
    found: set[str] = set()
    rows: dict[str, Path] = {}
    words, waiting = {*(named or (Settings.strategy,)), Settings.aggregation}, [module]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(root).as_posix()
        if name not in found:
            found.add(name)
            read = _read(file, root)
            waiting += read.imports
            rows |= read.rows
            words |= read.words if named is None and name.startswith("simulations/") else set()
        if not waiting:
            sliced = [Path(own) for own in found if own.startswith(SLICED)]
            parts = {part for own in sliced for part in (own.stem, own.parent.name)}
            systems = [own for own in (root / "clients" / "systems").glob("*.py") if own.stem in parts]
            wanted = [*systems, *(rows[word] for word in rows.keys() & words)]
            waiting = [own for own in wanted if own.relative_to(root).as_posix() not in found]
    return frozenset(found)


class _Read(NamedTuple):
    """What a file says of others."""

    imports: tuple[Path, ...]  # files that it imports by statement
    rows: dict[str, Path]  # the file of each row ``"name": "module:attribute"`` of its tables
    words: frozenset[str]  # its texts but for the names of these rows


@cache
def _read(file: Path, root: Path) -> _Read:
    """Read a file's imports, tables and texts."""
    names: list[str] = []
    rows: dict[str, Path] = {}
    words: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(node.value)
        elif isinstance(node, ast.Dict):
            for key, place in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(place, ast.Constant):
                    for own in _files(str(place.value).partition(":")[0], root):
                        rows[str(key.value)] = own
    return _Read(
        tuple(own for name in names for own in _files(name, root)), rows, frozenset(words - rows.keys())
    )


def _files(name: str, root: Path) -> list[Path]:
    """Return the file of a module of this project; none if it is no such module."""
    path = root.joinpath(*name.split("."))
    own = [path.with_suffix(".py"), path / "__init__.py"] if name.partition(".")[0] in ROOMS else []
    return [file for file in own if file.is_file()]


def figures() -> Iterator[Figures]:
    """Yield all figures of the pages: those of benchmarks, and those of papers by table and commit."""
    for file in sorted((ROOT / "results").glob("*.json")):
        known = json.loads(file.read_text(encoding="utf-8"))
        (module,) = (
            own
            for own in (ROOT / "simulations" / "benchmarks").glob("*.py")
            if f'write_results("{known["benchmark"]}"' in own.read_text(encoding="utf-8")
        )
        yield Figures(file.relative_to(ROOT).as_posix(), "", known["commit"], imported(module))
    for work in dict.fromkeys(what.work for what in all_reproductions().values()):
        file = REPRODUCED / f"{work}.csv"
        lines = recorded(work).values()
        by_commit = dict.fromkeys((line["name"], own) for line in lines for own in line["commit"].split())
        for name, commit in by_commit:
            yield Figures(file.relative_to(ROOT).as_posix(), name, commit, code_of(name))


def code_of(table: str) -> frozenset[str]:
    """Return the files of the code behind a table or a figure of a paper."""
    what = all_reproductions()[table]
    named: set[str] = set()
    for strategy in {setup.strategy for setups in what.setups.values() for setup in setups}:
        word, _, name = strategy.partition(":")
        named |= {strategy, name.partition(" ")[0]}
        if word in EXPERIMENTS and name:
            named |= _read(Path(getfile(EXPERIMENTS[word].work)), ROOT).words
    papers = ROOT / "simulations" / "papers"
    modules = [papers / "running.py", *papers.glob(f"{what.work}*.py")]
    return frozenset().union(*(imported(module, named=named) for module in modules))


def touched(commit: str, root: Path = ROOT) -> Mapping[str, str] | None:
    """Return the files that differ from a commit by their names today, with those of then; None without the commit."""
    listed = _git(root, "diff", "--name-status", "--find-renames", commit, "--", "*.py")
    if listed is None:
        return None
    lines = (line.split("\t") for line in listed.splitlines())
    return {names[-1]: names[0] for status, *names in lines if status[0] != "D"}


def first_changed(own: Figures, since: Mapping[str, str], root: Path = ROOT) -> str | None:
    """Return the first file behind figures that has changed in more than words; None if there is none."""
    for name in sorted(own.code & since.keys()):
        before = _git(root, "show", f"{own.commit.removesuffix('-dirty')}:{since[name]}")
        if before is None or bare(before) != bare((root / name).read_text(encoding="utf-8")):
            return name
    return None


def bare(source: str) -> str:
    """Return code without words: no comments, docstrings, line breaks or imports."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [own for own in body if not _is_words(own)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_words(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def _git(root: Path, *words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def ages(known: Iterable[Figures], root: Path = ROOT) -> list[tuple[Figures, str]]:
    """Return the figures that are older than their code, each with what has changed."""
    found, by_commit = [], cache(partial(touched, root=root))
    for own in known:
        since = by_commit(own.commit.removesuffix("-dirty"))
        if since is None:
            found.append((own, "its commit is not in this checkout"))
        elif file := first_changed(own, since, root):
            others = len(own.code & since.keys()) - 1
            found.append((own, f"{file} has changed, and up to {others} of {len(own.code)} other files"))
    return found


def main() -> int:
    """Print a line for each group of figures that is older than its code, and return whether there is one."""
    all_figures = list(figures())
    old = ages(all_figures)
    for own, why in old:
        sys.stdout.write(f"{own.file} {own.part} at {own.commit[:7]}: {why}\n")
    sys.stdout.write(f"{len(old)} of {len(all_figures)} groups of figures are older than their code.\n")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())

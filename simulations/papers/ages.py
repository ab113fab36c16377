"""Which figures are older than the code that made them: ``python -m simulations.papers.ages``.

The code of a figure is all that its module imports, directly or not, with the strategies, baselines and secure sums
that it names, and their counterparts at the hospital, but for `NO_NUMBERS`. A figure is older if one of these files was
another at its commit, in more than words (`code_in`). Only a new run shows whether that has changed the number.
"""

import ast
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
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
NO_NUMBERS = (
    *("clients/checking/", "clients/cli/", "clients/deployment/", "clients/node/"),
    *(f"clients/table/sources/{source}.py" for source in ("excel", "function", "sql")),
    *("strategies/cli.py", "strategies/deployment/", "strategies/report/", "strategies/run_"),
    *(
        "flower_pansvm/cli.py",
        "flower_pansvm/command_line.py",
        "flower_pansvm/consents.py",
        "flower_pansvm/study/",
    ),
    *("flower_pansvm/errors.py", "flower_pansvm/export/", "simulations/cli/"),
    *(f"simulations/papers/{name}.py" for name in ("page", "plots", "record", "writing")),
)
"""Code that admits, refuses, connects or shows, and sources that no figure reads."""
OF_DEPLOYMENTS = ("deployment", "deployment_heart", "faults")
"""Benchmarks whose figures are of such code, too."""
MOST_LETTERS = 300
"""Of a line on figures, unless their table is named."""


class Figures(NamedTuple):
    """Figures of one commit in one file."""

    file: str  # from the root of the checkout
    table: str  # table or figure of a paper; empty if the file is one
    commit: str
    code: frozenset[str]  # files of the code that made them, from the root of the checkout


def imported(module: Path, root: Path = ROOT, named: Iterable[str] | None = None) -> frozenset[str]:
    """Return the files of this project that a file imports, directly or not, itself among them.

    A row of a table such as `STRATEGIES` counts as imported if it is ``named``, or a run's default; where nothing is
    named, also if a file of ``simulations/`` that is imported has its name. A hospital's system counts if the
    coordinator's part of it does.
    """
    files: set[str] = set()
    rows: dict[str, Path] = {}
    words, waiting = {*(named or (Settings.strategy,)), Settings.aggregation}, [module]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(root).as_posix()
        if name not in files:
            files.add(name)
            references = _references(file, root)
            waiting += references.imports
            rows |= references.rows
            words |= references.words if named is None and name.startswith("simulations/") else set()
        if not waiting:
            paths = [Path(path) for path in files if path.startswith(SLICED)]
            stems = {stem for path in paths for stem in (path.stem, path.parent.name)}
            systems = [path for path in (root / "clients" / "systems").glob("*.py") if path.stem in stems]
            wanted = [*systems, *(rows[word] for word in rows.keys() & words)]
            waiting = [path for path in wanted if path.relative_to(root).as_posix() not in files]
    return frozenset(files)


class _References(NamedTuple):
    """A file's references to others."""

    imports: tuple[Path, ...]  # files that it imports by statement
    rows: dict[str, Path]  # the file of each row ``"name": "module:attribute"`` of its tables
    words: frozenset[str]  # its texts but for the names of these rows


@cache
def _references(file: Path, root: Path) -> _References:
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
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    for path in _files(str(value.value).partition(":")[0], root):
                        rows[str(key.value)] = path
    return _References(
        tuple(path for name in names for path in _files(name, root)), rows, frozenset(words - rows.keys())
    )


def _files(name: str, root: Path) -> list[Path]:
    """Return the files of a module of this project; empty for other modules."""
    path = root.joinpath(*name.split("."))
    paths = [path.with_suffix(".py"), path / "__init__.py"] if name.partition(".")[0] in ROOMS else []
    return [file for file in paths if file.is_file()]


def figures() -> Iterator[Figures]:
    """Yield all figures of the pages: those of benchmarks, and those of papers by table and commit."""
    for file in sorted((ROOT / "results").glob("*.json")):
        known = json.loads(file.read_text(encoding="utf-8"))
        module = ROOT / "simulations" / "benchmarks" / f"{known['benchmark']}.py"
        code = imported(module) if module.stem in OF_DEPLOYMENTS else _computing(imported(module))
        yield Figures(file.relative_to(ROOT).as_posix(), "", known["commit"], code)
    for work in dict.fromkeys(what.work for what in all_reproductions().values()):
        file = REPRODUCED / f"{work}.csv"
        lines = recorded(work).values()
        pairs = dict.fromkeys((line["name"], commit) for line in lines for commit in line["commit"].split())
        for name, commit in pairs:
            yield Figures(file.relative_to(ROOT).as_posix(), name, commit, code_of(name))


def _computing(code: frozenset[str]) -> frozenset[str]:
    return frozenset(file for file in code if not file.startswith(NO_NUMBERS))


def code_of(table: str) -> frozenset[str]:
    """Return the files of the code behind a table or a figure of a paper."""
    what = all_reproductions()[table]
    named: set[str] = set()
    for strategy in {setup.strategy for setups in what.setups.values() for setup in setups}:
        word, _, name = strategy.partition(":")
        named |= {strategy, name.partition(" ")[0]}
        if word in EXPERIMENTS and name:
            named |= _references(Path(getfile(EXPERIMENTS[word].work)), ROOT).words
    papers = ROOT / "simulations" / "papers"
    modules = [papers / "running.py", *papers.glob(f"{what.work}*.py")]
    code: frozenset[str] = frozenset().union(*(imported(module, named=named) for module in modules))
    return _computing(code)


def ages(known: Iterable[Figures], root: Path = ROOT) -> list[tuple[Figures, str]]:
    """Return the figures that are older than their code, each with the files that have changed.

    A file that has another name now is the same.
    """
    old, then = [], cache(partial(codes_at, root=root))
    for group in known:
        before = then(group.commit.removesuffix("-dirty"))
        if before is None:
            old.append((group, "its commit is not in this checkout"))
        elif changed := [file for file in sorted(group.code) if _code_of_file(root / file) not in before]:
            count = f"{len(changed)} of {len(group.code)} files behind it have changed"
            old.append((group, f"{count}: {'; '.join(changed)}"))
    return old


def codes_at(commit: str, root: Path = ROOT) -> frozenset[str] | None:
    """Return the code of each file of a commit; None if the checkout does not have it."""
    done = subprocess.run(["git", "archive", commit], cwd=root, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        return frozenset(
            code_in(stream.read().decode())
            for member in packed
            if member.name.startswith(ROOMS)
            and member.name.endswith(".py")
            and (stream := packed.extractfile(member))
        )


@cache
def _code_of_file(file: Path) -> str:
    return code_in(file.read_text(encoding="utf-8"))


@cache
def code_in(source: str) -> str:
    """Return a text that is the same for sources that differ in words only.

    Comments, docstrings, line breaks, imports, annotations of functions and texts of errors are words.
    """
    return ast.dump(_Bare().visit(ast.parse(source)))


class _Bare(ast.NodeTransformer):
    """Takes words out of a tree."""

    def visit_Import(self, node: ast.Import) -> None:
        """Drop it: the origin of a name is no part of the code that uses it."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Drop it."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop docstrings and other unused texts."""
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Drop an argument's annotation."""
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Drop the annotation of the returned value."""
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """Drop an error's message."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(made, None)


def main(names: Sequence[str] = ()) -> int:
    """Print a line for each group of figures that is older than its code, or of those that are named; 1 if there is."""
    every = [group for group in figures() if not names or {group.table, Path(group.file).stem} & set(names)]
    old = ages(every)
    for group, why in old:
        short = why if names or len(why) <= MOST_LETTERS else f"{why[:MOST_LETTERS].rpartition(';')[0]}; …"
        sys.stdout.write(f"{group.file} {group.table} at {group.commit[:7]}: {short}\n")
    sys.stdout.write(
        f"{len(old)} of {len(every)} groups of figures are older than their code. Their numbers may be the same: a new "
        "run tells. NAME of a table, or of results/NAME.json, lists all that has changed behind it.\n"
    )
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

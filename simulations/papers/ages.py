"""Which figures are older than the code that made them: ``python -m simulations.papers.ages``.

The code of a figure is all that its module imports, directly or not, with the strategies, baselines and secure sums
that it names, and their counterparts at the hospital, but for `NO_NUMBERS`; of these files, what may be used
(`reached`). A figure is older if one of these definitions was another at its commit, in more than words
(`definitions`). Only a new run shows whether that has changed the number: older figures are listed, by file.
"""

import ast
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from inspect import getfile
from pathlib import Path
from typing import NamedTuple

from simulations.papers.declared import all_reproductions
from simulations.papers.definitions import definitions
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
    # Those of them that the others are imported for; all if it is empty.
    roots: frozenset[str] = frozenset()


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
        code, roots = imported(module), frozenset({module.relative_to(ROOT).as_posix()})
        code = code if module.stem in OF_DEPLOYMENTS else _computing(code)
        yield Figures(file.relative_to(ROOT).as_posix(), "", known["commit"], code, roots)
    for work in dict.fromkeys(what.work for what in all_reproductions().values()):
        file = REPRODUCED / f"{work}.csv"
        lines = recorded(work).values()
        pairs = dict.fromkeys((line["name"], commit) for line in lines for commit in line["commit"].split())
        for name, commit in pairs:
            yield Figures(file.relative_to(ROOT).as_posix(), name, commit, *code_of(name))


def _computing(code: frozenset[str]) -> frozenset[str]:
    return frozenset(file for file in code if not file.startswith(NO_NUMBERS))


def code_of(table: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the files of the code behind a table or a figure of a paper, and its root modules."""
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
    return _computing(code), frozenset(module.relative_to(ROOT).as_posix() for module in modules)


def ages(known: Iterable[Figures], root: Path = ROOT) -> list[tuple[Figures, str]]:
    """Return the figures that are older than their code, each with the definitions that have changed, by file."""
    old, then = [], cache(partial(definitions_at, root=root))
    for group in known:
        before = then(group.commit.removesuffix("-dirty"))
        if before is None:
            old.append((group, "its commit is not in this checkout"))
        elif changed := changes(group, before, root):
            behind = sum(len(names) for names in reached(group.code, group.roots, root).values())
            files = "; ".join(f"{file} ({', '.join(names)})" for file, names in changed.items())
            count = sum(map(len, changed.values()))
            old.append((group, f"{count} of {behind} definitions behind it have changed: {files}"))
    return old


def changes(
    group: Figures, before: Mapping[str, Mapping[str, str]], root: Path = ROOT
) -> dict[str, tuple[str, ...]]:
    """Return the definitions behind figures that have changed since their commit, by file.

    Parameters
    ----------
    group : Figures
        The figures.
    before : mapping
        `Definition.code` of each definition by name, by file: those of their commit.
    root : Path
        Of the checkout.

    Notes
    -----
    A definition that was in another file counts as the same if the commit had no other of its name.
    """
    bodies: dict[str, set[str]] = {}
    for codes in before.values():
        for name, code in codes.items():
            bodies.setdefault(name, set()).add(code)
    by_file: dict[str, tuple[str, ...]] = {}
    for file, names in sorted(reached(group.code, group.roots, root).items()):
        now = definitions((root / file).read_text(encoding="utf-8"))
        changed = tuple(
            name or "statements"
            for name in names
            if now[name].code != before.get(file, {}).get(name) and bodies.get(name) != {now[name].code}
        )
        by_file |= {file: changed} if changed else {}
    return by_file


@cache
def reached(code: frozenset[str], roots: frozenset[str], root: Path) -> dict[str, list[str]]:
    """Return the definitions in some files that others of them may use, by file: first all of ``roots``, or of all.

    A definition is used if one that is used has its name among its words, whichever file that name is of; a class is
    with all its methods. So this may be more than runs, and is not less, but for names put together at run time.
    """
    known = {file: definitions((root / file).read_text(encoding="utf-8")) for file in code}
    by_name: dict[str, list[tuple[str, str]]] = {}
    for file, of_file in known.items():
        for name, definition in of_file.items():
            by_name.setdefault("" if definition.registered else name, []).append((file, name))
    starts = [(file, name) for file in roots or code for name in known[file]]
    used, waiting = set(), [*starts, *by_name.get("", [])]
    while waiting:
        key = waiting.pop()
        if key not in used:
            used.add(key)
            waiting += [other for word in known[key[0]][key[1]].words for other in by_name.get(word, [])]
    by_file: dict[str, list[str]] = {}
    for file, name in sorted(used):
        by_file.setdefault(file, []).append(name)
    return by_file


def definitions_at(commit: str, root: Path = ROOT) -> dict[str, dict[str, str]] | None:
    """Return the code of all definitions of a commit, by file and name; None if the checkout does not have it."""
    done = subprocess.run(["git", "archive", commit], cwd=root, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        texts = {
            member.name: stream.read().decode()
            for member in packed
            if member.name.endswith(".py") and (stream := packed.extractfile(member))
        }
    return {
        file: {name: definition.code for name, definition in definitions(text).items()}
        for file, text in texts.items()
        if file.startswith(ROOMS)
    }


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

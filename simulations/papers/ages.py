"""How old figures are: ``python -m simulations.papers.ages``, or with names of tables, figures and results.

Lists for each recorded result its commit and date, and how much of the code that computes it has changed since, by
``git diff``: of its own (its target, and what has the names of its strategies' modules), and of the rest, which other
strategies have a part in. Only a new run shows whether that has changed the number.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from simulations.papers.declared import all_reproductions
from simulations.papers.record import COMMIT_DIGITS, REPRODUCED, recorded
from simulations.papers.reproduction import EXPERIMENTS
from strategies.registry import STRATEGIES

ROOT = Path(__file__).parents[2]
TARGETS = "simulations/papers/", "simulations/benchmarks/"
CODE = "strategies", "clients", "flower_pansvm", "simulations/baselines", "simulations/data", *TARGETS
NO_NUMBERS = (
    *("clients/checking", "clients/cli", "clients/deployment", "clients/node", "flower_pansvm/study"),
    *("strategies/cli.py", "strategies/deployment", "strategies/report", "flower_pansvm/export"),
    *("flower_pansvm/cli.py", "flower_pansvm/command_line.py", "flower_pansvm/errors.py"),
    *(
        "simulations/papers/claims",
        *(f"simulations/papers/{name}.py" for name in ("page", "plots", "writing")),
    ),
)
"""Code that admits, refuses, connects or shows."""
WORDS = '^ *(#|""")', "^(from|import) "
"""Changes of such lines alone do not count: comments, the first lines of docstrings, imports."""


class Figures(NamedTuple):
    """Figures of one commit in one file."""

    file: str  # from the root of the checkout
    table: str  # table or figure of a paper; empty if the file is one
    commit: str
    date: str  # of the last run; empty if it was not recorded
    own: Sequence[str]  # of its own code, each path has one of these in it


def figures() -> Iterator[Figures]:
    """Yield all figures of the pages: those of benchmarks, and those of papers by table and commit."""
    for file in sorted((ROOT / "results").glob("*.json")):
        known = json.loads(file.read_text(encoding="utf-8"))
        own = [f"benchmarks/{known['benchmark']}.py"]
        yield Figures(file.relative_to(ROOT).as_posix(), "", known["commit"], known["date"], own)
    for name, what in all_reproductions().items():
        words = {
            word for setups in what.setups.values() for one in setups for word in one.strategy.split(":")
        }
        words |= {EXPERIMENTS[word].strategy for word in words & {*EXPERIMENTS}}
        modules = {STRATEGIES[word].__module__.split(".")[1] for word in words & {*STRATEGIES}}
        own = [f"papers/{what.work}", *sorted(f"/{module}" for module in modules)]
        dates: dict[str, str] = {}
        for line in (line for line in recorded(what.work).values() if line["name"] == name):
            dates |= {one: max(dates.get(one, ""), line["date"]) for one in line["commit"].split()}
        csv = (REPRODUCED / f"{what.work}.csv").relative_to(ROOT).as_posix()
        yield from (Figures(csv, name, commit, date, own) for commit, date in dates.items())


def git(*words: str, root: Path = ROOT) -> str | None:
    """Return what git answers about a checkout; None if it fails, as for a commit that is not there."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


@cache
def changed_since(commit: str, root: Path = ROOT) -> dict[str, int] | None:
    """Return how many lines were added to or taken from each file of the code since; None without the commit.

    A file that has another name now counts only for what else has changed in it.
    """
    options = ["--numstat", "--find-renames", "--ignore-blank-lines", *(f"-I{words}" for words in WORDS)]
    paths = [*CODE, *(f":(exclude){path}" for path in NO_NUMBERS)]
    if (answer := git("diff", *options, commit.removesuffix("-dirty"), "--", *paths, root=root)) is None:
        return None
    now = re.sub(r"\{.* => (.*)\}", r"\1", answer)  # the names that files have now
    counts = (line.split("\t") for line in now.splitlines() if not line.startswith(("0\t0\t", "-")))
    return {path: int(added) + int(removed) for added, removed, path in counts}


def age(one: Figures, root: Path = ROOT) -> str:
    """Return since when, and how much of the code of some figures has changed since, in words."""
    if (changed := changed_since(one.commit, root)) is None:
        return f"{one.date}: its commit is not in this checkout"
    own = {path: count for path, count in changed.items() if any(part in path for part in one.own)}
    rest = {
        path: count for path, count in changed.items() if path not in own and not path.startswith(TARGETS)
    }
    texts = [f"{sum(of.values())} lines of {len(of)} files" if of else "nothing" for of in (own, rest)]
    date = one.date or git("show", "-s", "--format=%cs", one.commit.removesuffix("-dirty"), root=root) or ""
    return f"{date.strip()}: since then {texts[0]} of its own code, {texts[1]} of the rest"


def main(names: Sequence[str] = ()) -> None:
    """Print a line for each group of figures, or for those that are named."""
    for one in figures():
        if not names or {one.table, Path(one.file).stem} & {*names}:
            sys.stdout.write(f"{one.table or one.file} at {one.commit[:COMMIT_DIGITS]}, {age(one)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

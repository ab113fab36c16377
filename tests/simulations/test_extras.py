"""Every command of README and docs works with the extra that its page names, all other packages hidden."""

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.cli import COMMANDS
from simulations.papers.declared import all_reproductions
from tests.simulations.test_readme import pansvm_commands
from tests.simulations.with_extras import ROOT, hidden_packages, run_with_extras

Words = Sequence[str]

HOSPITAL, COORDINATOR, RESEARCHER = (), ("report",), ("simulation",)
OF_COMMAND = {
    "hospital": HOSPITAL,
    "budget": HOSPITAL,
    "coordinator": COORDINATOR,
    "demo": COORDINATOR,
    "export": (*RESEARCHER, "export"),
}
"""The extras that README and guide name for a command; a researcher's for all others."""

FOR_ALL = ("check", "schema", "predict", "inspect")
"""Commands that a hospital has a use for, too."""

STARTED_ONLY = {
    *("demo", "hospital accept", "hospital start"),
    *("coordinator invite", "coordinator start", "coordinator train"),
}
"""They need servers or other people's files; tests of their own run them."""

SMALL = ["--data", "patients.csv", "--label", "outcome"]
OF_TABLES = ("--data", "--data-dir", "--label", "--schema", "--drop")


def extras_of(words: Words) -> tuple[str, ...]:
    """Return the extras that a command is promised to work with."""
    if "paillier" in words:
        return (*RESEARCHER, "paillier")
    return OF_COMMAND.get(words[0], RESEARCHER)


def name_of(words: Words) -> str:
    """Return the command's name, of two words for one of a list of commands."""
    return " ".join(words[: 2 if words[0] in ("hospital", "coordinator") else 1])


def cheap(words: Words) -> tuple[str, ...]:
    """Return a command as it is in the pages, but on a small table and in one process."""
    if name_of(words) in STARTED_ONLY:
        return (*name_of(words).split(), "--help")
    here = [word.replace("$PWD/", "").replace("$name", "hospital-a").replace("/data/", "") for word in words]
    return tuple(CHEAP.get(words[0], list)(here))


def cheap_run(words: Words) -> list[str]:
    rest = without(words, *OF_TABLES, "--positive", "--engine", "--out", "--attack-minutes")
    short = ["--attack-minutes", "0.1"] if "--attack-minutes" in words else []
    return [*rest, *SMALL, "--engine", "in-process", *short]


def cheap_comparison(words: Words) -> list[str]:
    rest = without(words, *OF_TABLES, "--positive", "--repeats", "--out", "--splits")
    three = "|".join(["patients.csv"] * 3)
    small = [three if word == "patients.csv" and "--leave-out" in words else word for word in SMALL]
    return [*rest, *small, "--repeats", "1", "--jobs", "2"]


def cheap_reproduction(words: Words) -> list[str]:
    if "--list" in words:
        return [*words]
    assert set(without(words[1:], "--data-dir", "--out", "--repeats", "--row")) <= set(all_reproductions())
    return ["reproduce", "lin-table-3", "--repeats", "1", "--data-dir", ".", "--out", "reproduced"]


CHEAP: dict[str, Callable[[Words], list[str]]] = {
    "run": cheap_run,
    "hospital": lambda words: [*without(words, "--data", "--label"), *(SMALL if "--data" in words else [])],
    "tune": cheap_run,
    "select": cheap_run,
    "compare": cheap_comparison,
    "reproduce": cheap_reproduction,
    "report": lambda _: ["report", "runs/small"],
    "attack": lambda words: words if words[1:] else ["attack", "model-formula", "lost-site"],
    "inspect": lambda words: ["inspect", "model.npz", *words[2:]],
    "export": lambda words: ["export", "model.npz", *words[2:]],
    "predict": lambda _: ["predict", "model.npz", "patients.csv", "--id", "age"],
    "check": lambda _: ["check", "patients.csv", "--label", "outcome"],
    "schema": lambda _: ["schema", "patients.csv", "--label", "outcome", "--out", "new.toml"],
}


def without(words: Words, *options: str) -> list[str]:
    """Return words without some options and their values."""
    kept = []
    left = iter(words)
    for word in left:
        if word in options:
            next(left)
        else:
            kept.append(word)
    return kept


def imports_of(words: Words) -> list[str]:
    """Return the modules of this project that a command imports, when it runs, too."""
    *_, command = name_of(words).split()
    module = COMMANDS[words[0]].target.partition(":")[0]
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    named: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == command:
            inner = [*ast.walk(function), *tree.body]
            named |= {node.module or "" for node in inner if isinstance(node, ast.ImportFrom)}
    return sorted(name for name in named if name.split(".")[0] in ("simulations", "strategies", "clients"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with small tables and a model."""
    random = np.random.default_rng(0)
    outcome = np.arange(270) % 2
    columns = {"age": 50 + 9 * outcome + random.normal(0, 5, 270), "dose": random.normal(size=270)}
    more = {f"blood {number}": random.normal(size=270) for number in range(8)}
    table = pd.DataFrame({**columns, **more, "hospital": np.arange(270) % 3})
    table.assign(outcome=outcome).to_csv(tmp_path / "patients.csv", index=False)
    return tmp_path


def assert_each_works(
    extras: Sequence[str], folder: Path, commands: Sequence[Words], modules: Words = ()
) -> None:
    """Run commands with some extras, and see that each ends well."""
    made = ["run", *SMALL, "--engine", "in-process", "--out", "runs/small"]
    (ended,) = run_with_extras(RESEARCHER, folder, [made])
    assert ended.code == 0, ended.said
    (folder / "runs" / "small" / "model.npz").rename(folder / "model.npz")
    for words, (code, said) in zip(commands, run_with_extras(extras, folder, commands, modules), strict=True):
        # 'check' says by 3 that something is doubtful, 'hospital status' that nobody knows.
        doubtful = words[0] == "check" or "status" in words
        assert code in ((0, 3) if doubtful else (0,)), f"pansvm {' '.join(words)}\n{said}"


def documented(extras: Sequence[str]) -> list[list[str]]:
    return [words for words in pansvm_commands() if extras_of(words) == tuple(extras)]


@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize(
    "extras",
    [HOSPITAL, COORDINATOR, RESEARCHER, (*RESEARCHER, "export"), (*RESEARCHER, "paillier")],
    ids=lambda extras: ",".join(extras) or "none",
)
def test_each_command_of_the_pages_works_with_its_extra_alone(extras: tuple[str, ...], folder: Path) -> None:
    brought = {"paillier": "phe", "export": "onnx"}
    assert {"phe", "onnx", "hypothesis"} - hidden_packages(extras) == {
        brought[extra] for extra in extras if extra in brought
    }
    commands = documented(extras)
    assert commands
    cheaper = list(dict.fromkeys(map(cheap, commands)))
    modules = sorted({name for words in commands for name in imports_of(words)})
    assert_each_works(extras, folder, cheaper, modules)


@pytest.mark.slow
def test_a_hospital_looks_at_tables_and_models_without_any_extra(folder: Path) -> None:
    commands = [words for words in pansvm_commands() if words[0] in FOR_ALL]
    cheaper = dict.fromkeys(map(cheap, commands))
    assert_each_works(HOSPITAL, folder, [*cheaper])


def test_a_new_command_is_in_the_pages() -> None:
    assert COMMANDS.keys() - {words[0] for words in pansvm_commands()} == set()

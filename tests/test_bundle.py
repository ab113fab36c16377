"""The bundle holds what hospitals and coordinator run, and the hash of the software is that of its files."""

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from flwr.cli.build import build_fab_from_disk

from flower_pansvm.bundle import NO_TASKS, PACKAGES, check_bundle, files_in, hash_of, installed_files
from flower_pansvm.version import VERSION

ROOT = Path(__file__).parents[1]
BUNDLED = PACKAGES

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of what a checkout has, to be changed."""
    folder = tmp_path / "flower-pansvm"
    no_caches = shutil.ignore_patterns("__pycache__")
    for name in (*BUNDLED, "simulations", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=no_caches)
    for name in ("pyproject.toml", "README.md", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    return folder


def software(checkout: Path) -> dict[str, bytes]:
    return files_in({name: checkout / name for name in PACKAGES})


def add_comment(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("# a comment\n")


def test_the_bundle_holds_what_hospital_and_coordinator_run(checkout: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(build_fab_from_disk(checkout))) as bundle:
        held = set(bundle.namelist())
    modules = {
        file.relative_to(checkout).as_posix() for room in BUNDLED for file in (checkout / room).rglob("*.py")
    }
    needed = {name for name in modules if not name.startswith(NO_TASKS)}
    assert all(any(name.startswith(one) for name in modules) for one in NO_TASKS)
    tables = {
        f"simulations/data/{file.name}"
        for file in (checkout / "simulations" / "data").iterdir()
        if file.is_file()
    }
    assert held == needed | tables | {
        "simulations/__init__.py",
        "simulations/app.py",
        "pyproject.toml",
        ".info/CONTENT",
    }
    assert software(checkout).keys() == needed
    assert software(checkout) == installed_files()


def test_a_comment_in_a_plot_does_not_change_the_hash_and_one_at_the_hospital_does(checkout: Path) -> None:
    audited = hash_of(software(checkout))
    for module in (checkout / "simulations").rglob("*.py"):  # plots, benchmarks, the command line
        add_comment(module)
    (checkout / "docs" / "deployment.md").write_text("rewritten")
    (checkout / "tests" / "test_new.py").write_text("")
    for name in NO_TASKS:  # commands, the report
        for module in (checkout / name).rglob("*.py") if name.endswith("/") else [checkout / name]:
            add_comment(module)
    add_comment(checkout / "pyproject.toml")
    assert hash_of(software(checkout)) == audited
    check_bundle(build_fab_from_disk(checkout), VERSION)
    add_comment(checkout / "clients" / "app.py")
    assert hash_of(software(checkout)) != audited


def test_a_bundle_unpacked_in_another_folder_makes_the_same_bundle(checkout: Path, tmp_path: Path) -> None:
    """As `flwr run .` there does: Flower refuses patterns that match nothing."""
    built = build_fab_from_disk(checkout)
    with zipfile.ZipFile(io.BytesIO(built)) as bundle:
        bundle.extractall(tmp_path / "unpacked")
    assert build_fab_from_disk(tmp_path / "unpacked") == built


@pytest.mark.slow
def test_both_apps_run_from_the_bundle_alone(checkout: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(build_fab_from_disk(checkout))) as bundle:
        bundle.extractall(tmp_path / "app")
    code = (
        "import sys\n"
        "import simulations.app, strategies.app\n"
        "strategies.app.STRATEGIES\n"
        "from importlib import import_module\n"
        "from pathlib import Path\n"
        "for file in Path('.').rglob('*.py'):\n"
        "    import_module('.'.join(file.with_suffix('').parts).removesuffix('.__init__'))\n"
        f"rooms = {BUNDLED}\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.split('.')[0] in rooms: print(module.__file__)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path / "app", capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    files = [Path(line) for line in done.stdout.splitlines()]
    assert len(files) > 50
    assert all(file.is_relative_to(tmp_path / "app") for file in files)


def test_all_that_a_supernode_loads_is_in_the_hash() -> None:
    rooms = ("clients", "flower_pansvm")
    code = f"import sys, clients.node.node\nprint(*(name for name in sys.modules if name.split('.')[0] in {rooms}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [name.replace(".", "/") for name in done.stdout.split()]
    assert len(names) > 50
    assert not [
        name for name in names if f"{name}.py".startswith(NO_TASKS) or f"{name}/".startswith(NO_TASKS)
    ]

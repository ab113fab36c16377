"""The bundle holds what hospitals and coordinator run, and the hash of the software is that of its files."""

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from flwr.cli.build import build_fab_from_disk

from flower_pansvm.bundle import PACKAGES, check_bundle, files_in, hash_of, installed_files
from flower_pansvm.version import VERSION

ROOT = Path(__file__).parents[1]
BUNDLED = PACKAGES
FOR_DEVELOPERS = {"flower_pansvm/secure_sum/rehearsal.py", "flower_pansvm/secure_sum/testing.py"}

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
    assert held == (modules - FOR_DEVELOPERS) | {"pyproject.toml", ".info/CONTENT"}
    assert software(checkout).keys() == modules - FOR_DEVELOPERS
    assert software(checkout) == installed_files()


def test_a_comment_in_a_plot_does_not_change_the_hash_and_one_at_the_hospital_does(checkout: Path) -> None:
    audited = hash_of(software(checkout))
    for module in (checkout / "simulations").rglob("*.py"):  # plots, benchmarks, the command line
        add_comment(module)
    (checkout / "docs" / "deployment.md").write_text("rewritten")
    (checkout / "tests" / "test_new.py").write_text("")
    for name in FOR_DEVELOPERS:
        (checkout / name).write_text("")
    add_comment(checkout / "pyproject.toml")
    assert hash_of(software(checkout)) == audited
    check_bundle(build_fab_from_disk(checkout), VERSION)
    add_comment(checkout / "clients" / "app.py")
    assert hash_of(software(checkout)) != audited


@pytest.mark.slow
def test_both_apps_run_from_the_bundle_alone(checkout: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(build_fab_from_disk(checkout))) as bundle:
        bundle.extractall(tmp_path / "app")
    code = (
        "import sys\n"
        "sys.modules['simulations'] = None\n"
        "import clients.app, strategies.app\n"
        "strategies.app.all_strategies()\n"
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

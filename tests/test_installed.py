"""The plugin in a stranger's folder: installed from its wheel, with the apps and the package that the pages show."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flower_pansvm.models.model import load_model
from simulations.engines.flower_engine import run_app, temporary_folder
from tests.own_app.test_own_app import written

ROOT = Path(__file__).parents[1]
PACKAGE = re.compile(r"<!-- package: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


def install(project: Path, where: Path) -> None:
    """Build a project's wheel and install that into a folder, without what it needs."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", where, project]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which this project's wheel and the page's package are installed."""
    folder = tmp_path_factory.mktemp("installed")
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "results", "tests")
    install(Path(shutil.copytree(ROOT, folder / "tree", ignore=left_out)), folder / "site")
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name, text in PACKAGE.findall(page):
        file = folder / "package" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "package" / "my_package" / "__init__.py").touch()
    install(folder / "package", folder / "site")
    return folder / "site"


@pytest.fixture
def stranger(site_packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in which every new process has what is installed, and nothing of this tree."""
    monkeypatch.setenv("PYTHONPATH", str(site_packages))
    monkeypatch.chdir(tmp_path)
    found = printed("-c", "import flower_pansvm, clients.app; print(flower_pansvm.__file__)")
    assert Path(found.strip()).is_relative_to(site_packages)
    return tmp_path


def printed(*arguments: str) -> str:
    """Return what Python prints in a new process, which has to succeed."""
    done = subprocess.run(
        [sys.executable, *arguments], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow(minutes=1)
@pytest.mark.usefixtures("stranger")
def test_both_apps_of_the_pages_run_by_flwr_run() -> None:
    with temporary_folder() as folder:
        (folder / "app").mkdir()
        written(folder / "app")
        # Raises an error unless the run has finished.
        run_app(folder, 3, lambda _: None)
        assert load_model(folder / "app" / "model.npz").schema_.classes == ("0", "1", "2")
    with temporary_folder() as folder:
        shutil.copytree(ROOT / "docs" / "examples" / "secure_sums", folder / "app")
        lines: list[str] = []
        run_app(folder, 3, lines.append)
        assert lines.count("aggregate_train: Received 1 results and 0 failures") == 5


@pytest.mark.slow(minutes=1)
def test_the_pages_package_passes_the_suites_from_outside(stranger: Path, site_packages: Path) -> None:
    suites = [site_packages.parent / "package" / name for name in ("test_averaging.py", "test_all_pairs.py")]
    for suite in suites:
        shutil.copy(suite, stranger)
    printed("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(one.name for one in suites))


@pytest.mark.slow
def test_all_that_the_pages_package_adds_works_in_one_run(stranger: Path) -> None:
    printed(
        "-c",
        "from sklearn.datasets import load_wine\n"
        "frame = load_wine(as_frame=True).frame.rename(columns={'target': 'label'})\n"
        "frame.to_json('wine.jsonl', orient='records', lines=True)\n",
    )
    run = "run --engine in-process --sites 3 --data wine.jsonl --strategy averaging --aggregation all-pairs"
    said = printed("-m", "flower_pansvm", *run.split(), "--out", "out")
    assert "all-pairs" in said
    assert "averaged" in printed("-m", "flower_pansvm", "inspect", "out/model.npz")
    (stranger / "broken.jsonl").write_text("{")
    command = [sys.executable, "-m", "flower_pansvm", "check", "broken.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr

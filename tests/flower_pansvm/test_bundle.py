"""Only the installed software answers, whatever bundle is sent."""

import io
import shutil
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.cli.build import build_fab_from_disk

from flower_pansvm.bundle import check_bundle, hash_of, installed_files, run_defaults
from flower_pansvm.errors import FederationError
from flower_pansvm.version import VERSION

ROOT = Path(__file__).parents[2]
TRAVERSAL = f"{VERSION}.b6bd5424/../../../dir/x/."

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")


@pytest.fixture(scope="session")
def bundle() -> bytes:
    """Return the bundle that an honest coordinator sends."""
    return build_fab_from_disk(ROOT)


def changed(bundle: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """Return a bundle with other files; change gets their contents by name."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as source:
        files = {name: source.read(name) for name in source.namelist()}
    change(files)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return made.getvalue()


def twice(bundle: bytes) -> bytes:
    made = io.BytesIO(bundle)
    with zipfile.ZipFile(made, "a") as target, pytest.warns(UserWarning, match="Duplicate name"):
        target.writestr("clients/app.py", b"evil = 1\n")
    return made.getvalue()


def of_a_false_size(bundle: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a bundle with a file of 64 MB of zeros that says it has as many bytes as the installed one."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as source, zipfile.ZipFile(made, "w", compression) as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, bytes(2**26) if name == "clients/app.py" else content)
            if name == "clients/app.py":
                target.getinfo(name).file_size = len(content)
    return made.getvalue()


def put(name: str, content: bytes) -> Callable[[bytes], bytes]:
    return lambda bundle: changed(bundle, lambda files: files.update({name: content}))


def lacking(name: str) -> Callable[[bytes], bytes]:
    return lambda bundle: changed(bundle, lambda files: files.pop(name))


APP = (ROOT / "clients" / "app.py").read_bytes()
BAD_BUNDLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "changed client code": (put("clients/app.py", APP + b"evil = 1\n"), "clients/app.py"),
    "changed code of the same length": (put("clients/app.py", APP[:-1] + b" "), "clients/app.py"),
    "changed strategy": (put("strategies/app.py", b"evil = 1\n"), "strategies/app.py"),
    "an older one, that lacks a file": (lacking("clients/site.py"), "clients/site.py"),
    "a new module": (put("clients/evil.py", b"evil = 1\n"), "files that are not installed"),
    "another package": (put("numpy/__init__.py", b"evil = 1\n"), "files that are not installed"),
    "a path upwards": (put("../../evil.py", b"evil = 1\n"), "files that are not installed"),
    "no Python": (put("sitecustomize.pth", b"import evil\n"), "files that are not installed"),
    "a file twice": (twice, "clients/app.py"),
    "a file that unpacks to much": (put("clients/app.py", b"\0" * 10**8), "clients/app.py"),
    "a file that says less than it unpacks to": (of_a_false_size, "no bundle"),
    "another compression": (lambda bundle: of_a_false_size(bundle, zipfile.ZIP_BZIP2), "no bundle"),
    "no bundle": (lambda bundle: bundle[: len(bundle) // 2], "no bundle"),
    "nothing": (lambda _: b"", "no bundle"),
}


@pytest.mark.parametrize("bad", BAD_BUNDLES)
def test_a_bundle_that_is_not_what_is_installed_is_refused(bad: str, bundle: bytes) -> None:
    change, named = BAD_BUNDLES[bad]
    with pytest.raises(FederationError) as refused:
        check_bundle(change(bundle), VERSION)
    assert named in str(refused.value)
    assert hash_of(installed_files()) in str(refused.value)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bundle_takes_no_more_memory_than_what_is_installed(compression: int, bundle: bytes) -> None:
    bad = of_a_false_size(bundle, compression)
    tracemalloc.start()
    with pytest.raises(FederationError):
        check_bundle(bad, VERSION)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("version", [TRAVERSAL, "0.0.9", "", "\x1b[2J"])
def test_a_bundle_of_another_version_is_refused(version: str, bundle: bytes) -> None:
    with pytest.raises(FederationError, match="version") as refused:
        check_bundle(bundle, version)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("place", ["docs/hardening.md", "flower_pansvm/bundle.py"])
def test_the_hash_is_the_one_that_the_commands_of_page_and_docstring_print(place: str) -> None:
    """In the checkout, where everything else is, too."""
    if shutil.which("sha256sum") is None:
        pytest.skip("no GNU tools")
    text = (ROOT / place).read_text(encoding="utf-8")
    command = text[text.index("find clients") : text.index("sha256sum | sha256sum")] + "sha256sum | sha256sum"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == hash_of(installed_files())


PROJECTS = {
    "no TOML": b"= this is no toml [",
    "much": b"#" * 2**25,
    "dotted": b".".join([b"a"] * 8000) + b" = 1",
    "no settings": b"[project]",
    "a list": b"[tool.flwr.app.config]\nsites = [1]",
    "no text": b"\xff",
}


def test_the_settings_of_a_bundle_are_read(bundle: bytes) -> None:
    assert run_defaults(bundle)["strategy"] == "pan-svm"


@pytest.mark.parametrize("bad", PROJECTS)
def test_settings_that_cannot_be_read_are_refused_in_little_memory(bad: str, bundle: bytes) -> None:
    sent = put("pyproject.toml", PROJECTS[bad])(bundle)
    tracemalloc.start()
    with pytest.raises(FederationError):
        run_defaults(sent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_no_bundle_is_refused_without_a_traceback() -> None:
    for sent in (b"", b"no zip at all", b"PK\x05\x06" + bytes(18)):
        with pytest.raises(FederationError):
            run_defaults(sent)

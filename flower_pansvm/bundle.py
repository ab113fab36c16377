r"""The software of a run: all that take part have the same files, and a hospital runs its own.

Flower sends the app to the hospitals in a zip file, its *bundle*. A hospital compares the bundle's files with those
that are installed (`check_bundle`), and neither unpacks it nor runs anything of it. The hash of the software, which
people compare, is what these commands print where it is installed::

    find clients flower_pansvm strategies -name '*.py' |
      grep -vE '^clients/((checking|cli|deployment|secagg)/|(budget|prediction|unknown_cells).py)' |
      grep -vE '^flower_pansvm/((export|study)/|(__main__|cli|clientapp|command_line|doors).py)' |
      grep -vE '^flower_pansvm/(secagg|serverapp|weighted_mean).py' |
      grep -vE '^flower_pansvm/secure_sum/(new_identity|rehearsal|testing).py' |
      grep -vE '^strategies/((deployment|report|secagg)/|(cli|run_display|run_folder).py)' |
      LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from flower_pansvm.errors import FederationError
from flower_pansvm.outside import parse_document
from flower_pansvm.printable import printable
from flower_pansvm.terms import Scalar
from flower_pansvm.version import VERSION

PACKAGES = ("clients", "flower_pansvm", "strategies")

PROJECT_FILE, MOST_PROJECT = "pyproject.toml", 2**16

NO_CODE = (PROJECT_FILE, ".info/CONTENT")
"""What a bundle has besides: the defaults of the run config, which the coordinator chooses, and Flower's own list."""

SIMULATED = "simulations/"
"""And where the tables of simulated sites are made, which nothing loads at a hospital."""

NO_TASKS = (
    *("clients/budget.py", "clients/checking/", "clients/cli/", "clients/deployment/"),
    *("clients/prediction.py", "clients/secagg/", "clients/unknown_cells.py"),
    *("flower_pansvm/__main__.py", "flower_pansvm/cli.py", "flower_pansvm/command_line.py"),
    *("flower_pansvm/clientapp.py", "flower_pansvm/doors.py", "flower_pansvm/secagg.py"),
    *("flower_pansvm/serverapp.py", "flower_pansvm/weighted_mean.py"),
    *("flower_pansvm/export/", "flower_pansvm/study/"),
    *("flower_pansvm/secure_sum/new_identity.py", "flower_pansvm/secure_sum/rehearsal.py"),
    "flower_pansvm/secure_sum/testing.py",
    *("strategies/cli.py", "strategies/deployment/", "strategies/report/", "strategies/secagg/"),
    *("strategies/run_display.py", "strategies/run_folder.py"),
)
"""Folders and files of which no task and no strategy needs anything: commands, a study's set-up, the report, and what
other people's Flower apps import."""


def files_in(folders: Mapping[str, Path]) -> dict[str, bytes]:
    """Return names and contents of the software's files; ``folders`` has the folder of each of `PACKAGES`.

    What no task needs is left out, as ``pyproject.toml`` leaves it out of the bundle.
    """
    return {
        name: path.read_bytes()
        for package, folder in folders.items()
        for path in folder.rglob("*.py")
        if not (name := f"{package}/{path.relative_to(folder).as_posix()}").startswith(NO_TASKS)
    }


def installed_files() -> dict[str, bytes]:
    """Return names and contents of the software's files that this Python would import."""
    specs = {name: find_spec(name) for name in PACKAGES}
    return files_in({name: Path(spec.origin).parent for name, spec in specs.items() if spec and spec.origin})


def hash_of(files: Mapping[str, bytes]) -> str:
    """Return the hash of the software: of a line for each file, as ``sha256sum`` prints it."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def run_defaults(content: bytes) -> dict[str, Scalar]:
    """Return the run config's defaults, of a bundle's ``pyproject.toml``; FederationError if they cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            text = _beginning(bundle, bundle.getinfo(PROJECT_FILE), MOST_PROJECT + 1).decode()
        document = parse_document(text, "toml", MOST_PROJECT)
        config: dict[str, Scalar] = document["tool"]["flwr"]["app"]["config"]
        if not all(isinstance(value, str | int | float) for value in config.values()):
            raise TypeError
        return config
    except Exception:  # as in `check_bundle`
        raise FederationError(
            f"A run was refused: the settings in its bundle's {PROJECT_FILE} cannot be read. Does the coordinator run "
            "flower-pansvm, from an unchanged checkout?"
        ) from None


def check_bundle(content: bytes, version: str) -> None:
    """Check that a bundle has the files that are installed, byte for byte, and no others; none is unpacked or run.

    FederationError if anything differs; it names up to three of the installed files that do.
    """
    installed = installed_files()
    try:
        differing = _differing(content, installed)
    except Exception:  # zipfile has many errors, and a stranger has made the file
        differing = ["the whole, which is no bundle"]
    if version != VERSION:
        differing.insert(0, f"its version, '{printable(version, 100)}'")
    if differing:
        raise FederationError(
            f"A run was refused, and nothing of the coordinator's bundle was executed: it is not the software that is "
            f"installed here, flower-pansvm {VERSION} with the hash {hash_of(installed)}. It differs in "
            f"{', '.join(differing[:3])}{' and more' if len(differing) > 3 else ''}. Train with a checkout that has "
            "this hash, which is the invitation's; or invite the hospitals anew, and they install the other version."
        )


def _differing(content: bytes, installed: Mapping[str, bytes]) -> list[str]:
    """Return in what a bundle differs; no more of a file is unpacked than the installed one has."""
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        entries = [
            entry
            for entry in bundle.infolist()
            if entry.filename not in NO_CODE and not entry.filename.startswith(SIMULATED)
        ]
        sent = {entry.filename: entry for entry in entries}
        differing = [
            name
            for name, expected in sorted(installed.items())
            if name not in sent or _beginning(bundle, sent[name], len(expected) + 1) != expected
        ]
    if len(entries) > len(sent.keys() & installed.keys()):
        differing.append("files that are not installed here")
    return differing


def _beginning(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """Return the first bytes of a file; BadZipFile if it is packed otherwise than Flower does, which has no limit."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile
    with bundle.open(entry) as file:
        return file.read(most)

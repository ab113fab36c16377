r"""The software of a run: all that take part have the same files, and a hospital runs its own.

Flower sends the app to the hospitals in a zip file, its *bundle*. A hospital compares the bundle's files with those
that are installed (`check_bundle`), and neither unpacks it nor runs anything of it. The hash of the software, which
people compare, is what these commands print where it is installed::

    find clients flower_pansvm strategies -name '*.py' ! -name testing.py ! -path '*/secure_sum/rehearsal.py' |
      LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from flower_pansvm.errors import FederationError
from flower_pansvm.printable import printable
from flower_pansvm.version import VERSION

PACKAGES = ("clients", "flower_pansvm", "strategies")

NO_CODE = ("pyproject.toml", ".info/CONTENT")
"""What a bundle has besides: the defaults of the run config, which the coordinator chooses, and Flower's own list."""


def files_in(folders: Mapping[str, Path]) -> dict[str, bytes]:
    """Return names and contents of the software's files; ``folders`` has the folder of each of `PACKAGES`.

    Those that only developers need are left out, as ``pyproject.toml`` leaves them out of the bundle.
    """
    return {
        name: path.read_bytes()
        for package, folder in folders.items()
        for path in folder.rglob("*.py")
        if (name := f"{package}/{path.relative_to(folder).as_posix()}") and not name.endswith("/testing.py")
        if name != "flower_pansvm/secure_sum/rehearsal.py"
    }


def installed_files() -> dict[str, bytes]:
    """Return names and contents of the software's files that this Python would import."""
    found = {name: find_spec(name) for name in PACKAGES}
    return files_in({name: Path(spec.origin).parent for name, spec in found.items() if spec and spec.origin})


def hash_of(files: Mapping[str, bytes]) -> str:
    """Return the hash of the software: of a line for each file, as ``sha256sum`` prints it."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_bundle(content: bytes, version: str) -> None:
    """Check that a bundle has the files that are installed, byte for byte, and no others; none is unpacked or run.

    Parameters
    ----------
    content : bytes
        The bundle that the SuperLink has sent.
    version : str
        The version that the SuperLink gives it.

    Raises
    ------
    FederationError
        If anything differs; it names up to three of the installed files that do.
    """
    own = installed_files()
    try:
        differing = _differing(content, own)
    except Exception:  # zipfile has many errors, and a stranger has made the file
        differing = ["the whole, which is no bundle"]
    if version != VERSION:
        differing.insert(0, f"its version, '{printable(version, 100)}'")
    if differing:
        raise FederationError(
            f"A run was refused, and nothing of the coordinator's bundle was executed: it is not the software that is "
            f"installed here, flower-pansvm {VERSION} with the hash {hash_of(own)}. It differs in "
            f"{', '.join(differing[:3])}{' and more' if len(differing) > 3 else ''}. Train with a checkout that has "
            "this hash, which is the invitation's; or invite the hospitals anew, and they install the other version."
        )


def _differing(content: bytes, own: Mapping[str, bytes]) -> list[str]:
    """Return in what a bundle differs; no more of a file is unpacked than the installed one has."""
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        entries = [entry for entry in bundle.infolist() if entry.filename not in NO_CODE]
        sent = {entry.filename: entry for entry in entries}
        found = [
            name
            for name, expected in sorted(own.items())
            if name not in sent or _beginning(bundle, sent[name], len(expected) + 1) != expected
        ]
    if len(entries) > len(sent.keys() & own.keys()):
        found.append("files that are not installed here")
    return found


def _beginning(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """Return the first bytes of a file; BadZipFile if it is packed otherwise than Flower does, which has no limit."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile
    with bundle.open(entry) as file:
        return file.read(most)

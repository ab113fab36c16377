"""What a hospital takes from packages other than this one: pinned by a hash when it accepts an invitation.

The invitation's hash is of this software, the same at all hospitals. A secure sum, a kind of table or a function of
another package is one hospital's choice, so its hash lies in that hospital's folder. ``pansvm hospital start`` refuses
a package that has changed since. What a package itself imports, as numpy, no hash holds.
"""

import json
from collections.abc import Mapping
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path

from clients.policy import HospitalPolicy
from flower_pansvm.bundle import hash_of
from flower_pansvm.errors import SettingError
from flower_pansvm.files import write
from flower_pansvm.outside import parse_document
from flower_pansvm.secure_sum.registry import PROTOCOLS

PARTS_FILE = "other-packages.json"


def outside_parts(policy: HospitalPolicy) -> dict[str, str]:
    """Return the parts that a policy names of other packages: by name, the distribution, its version and hash."""
    # What reads tables takes seconds to import, and a node that waits for questions does without.
    from clients.table.file import SOURCES, suffix_of  # noqa: PLC0415
    from clients.table.sources.function import distributions_of  # noqa: PLC0415
    from clients.table.table import FUNCTION  # noqa: PLC0415

    parts = [
        (name, point.module, point.dist.name)
        for registry, name in ((PROTOCOLS, policy.aggregation), (SOURCES, suffix_of(policy.data)))
        # Those of all packages are read for an answer: only where it is needed.
        if name not in registry.data
        for point in entry_points(group=registry.group, name=name)
        if point.dist is not None
    ]
    if policy.data.startswith(FUNCTION):
        package, names = distributions_of(policy.data)
        parts += [(policy.data, package, name) for name in names]
    return {
        part: f"{name} {version(name)}, hash {hash_of(_files(module.partition('.')[0]))}"
        for part, module, name in parts
    }


def _files(package: str) -> dict[str, bytes]:
    """Return names and contents of a package's files, none of which is executed, but for Python's own copies."""
    spec = find_spec(package)
    if spec is None:
        return {}
    if not spec.submodule_search_locations:
        return {f"{package}.py": Path(str(spec.origin)).read_bytes()}
    return {
        f"{package}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for folder in map(Path, spec.submodule_search_locations)
        for path in folder.rglob("*")
        if path.is_file() and not (path.suffix == ".pyc" and path.parent.name == "__pycache__")
    }


def pin_parts(folder: Path, parts: Mapping[str, str]) -> None:
    """Write into a hospital's folder what its policy takes from other packages, as :func:`outside_parts` returns it."""
    write(folder / PARTS_FILE, json.dumps(parts, indent=2) + "\n", overwrite=True)


def others_pinned(folder: Path) -> bool:
    """Return whether a hospital has pinned anything: else there is nothing to check, which takes seconds."""
    file = folder / PARTS_FILE
    return file.exists() and file.read_bytes().strip() != b"{}"


def check_parts(folder: Path, policy: HospitalPolicy) -> dict[str, str]:
    """Return what a policy takes from other packages; SettingError if it is not as it was pinned, or gone."""
    file, parts = folder / PARTS_FILE, outside_parts(policy)
    try:
        pinned = parse_document(file.read_text(encoding="utf-8"), "json") if file.exists() else {}
    except ValueError:  # as JSON's and UTF-8's errors are
        pinned = None
    if not isinstance(pinned, dict):
        raise SettingError(f"{file} is damaged. Accept the same invitation again, which writes it anew.")
    named = (policy.aggregation, policy.data, policy.data.lower().removesuffix(".gz"))
    gone = [name for name in pinned if name not in parts and any(one.endswith(name) for one in named)]
    for name, package in {**parts, **dict.fromkeys(gone, "none that is installed")}.items():
        if pinned.get(name) != package:
            raise SettingError(
                f"{name} is of another package, {package}. This hospital has pinned "
                f"{pinned.get(name, 'no such part')}: the package or node.toml was changed after `pansvm hospital "
                "accept`. Audit the package and accept the same invitation again, which pins it; or install the one "
                "that was pinned."
            )
    return parts

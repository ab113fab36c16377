"""The hospital's node config, ``node.toml``: a file that a person reads and may change, and Flower reads as it is."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, write
from flower_pansvm.outside import parse

NODE_FILE, KEY_FILE, AUTHORITY_FILE, FLOWER_FOLDER = "node.toml", "supernode.key", "ca.crt", "flower"
"""In a hospital's folder: its node config, its SuperNode's key, the authority of the server, and Flower's own files."""

TEXT = """\
# What this hospital agrees to, whatever the coordinator asks for. `pansvm hospital start` reads it; all keys are
# explained in docs/node-configuration.md.

name = {name}
data = {data}
{label}
# Its own identity, and those of the others, which `pansvm hospital accept` writes.
identity = {identity}
roster = {roster}

# The weakest level that it takes part in: dp, differentially private answers only, charged to the budget below;
# perturbed, sums of a copy of the table in which each cell has noise; exact, sums of the true records, from which
# whoever runs the coordinator can compute most of a small table. noise is the least of level perturbed: 0.25, 0.5, 1.
privacy = {privacy}
noise = {noise}

# What must be kept from run to run: the key of the copy, and which of the account's ledgers is this table's. They
# are in ~/.local/state/pansvm/tables (docs/differential-privacy.md). Back up both.
state = {state}
# Copies of large tables, unencrypted. "none" makes none.
cache = {cache}

# The least it insists on in every run. `pansvm hospital accept` adds min-sites and k, by the number of hospitals.
colluders = 1
aggregation = "k-secure"

# What all runs together may tell of this table: differential privacy.
epsilon = {epsilon}
delta = {delta}
"""


def node_text(
    folder: Path, name: str, data: Path, label: str | None, agreed: Mapping[str, float | str]
) -> str:
    """Return the node config of a new hospital, whose files are in ``folder``, with the pins that are recommended.

    ``agreed`` has ``privacy``, ``noise``, ``epsilon`` and ``delta``.
    """
    paths = {"identity": "identity.pem", "roster": "roster.json", "state": "state", "cache": "cache"}
    values = {"name": name, "data": data, **agreed, **{key: folder / file for key, file in paths.items()}}
    written = {key: _written(value) for key, value in values.items()}
    return TEXT.format(**written, label=f"label = {_written(label)}\n" if label else "")


def read_node_config(folder: Path) -> dict[str, Any]:
    """Return the node config of a hospital's folder; SettingError if there is none or it cannot be read."""
    path = folder / NODE_FILE
    try:
        found: dict[str, Any] = parse(path.read_text(encoding="utf-8"), "toml")
    except OSError:
        raise SettingError(
            f"{folder} is no hospital's folder: it has no {NODE_FILE}. Name the folder that `pansvm hospital init` "
            "made with --folder, or make one."
        ) from None
    except UnicodeDecodeError:
        raise SettingError(
            f"{path} is not text in UTF-8. Save it in UTF-8: the editor's menu 'Save as' has that choice."
        ) from None
    except ValueError as error:
        # Python's text names line and column, and no value but the character that does not fit.
        raise SettingError(
            f"{path} cannot be read: {error}. Texts stand in quotation marks, numbers do not; each key stands there "
            "once; and a path with backslashes stands between single quotation marks."
        ) from None
    for key, value in found.items():
        if not isinstance(value, str | int | float | bool):
            raise SettingError(
                f"{path} has a '{key}' that is neither a text nor a number. Write it in one line."
            )
    return found


def set_key(folder: Path, key: str, value: Path | str | float) -> None:
    """Write a key of the node config, in its line if there is one, and else at the end."""
    file, line = folder / NODE_FILE, f"{key} = {_written(value)}"
    text = file.read_text(encoding="utf-8")
    found, times = re.subn(rf"^{re.escape(key)}[ \t]*=.*$", lambda _: line, text, count=1, flags=re.MULTILINE)
    # Another command that reads the file finds the old one or the new one.
    text = found.rstrip("\n") if times else f"{text}\n{line}"
    write(file, f"{text}\n", overwrite=True, mode=PRIVATE, durable=True)


def _written(value: str | Path | float) -> str:
    """Return a number, or a text in quotation marks: what JSON writes of printable texts is TOML."""
    return json.dumps(value if isinstance(value, int | float) else str(value), ensure_ascii=False)

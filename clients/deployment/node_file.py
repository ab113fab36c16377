"""What the hospital's commands write into its node config, ``node.toml``: a file that a person reads and may change."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from clients.node.node_config import NODE_FILE
from flower_pansvm.files import PRIVATE, write

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
# are in pansvm/tables of $XDG_STATE_HOME or ~/.local/state (docs/differential-privacy.md). Back up both.
state = {state}

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
    paths = {"identity": "identity.pem", "roster": "roster.json", "state": "state"}
    values = {"name": name, "data": data, **agreed, **{key: folder / file for key, file in paths.items()}}
    written = {key: _written(value) for key, value in values.items()}
    return TEXT.format(**written, label=f"label = {_written(label)}\n" if label else "")


def set_key(folder: Path, key: str, value: Path | str | float) -> None:
    """Write a key of the node config, in its line if there is one, and else at the end."""
    file, line = folder / NODE_FILE, f"{key} = {_written(value)}"
    text = file.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    new, times = re.subn(rf"^{re.escape(key)}[ \t]*=.*$", lambda _: line, text, count=1, flags=re.MULTILINE)
    # Another command that reads the file finds the old one or the new one.
    text = new.rstrip("\n") if times else f"{text}\n{line}"
    write(file, f"{text}\n", overwrite=True, mode=PRIVATE, durable=True)


def _written(value: str | Path | float) -> str:
    """Return a number, or a text in quotation marks: what JSON writes of printable texts is TOML."""
    return json.dumps(value if isinstance(value, int | float) else str(value), ensure_ascii=False)

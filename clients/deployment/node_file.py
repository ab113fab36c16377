"""What the hospital's commands write into its node config, ``node.toml``: a file that a person reads and may change."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from clients.node.node_config import NODE_FILE
from flower_pansvm.files import PRIVATE, write


def node_text(
    folder: Path, name: str, data: Path, label: str | None, agreed: Mapping[str, float | str]
) -> str:
    """Return the node config of a new hospital, whose files are in ``folder``, with the pins that are recommended.

    ``agreed`` has ``privacy``, ``noise``, ``epsilon`` and ``delta``.
    """
    paths = {"identity": "identity.pem", "roster": "roster.json", "state": "state"}
    values = {"name": name, "data": data, **agreed, **{key: folder / file for key, file in paths.items()}}
    written = {key: _written(value) for key, value in values.items()}
    text = files("clients.deployment").joinpath("node.toml.template").read_text("utf-8")
    return Template(text).substitute(written, label=f"label = {_written(label)}\n" if label else "")


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

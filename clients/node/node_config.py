"""The hospital's node config, ``node.toml``: a file that a person reads and may change."""

from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from flower_pansvm.outside import parse_document

NODE_FILE, KEY_FILE, AUTHORITY_FILE, FLOWER_FOLDER = "node.toml", "supernode.key", "ca.crt", "flower"
"""In a hospital's folder: its node config, its SuperNode's key, the authority of the server, and Flower's own files."""


def read_node_config(folder: Path) -> dict[str, Any]:
    """Return the node config of a hospital's folder; SettingError if there is none or it cannot be read."""
    path = folder / NODE_FILE
    try:
        node: dict[str, Any] = parse_document(path.read_text(encoding="utf-8-sig"), "toml")
    except (FileNotFoundError, NotADirectoryError):
        raise SettingError(
            f"{folder} is no hospital's folder: it has no {NODE_FILE}. Name the folder that `pansvm hospital init` "
            "made with --folder, or make one."
        ) from None
    except OSError as error:
        raise SettingError(
            f"{path} cannot be read by this account ({error.strerror}). Use the SuperNode's; chown gives it back."
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
    for key, value in node.items():
        if not isinstance(value, str | int | float | bool):
            raise SettingError(
                f"{path} has a '{key}' that is neither a text nor a number. Write it in one line."
            )
    own = Path(str(node.get("identity", path)))
    if not own.exists() and (folder / own.name).exists():
        raise SettingError(
            f"{path} names this hospital's folder where it no longer is: {own.parent}. If the folder was moved, write "
            "the new path instead of the old one in this file and in the system's service. Its 'state' moves along."
        )
    return node

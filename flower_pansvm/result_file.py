"""The ``result.json`` of a run's folder, which a coordinator writes and hands out to hospitals."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from flower_pansvm.files import write

MODEL_FILE = "model.npz"
RESULT_FILE = "result.json"
ONCE_MORE = "Copy it again from where it was written, or run the training again."


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Write the ``result.json`` of a run's folder, which gets its name when it is complete."""
    text = json.dumps(result, indent=2, ensure_ascii=False)
    write(folder / RESULT_FILE, f"{text}\n", overwrite=True)


def read_result(folder: Path) -> dict[str, Any]:
    """Return the ``result.json`` of a run's folder; SettingError if it is missing or damaged."""
    try:
        result = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{folder} has no {RESULT_FILE}. Name the folder of a finished run.") from None
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise SettingError(f"{folder / RESULT_FILE} is damaged. {ONCE_MORE}")
    return result

"""What hospitals get after a run: the model and ``result.json`` in one file that the coordinator signs."""

import base64
import json
from pathlib import Path

from flower_pansvm.files import write
from flower_pansvm.result_file import MODEL_FILE, RESULT_FILE
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.study.documents import signed
from flower_pansvm.study.folder import read_private
from flower_pansvm.study.handout import KIND
from strategies.deployment.coordinator import KEY_FILE, OWN, Coordinator


def hand_out(folder: Path, coordinator: Coordinator, path: Path) -> None:
    """Write model and ``result.json`` in the folder of a run into a new file, signed by the coordinator."""
    read_private(coordinator.folder / KEY_FILE, OWN)
    key, model = load_identity(coordinator.folder / KEY_FILE), folder / MODEL_FILE
    content = {
        "coordinator": public_identity(key),
        "result": (folder / RESULT_FILE).read_text(encoding="utf-8"),
        "model": base64.b64encode(model.read_bytes() if model.exists() else b"").decode(),
    }
    write(path, f"{json.dumps(signed(KIND, content, key))}\n")

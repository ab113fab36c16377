"""What hospitals get after a run: the model and ``result.json`` in one file that the coordinator signs.

A SuperNode takes in no files: whatever the coordinator sent would be written to a hospital's disk while nobody looks.
So a person puts the file where it belongs, and the page of the report is made at the hospital, by its own software.
"""

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import load_model
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.secure_sum.new_identity import public_identity
from simulations.deployment.coordinator import KEY_FILE, OWN, Coordinator
from simulations.deployment.documents import is_signed_by, read_document, signed
from simulations.deployment.files import new_folder, read_private, write_new
from simulations.deployment.hospital import accepted
from strategies.results import MODEL_FILE, RESULT_FILE

KIND = "pansvm results 1"
ENTRIES = {"coordinator": str, "result": str, "model": str}
FILE = "for-hospitals.json"


def hand_out(folder: Path, coordinator: Coordinator, path: Path) -> None:
    """Write model and ``result.json`` in the folder of a run into a new file, signed by the coordinator."""
    read_private(coordinator.folder / KEY_FILE, OWN)
    key, model = load_identity(coordinator.folder / KEY_FILE), folder / MODEL_FILE
    content = {
        "coordinator": public_identity(key),
        "result": (folder / RESULT_FILE).read_text(encoding="utf-8"),
        "model": base64.b64encode(model.read_bytes() if model.exists() else b"").decode(),
    }
    write_new(path, f"{json.dumps(signed(KIND, content, key))}\n")


def receive(hospital: Path, path: Path, folder: Path) -> Path:
    """Check a file of results, write what is in it into a new folder, and return that.

    PanSVMError if the file is none, another than the coordinator of the hospital's invitation has signed it, its
    parts do not belong together, or there is something in the folder. Nothing has been written.
    """
    content, signature = read_document(path, KIND, ENTRIES)
    if content["coordinator"] != accepted(hospital).coordinator:
        raise SettingError(
            f"{path} is signed by somebody else than the coordinator of this hospital's invitation. Ask the "
            "coordinator for the file."
        )
    if not is_signed_by(content["coordinator"], KIND, content, signature):
        raise SettingError(
            f"{path} was changed after the coordinator had signed it, or was cut. Ask the coordinator for it again."
        )
    try:
        model = base64.b64decode(content["model"], validate=True)
        sha256 = json.loads(content["result"])["model_sha256"]
    except (ValueError, LookupError, TypeError):
        raise SettingError(f"{path} holds no results of a run. Ask the coordinator for it again.") from None
    if _digest_of(model) != sha256:
        raise SettingError(
            f"The model in {path} is not that of its own figures. Ask the coordinator for it again."
        )
    folder = new_folder(folder)
    write_new(folder / RESULT_FILE, content["result"])
    if model:
        write_new(folder / MODEL_FILE, model)
    return folder


def _digest_of(model: bytes) -> str | None:
    """Return the digest of a model file's content, None without one; ModelFileError if it is none."""
    if not model:
        return None
    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL_FILE
        file.write_bytes(model)
        return load_model(file).sha256()

"""What a hospital gets after a run: the model and ``result.json`` in one file that the coordinator has signed."""

import base64
from pathlib import Path
from tempfile import TemporaryDirectory

from clients.deployment.hospital import accepted
from flower_pansvm.errors import SettingError
from flower_pansvm.files import write
from flower_pansvm.models.model import load_model
from flower_pansvm.outside import parse_document
from flower_pansvm.result_file import MODEL_FILE, RESULT_FILE
from flower_pansvm.study.documents import MOST_BYTES, is_signed_by, read_document
from flower_pansvm.study.folder import new_folder
from flower_pansvm.study.handout import ENTRIES, KIND


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
        sha256 = parse_document(content["result"], "json", MOST_BYTES[KIND])["model_sha256"]
    except (ValueError, LookupError, TypeError):
        raise SettingError(f"{path} holds no results of a run. Ask the coordinator for it again.") from None
    if _digest_of(model) != sha256:
        raise SettingError(
            f"The model in {path} is not that of its own figures. Ask the coordinator for it again."
        )
    folder = new_folder(folder)
    if model:
        write(folder / MODEL_FILE, model)
    # Last: figures alone would be those of a run without a model.
    write(folder / RESULT_FILE, content["result"])
    return folder


def _digest_of(model: bytes) -> str | None:
    """Return the digest of a model file's content, None without one; ModelFileError if it is invalid."""
    if not model:
        return None
    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL_FILE
        file.write_bytes(model)
        return load_model(file).sha256()

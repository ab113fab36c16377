"""What hospitals get after a run: the model and ``result.json`` in one file that the coordinator signs.

A SuperNode takes in no files: whatever the coordinator sent would be written to a hospital's disk while nobody looks.
So a person puts the file where it belongs, and the page of the report is made at the hospital, by its own software.
"""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

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


@dataclass(frozen=True)
class Results:
    """A run's results on their way to the hospitals.

    Parameters
    ----------
    result : str
        Text of ``result.json``.
    model : bytes
        Content of ``model.npz``; empty if the run made no model.
    """

    result: str
    model: bytes

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return the results in the folder of a run."""
        model = folder / MODEL_FILE
        return cls(
            (folder / RESULT_FILE).read_text(encoding="utf-8"), model.read_bytes() if model.exists() else b""
        )

    def hand_out(self, coordinator: Coordinator, path: Path) -> None:
        """Write the file for the hospitals, signed by the coordinator; it must not exist yet."""
        read_private(coordinator.folder / KEY_FILE, OWN)
        key = load_identity(coordinator.folder / KEY_FILE)
        content = {
            "coordinator": public_identity(key),
            "result": self.result,
            "model": base64.b64encode(self.model).decode(),
        }
        write_new(path, f"{json.dumps(signed(KIND, content, key))}\n")

    @classmethod
    def receive(cls, hospital: Path, path: Path) -> Self:
        """Return the results in a file, checked.

        Parameters
        ----------
        hospital : Path
            The hospital's folder, whose invitation says who the coordinator is.
        path : Path
            The file.

        Raises
        ------
        SettingError
            If it is none, another than the coordinator has signed it, or its parts do not belong together.
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
            found = cls(content["result"], base64.b64decode(content["model"], validate=True))
            result = json.loads(found.result)
            sha256 = result["model_sha256"]
        except (ValueError, LookupError, TypeError):
            raise SettingError(
                f"{path} holds no results of a run. Ask the coordinator for it again."
            ) from None
        if found._model_digest() != sha256:
            raise SettingError(
                f"The model in {path} is not that of its own figures. Ask the coordinator for it again."
            )
        return found

    def keep(self, folder: Path) -> Path:
        """Write model and ``result.json`` into a new folder, which is returned."""
        folder = new_folder(folder)
        write_new(folder / RESULT_FILE, self.result)
        if self.model:
            write_new(folder / MODEL_FILE, self.model)
        return folder

    def _model_digest(self) -> str | None:
        """Return the digest of the model, None without one; ModelFileError if it is none."""
        if not self.model:
            return None
        with TemporaryDirectory() as folder:
            file = Path(folder) / MODEL_FILE
            file.write_bytes(self.model)
            return load_model(file).sha256()

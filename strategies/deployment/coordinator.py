"""What ``pansvm coordinator init``, ``invite`` and, after a run, ``train`` write."""

import base64
import ipaddress
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Self

from flower_pansvm.bundle import hash_of, installed_files
from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, PUBLIC, write
from flower_pansvm.locking import locked
from flower_pansvm.result_file import MODEL_FILE, RESULT_FILE
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.secure_sum.new_identity import create_identity, public_identity
from flower_pansvm.study.certificates import LOCAL, make_certificates
from flower_pansvm.study.documents import signed
from flower_pansvm.study.folder import account_name, new_folder, read_private
from flower_pansvm.study.handout import KIND
from flower_pansvm.study.invitation import (
    INVITATION_FILE,
    SCHEMA_NAME,
    Invitation,
    check_address,
    check_hospitals,
)
from flower_pansvm.study.registration import Registration
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from flower_pansvm.version import VERSION
from strategies.settings import settings_from

KEY_FILE, FLOWER_FOLDER, COORDINATOR_FILE = "coordinator.pem", "flower", "coordinator.json"
OWN = "the coordinator's private key, made by `pansvm coordinator init`"

RECOMMENDED: dict[str, Scalar] = {
    "strategy": "dp-svm",
    "aggregation": "k-secure",
    "epsilon": 1.0,
    "delta": 1e-5,
}
"""The settings of an invitation that names no others: what a hospital takes part in without agreeing to anything."""

LONGEST_SCHEMA = 2**20


@dataclass(frozen=True)
class Coordinator:
    """A coordinator's folder."""

    folder: Path
    address: str  # where hospitals connect to
    port: int  # where the SuperLink listens, on this machine only

    @classmethod
    def make(cls, folder: Path, address: str, port: int) -> Self:
        """Make the folder: key, certificates, Flower's connection, the web server's configuration.

        SettingError if address or port cannot be, or there is something in the folder; nothing has been written.
        """
        host, public_port = check_address(address)
        if not 0 < port < 65536:
            raise SettingError(f"The port {port} is invalid: a port is from 1 to 65535. 8443 is usual.")
        _check_place(folder.expanduser().absolute(), host, public_port, port)
        folder = new_folder(folder)
        create_identity(folder / KEY_FILE)
        for name, content in make_certificates(host).items():
            write(folder / name, content, mode=PRIVATE if name.endswith(".key") else PUBLIC)
        web_server = Template(
            files("strategies.deployment").joinpath("nginx.conf.template").read_text("utf-8")
        )
        quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
        values = {"folder": quoted, "host": host, "port": public_port, "local_port": port}
        write(folder / "nginx.conf", web_server.substitute(values))
        (folder / FLOWER_FOLDER).mkdir(mode=0o700)
        connection = (
            '[superlink]\ndefault = "study"\n\n[superlink.study]\n'
            f'address = "127.0.0.1:{port}"\nroot-certificates = {json.dumps(str(folder / "ca.crt"))}\n'
        )
        write(folder / FLOWER_FOLDER / "config.toml", connection)
        write(folder / COORDINATOR_FILE, f"{json.dumps({'address': address, 'port': port})}\n")
        return cls(folder, address, port)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the coordinator of a folder; SettingError if it is no such folder, or another account's."""
        folder = folder.expanduser().absolute()
        try:
            content = json.loads((folder / COORDINATOR_FILE).read_text(encoding="utf-8"))
            study, owner = cls(folder, str(content["address"]), int(content["port"])), folder.stat().st_uid
        except (OSError, ValueError, LookupError, TypeError):
            raise SettingError(
                f"{folder} is no coordinator's folder. Name the one that `pansvm coordinator init` made with --folder, "
                "or make one."
            ) from None
        if owner != os.getuid():  # root's, too: what it writes, the server could not read
            account, other = account_name(os.getuid()), account_name(owner)
            raise SettingError(
                f"{folder} belongs to the account {other}, and this is {account}: the server answers its own account "
                f"only. Run the command in that: sudo -H -u {shlex.quote(other)} pansvm coordinator …"
            )
        return study

    def invitation(self) -> Invitation:
        """Return the latest invitation; SettingError if there is none yet."""
        if not (self.folder / INVITATION_FILE).exists():
            raise SettingError(
                f"{self.folder} has no invitation yet. When the hospitals' files have come: pansvm coordinator invite "
                "FILE FILE FILE"
            )
        return Invitation.read(self.folder / INVITATION_FILE)

    def invite(
        self,
        registrations: Iterable[Registration],
        settings: Mapping[str, Scalar],
        schema: Path | None = None,
        *,
        renew: bool = False,
    ) -> Invitation:
        """Write the invitation of all hospitals, signed, and return it; with ``renew`` in place of an earlier one.

        ``settings`` are those of the run config that differ from the defaults, besides `RECOMMENDED`. SettingError if
        two hospitals have the same name or key, a setting cannot be, the schema cannot be read, or there is an
        invitation already and ``renew`` is not given. Nothing has been written.
        """
        hospitals = tuple(registrations)
        check_hospitals(hospitals)
        agreed = agreed_settings(settings, len(hospitals), schema)
        with locked(self.folder):
            number, path = 1, self.folder / INVITATION_FILE
            if path.exists():
                if not renew:
                    raise SettingError(
                        f"{path} exists already, and hospitals may have accepted it. To replace it by one with another "
                        "number, which every hospital has to accept: --renew, with the files of all hospitals."
                    )
                number = self.invitation().number + 1
            read_private(self.folder / KEY_FILE, OWN)
            privacy = settings_from(agreed).level
            authority = (self.folder / "ca.crt").read_text(encoding="utf-8")
            blank = Invitation(
                *(number, "", self.address, authority, hospitals, agreed, privacy),
                software={"version": VERSION, "hash": hash_of(installed_files())},
                schema=_schema(schema) if schema else {},
            )
            made = blank.signed_by(load_identity(self.folder / KEY_FILE))
            if path.exists():
                write(self.folder / f"invitation-{number - 1}.json", path.read_bytes(), overwrite=True)
            write(path, made.to_json(), overwrite=True)
            return made

    def hand_out(self, results: Path, path: Path) -> None:
        """Write model and ``result.json`` in the folder of a run into a new file for the hospitals, signed."""
        read_private(self.folder / KEY_FILE, OWN)
        key, model = load_identity(self.folder / KEY_FILE), results / MODEL_FILE
        content = {
            "coordinator": public_identity(key),
            "result": (results / RESULT_FILE).read_text(encoding="utf-8"),
            "model": base64.b64encode(model.read_bytes() if model.exists() else b"").decode(),
        }
        write(path, f"{json.dumps(signed(KIND, content, key))}\n")


def _check_place(folder: Path, host: str, public_port: int, port: int) -> None:
    """Check that a web server can serve a new folder, and hospitals reach its host; SettingError if not."""
    if "$" in str(folder):
        raise SettingError(
            f"The path {folder} has a dollar sign, which nginx, in front of the SuperLink, takes for a variable. "
            "Choose another --folder."
        )
    if host.rpartition(".")[2].isdigit() and not _is_reachable(host):
        raise SettingError(
            f"{host} is no IPv4 address that hospitals can connect to: four numbers from 0 to 255, without zeros in "
            "front. Write the address, or the name, that hospitals reach this machine by."
        )
    if host not in LOCAL and public_port == port:
        raise SettingError(
            f"Port {port} of this machine is to be the web server's, which hospitals connect to; the SuperLink behind "
            f"it needs another one: add --port {port + 1 if port < 65535 else port - 1}."
        )


def _is_reachable(host: str) -> bool:
    try:
        return not ipaddress.IPv4Address(host).is_unspecified
    except ValueError:
        return False


def agreed_settings(settings: Mapping[str, Scalar], hospitals: int, schema: Path | None) -> dict[str, Scalar]:
    """Return the run config of a study, checked; SettingError if a setting is unknown or invalid."""
    chosen = {**RECOMMENDED, "sites": hospitals, **settings}
    if settings.get("strategy", RECOMMENDED["strategy"]) != RECOMMENDED["strategy"]:
        # epsilon and delta are dp-svm's own, and of the systems that have them with another meaning.
        chosen = {
            key: value for key, value in chosen.items() if key in settings or key not in ("epsilon", "delta")
        }
    for key in ("out", "resume"):
        if key in settings:
            raise SettingError(
                f"'{key}' is not for the hospitals to agree to: give it to `pansvm coordinator train`."
            )
    if "schema" in settings:
        raise SettingError(
            "The schema file travels with the invitation: name it by --schema FILE, and not by --set."
        )
    if "positive" in settings:
        raise SettingError(
            "Each hospital takes the labels that count as positive from the schema file. Write them into it beside the "
            "classes, such as positive = [1, 2], and leave --set positive out."
        )
    if schema is not None:
        # The ServerApp runs in another folder.
        path = schema.expanduser().absolute()
        TableSchema.read(path)
        chosen["schema"] = str(path)
    parsed = settings_from(chosen)
    if parsed.min_sites > hospitals:
        raise SettingError(
            f"A run needs min-sites={parsed.min_sites} hospitals, and {hospitals} are invited. Give the files of all "
            "of them; or lower it by --set min-sites, which each hospital has to do in its node.toml as well."
        )
    if parsed.dp and schema is None:
        raise SettingError(
            "What each column can hold, and the classes, have to be public in a run that is differentially private: "
            "write them into a schema file (docs/tables.md; `pansvm schema TABLE` begins one), and add --schema FILE."
        )
    config: dict[str, Any] = parsed.to_config()
    return {key: config[key] for key in chosen}


def _schema(path: Path) -> dict[str, str]:
    name = f"schema{path.suffix.lower()}"
    try:
        if path.stat().st_size > LONGEST_SCHEMA:
            raise SettingError(f"The schema file {path} is larger than a schema can be. Is it the table?")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingError(f"The schema file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingError(f"The schema file {path} is no text. Is it the table?") from None
    if not SCHEMA_NAME.fullmatch(name):
        raise SettingError(f"The schema file {path} has no usual ending. `pansvm schema TABLE` writes one.")
    return {"name": name, "text": text}

"""The coordinator's invitation: the one file that a hospital receives, the same for all hospitals.

A coordinator that wanted to read a hospital's sums would give the others an identity of its own making as that
hospital's. So each hospital checks that its own identity is in the roster, and a person compares the code of the whole
file with another hospital's: where the codes are the same, the rosters are, and each entry has been checked by the
hospital that it belongs to.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from flower_pansvm.consents import LEVELS
from flower_pansvm.constraints import check_choice
from flower_pansvm.errors import SettingError
from flower_pansvm.printable import is_printable, printable
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.study.certificates import check_authority
from flower_pansvm.study.documents import check_fields, code_of, is_signed_by, read_document, signed
from flower_pansvm.study.registration import Registration, registration_of
from flower_pansvm.terms import Scalar

KIND = "pansvm invitation 1"
ENTRIES = {
    **{"number": int, "coordinator": str, "address": str, "authority": str, "hospitals": list},
    **{"settings": dict, "privacy": str, "software": dict, "schema": dict},
}
SOFTWARE_ENTRIES = {"version": str, "hash": str}
SCHEMA_ENTRIES = {"name": str, "text": str}
# An empty label of a name, or one of more than 63 characters, Python does not look up.
ADDRESS = re.compile(
    r"(?!.*(?:\.\.|[^.:]{64}))([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?):([1-9][0-9]{0,4})"
)
INVITATION_FILE = "invitation.json"
SCHEMA_NAME = re.compile(r"schema\.[a-z]{2,5}")
"""What the schema file is called in a hospital's folder, where it must be taken for no other file."""

CHANGED = "Ask the coordinator for the file again."


@dataclass(frozen=True)
class Invitation:
    """What a hospital has to know of a study."""

    number: int  # 1 for a study's first invitation, one more for each that replaces it
    coordinator: str  # public half of the Ed25519 key that signs it, 64 hexadecimal digits
    address: str  # where SuperNodes connect to: name or IPv4 address, colon, port
    authority: str  # PEM of the certificate that the server's certificate has to be signed by
    hospitals: tuple[Registration, ...]  # all that take part; their names and identities are the roster
    # The run config that the hospitals agree to, as far as it differs from the defaults.
    settings: dict[str, Scalar]
    privacy: str  # the level of such a run: see `flower_pansvm.consents.LEVELS`
    software: dict[str, str]  # version and hash of the software that all run (:mod:`flower_pansvm.bundle`)
    schema: dict[str, str]  # name and text of the schema file of the table; empty if there is none
    signature: str = ""  # of the coordinator

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a file; SettingError if it is none, or was changed after the coordinator had signed it."""
        content, signature = read_document(path, KIND, ENTRIES)
        # First the signature: what it does not cover, nobody has said.
        if not is_signed_by(content["coordinator"], KIND, content, signature):
            raise SettingError(
                f"{path} was changed after the coordinator had signed it, or was cut. {CHANGED} If that happens again, "
                "somebody on the way changes it: compare the code by telephone."
            )
        return cls._of(str(path), content, signature)

    @classmethod
    def _of(cls, where: str, content: dict[str, Any], signature: str) -> Self:
        entries = content["hospitals"]
        hospitals = tuple(
            registration_of(f"Hospital {index} in {where}", entry)
            for index, entry in enumerate(entries, start=1)
        )
        invitation = cls(**{**content, "hospitals": hospitals}, signature=signature)
        invitation.check(where)
        return invitation

    def signed_by(self, key: Ed25519PrivateKey) -> Self:
        """Return the same invitation, signed by the coordinator whose key this is, and checked."""
        content = {**self.content, "coordinator": public_identity(key)}
        return self._of("The invitation", content, signed(KIND, content, key)["signature"])

    @property
    def content(self) -> dict[str, Any]:
        """All that is signed."""
        hospitals = [{**hospital.content, "signature": hospital.signature} for hospital in self.hospitals]
        return {**{name: getattr(self, name) for name in ENTRIES}, "hospitals": hospitals}

    @property
    def code(self) -> str:
        """What hospitals compare by telephone."""
        return code_of(KIND, self.content)

    @property
    def roster(self) -> dict[str, str]:
        """The public identities of all hospitals, by name."""
        return {hospital.name: hospital.identity for hospital in self.hospitals}

    def to_json(self) -> str:
        """Return the text of the file."""
        return f"{json.dumps({'kind': KIND, **self.content, 'signature': self.signature}, indent=2)}\n"

    def check(self, where: str) -> None:
        """Check all parts but the signature; the SettingError says what is invalid and whom to ask."""
        if self.number < 1:
            raise SettingError(f"{where} has a number below 1. {CHANGED}")
        check_address(self.address)
        check_authority(self.authority, where)
        check_hospitals(self.hospitals)
        check_choice(f"level in {where}", self.privacy, LEVELS)
        for key, value in self.settings.items():
            if not isinstance(value, str | int | float | bool) or not is_printable(f"{key}{value}"):
                raise SettingError(f"{where} has an invalid setting '{printable(key, 60)}'. {CHANGED}")
        check_fields(f"The software in {where}", self.software, SOFTWARE_ENTRIES)
        if not is_printable("".join(self.software.values())):
            raise SettingError(f"{where} has a version or hash with control characters. {CHANGED}")
        if self.schema:
            check_fields(f"The schema in {where}", self.schema, SCHEMA_ENTRIES)
            if not SCHEMA_NAME.fullmatch(self.schema["name"]):
                raise SettingError(
                    f"{where} has an invalid name of its schema file: schema.SUFFIX is expected. {CHANGED}"
                )


def check_hospitals(hospitals: Iterable[Registration]) -> None:
    """Check that a study's hospitals are two or more, and nothing of theirs another's; SettingError if not."""
    registrations = list(hospitals)
    if len(registrations) < 2:
        raise SettingError(
            "A study has at least two hospitals, and should have three. Give the files of all of them."
        )
    for what in ("name", "identity", "supernode_key"):
        owners: dict[str, str] = {}
        for hospital in registrations:
            # Names that differ in case only would be taken for one another on the telephone.
            value = getattr(hospital, what).casefold() if what == "name" else getattr(hospital, what)
            if value in owners:
                raise SettingError(
                    f"The hospitals '{owners[value]}' and '{hospital.name}' have the same {what.replace('_', ' ')}. "
                    "Each needs its own: is one file given twice, or did one hospital copy another's folder? It should "
                    "run `pansvm hospital init` again with another --name or --folder."
                )
            owners[value] = hospital.name


def check_address(address: str) -> tuple[str, int]:
    """Return host and port of an address; SettingError if it is invalid."""
    match = ADDRESS.fullmatch(address)
    if match is None or int(match[2]) > 65535:
        raise SettingError(
            f"'{printable(address, 100)}' is not a valid address. Write the name that hospitals reach the "
            "coordinator by (in ASCII: xn--…) or its IPv4 address, a colon and the port, such as "
            "coordinator.example.org:443, without https:// in front."
        )
    return match[1], int(match[2])

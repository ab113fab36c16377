"""A hospital's public part: the one file that it hands over. Nothing in it is secret."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

from flower_pansvm.errors import SettingError
from flower_pansvm.printable import printable
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.site_names import MOST_NAME, is_site_name
from flower_pansvm.study.documents import check_fields, code_of, is_signed_by, read_document, signed

KIND = "pansvm registration 1"
ENTRIES = {"name": str, "identity": str, "supernode_key": str}


@dataclass(frozen=True)
class Registration:
    """Who a hospital is."""

    name: str  # what it is called in the study
    # Public half of its Ed25519 identity, 64 hexadecimal digits, by which other hospitals know its keys.
    identity: str
    # Public half of its SuperNode's ECDSA key in OpenSSH's form, by which the SuperLink knows the SuperNode.
    supernode_key: str
    signature: str  # by the identity, on all the rest: whoever has one key has the other

    @classmethod
    def of(cls, name: str, identity: Ed25519PrivateKey, supernode_key: str) -> Self:
        """Return the registration of a hospital, signed; SettingError if a part is invalid."""
        content = {"name": name, "identity": public_identity(identity), "supernode_key": supernode_key}
        made = cls(**content, signature=signed(KIND, content, identity)["signature"])
        made.check("The registration")
        return made

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a file; SettingError if it is none, or was changed after the hospital had signed it."""
        content, signature = read_document(path, KIND, ENTRIES)
        registration = cls(**content, signature=signature)
        registration.check(str(path))
        return registration

    @property
    def content(self) -> dict[str, str]:
        """All that is signed."""
        return {name: getattr(self, name) for name in ENTRIES}

    @property
    def code(self) -> str:
        """What the hospital reads out by telephone."""
        return code_of(KIND, self.content)

    def to_json(self) -> str:
        """Return the text of the file."""
        return f"{json.dumps({'kind': KIND, **self.content, 'signature': self.signature}, indent=2)}\n"

    def check(self, where: str) -> None:
        """Check all parts and the signature; a SettingError says where it is from and whom to ask."""
        check_name(self.name)
        if not _is_identity(self.identity):
            raise SettingError(
                f"{where} has an invalid identity: 64 hexadecimal digits are expected. Ask the hospital "
                f"'{self.name}' for its file again."
            )
        if not _is_supernode_key(self.supernode_key):
            raise SettingError(
                f"{where} has an invalid SuperNode's key: an ECDSA key on the curve P-384 is expected. Ask the "
                f"hospital '{self.name}' for its file again."
            )
        if not is_signed_by(self.identity, KIND, self.content, self.signature):
            raise SettingError(
                f"{where}: the hospital '{self.name}' has not signed what is there. Its name or a key was changed "
                "after `pansvm hospital init` had written it. Ask the hospital for the file again and compare its code "
                "by telephone."
            )


def registration_of(where: str, content: Any) -> Registration:
    """Return a registration that stands in another document; SettingError if it is not in order."""
    if not isinstance(content, dict):
        raise SettingError(f"{where} is no registration. Ask the coordinator for the file again.")
    check_fields(where, content, {**ENTRIES, "signature": str})
    registration = Registration(**content)
    registration.check(where)
    return registration


def check_name(name: str) -> None:
    """Check a hospital's name; SettingError if it cannot be one."""
    if not is_site_name(name) or name in (".", ".."):
        raise SettingError(
            f"'{printable(name, MOST_NAME)}' is invalid as a hospital's name: at most {MOST_NAME} characters, none of "
            "them a slash, a backslash or a control character, and no blanks around them."
        )


def _is_identity(text: str) -> bool:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text)).public_bytes_raw().hex() == text
    except ValueError:
        return False


def _is_supernode_key(text: str) -> bool:
    """Tell whether a text is a key as `flwr supernode register` takes it, without a comment or a second line."""
    try:
        key = load_ssh_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return (
        isinstance(key, EllipticCurvePublicKey)
        and isinstance(key.curve, SECP384R1)
        and key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() == text
    )

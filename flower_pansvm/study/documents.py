"""Signed files that hospitals and coordinator hand to each other: JSON with an Ed25519 signature of all the rest.

A signature says that a file is as its author made it. Who the author is, it does not say: for that a person compares
the file's *code* by telephone, 160 bits of SHA-256, so that nobody finds two files with the same code.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError
from flower_pansvm.outside import parse_document
from flower_pansvm.printable import printable
from flower_pansvm.secure_sum.tags import join_fields

KIND, SIGNATURE = "kind", "signature"
ONCE_MORE = "It may have been changed on its way: send it as an attachment, as it is."
CODE_BYTES, CODE_GROUP = 20, 4

KINDS = {
    "pansvm registration 1": "a hospital's registration, which a hospital hands to the coordinator",
    "pansvm invitation 1": "an invitation, which the coordinator hands to the hospitals",
    "pansvm results 1": "a file of results, which the coordinator hands to the hospitals after a run",
}
"""What there is, by the tag that is signed with it; the number is the version of the format."""

MOST_BYTES = dict(zip(KINDS, (2**16, 2**22, 2**28), strict=True))
"""Of a file of each kind: it is read before anybody knows who wrote it, and takes some forty times as much memory. A
registration is half a kilobyte, an invitation has a schema file of at most one megabyte, results a model."""


def signed(kind: str, content: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """Return a document with its kind and signature."""
    return {KIND: kind, **content, SIGNATURE: key.sign(_signed_bytes(kind, content)).hex()}


def is_signed_by(author: str, kind: str, content: Mapping[str, Any], signature: str) -> bool:
    """Tell whether the owner of a public key, 64 hexadecimal digits, has signed a document's content."""
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(author))
        public.verify(bytes.fromhex(signature), _signed_bytes(kind, content))
    except (InvalidSignature, ValueError):
        return False
    return True


def code_of(kind: str, content: Mapping[str, Any]) -> str:
    """Return the code of a document, to be read out by telephone: eight groups of four letters or digits."""
    digest = hashlib.sha256(_signed_bytes(kind, content)).digest()[:CODE_BYTES]
    text = base64.b32encode(digest).decode()
    return " ".join(text[start : start + CODE_GROUP] for start in range(0, len(text), CODE_GROUP))


def is_code(typed: str, code: str) -> bool:
    """Tell whether somebody has typed a code, however large the letters and wherever the blanks.

    Examples
    --------
    >>> is_code("abcd-2345", "ABCD 2345"), is_code("", "ABCD 2345")
    (True, False)
    """
    return "".join(typed.split()).replace("-", "").upper() == code.replace(" ", "")


def read_document(path: Path, kind: str, fields: Mapping[str, type]) -> tuple[dict[str, Any], str]:
    """Return the content and the signature of a file, which is not verified yet.

    ``fields`` has name and type of each entry that the content must have; it may have no other. SettingError if the
    file cannot be read, is larger than its kind can be, is of another kind, or an entry is missing, unknown or of
    another type.
    """
    document = _read(path, kind)
    written_kind = document.pop(KIND, None)
    if written_kind != kind:
        what = KINDS.get(str(written_kind), "none of pansvm's files, or one of another version")
        raise SettingError(f"{path} is {what}. Expected is {KINDS[kind]}.")
    signature = document.pop(SIGNATURE, None)
    check_fields(str(path), document, fields)
    if not isinstance(signature, str):
        raise SettingError(
            f"{path} has no signature. Ask for the file again, as its author's command wrote it."
        )
    return document, signature


def check_fields(where: str, content: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    """Check names and types of entries; a SettingError names the one that is missing, unknown or of another type."""
    for name in content:
        if name not in fields:
            raise SettingError(
                f"{where} has an unknown entry '{printable(name, 60)}'. {near_matches(name, fields)}"
            )
    for name, kind in fields.items():
        if name not in content:
            raise SettingError(
                f"{where} has no entry '{name}'. Ask for the file again; it was cut or changed."
            )
        # A truth value is a whole number to Python.
        if not isinstance(content[name], kind) or isinstance(content[name], bool):
            raise SettingError(
                f"The entry '{name}' of {where} has the wrong type. Ask for the file again; it was changed."
            )


def _read(path: Path, kind: str) -> dict[str, Any]:
    most = MOST_BYTES[kind]
    try:
        with path.open("rb") as file:
            read = file.read(most + 1)  # a pipe has no size
        if len(read) > most:
            raise SettingError(
                f"{path} is larger than {most // 2**10:,} kB, as none of its kind is. Is it another file? Expected is "
                f"{KINDS[kind]}."
            )
        document = parse_document(read.decode(), "json", most)
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}. Is the path right?") from None
    except ValueError as error:
        raise SettingError(f"{path} is no JSON file of pansvm: {error}. {ONCE_MORE}") from None
    if not isinstance(document, dict):
        raise SettingError(f"{path} is no JSON file of pansvm. {ONCE_MORE}")
    return document


def _signed_bytes(kind: str, content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return join_fields(kind.encode(), text.encode())

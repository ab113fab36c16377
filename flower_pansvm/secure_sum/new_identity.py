"""Making a site's long-lived identity, once (:mod:`flower_pansvm.secure_sum.identities`)."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from flower_pansvm.errors import SettingError
from flower_pansvm.files import PRIVATE, write


def create_identity(path: Path) -> str:
    """Write a new private identity that only its owner can read, and return its public half, 64 hexadecimal digits.

    The file, in PEM format, must not exist: an identity is never overwritten. SettingError if it exists or cannot be
    written.
    """
    identity = Ed25519PrivateKey.generate()
    pem = identity.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        write(path, pem, mode=PRIVATE)
    except OSError as error:
        raise SettingError(f"The identity file {path} cannot be written: {error.strerror}.") from error
    return public_identity(identity)


def public_identity(identity: Ed25519PrivateKey) -> str:
    """Return the public half of an identity, 64 hexadecimal digits."""
    return identity.public_key().public_bytes_raw().hex()

"""Making a site's long-lived identity, once (:mod:`flower_pansvm.secure_sum.identities`)."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from flower_pansvm.errors import SettingError


def create_identity(path: Path) -> str:
    """Write a new private identity that only its owner can read, and return its public half.

    Parameters
    ----------
    path : Path
        The file to write, in PEM format. It must not exist: an identity is never overwritten.

    Returns
    -------
    str
        The public identity, 64 hexadecimal digits, to be given to the other sites.

    Raises
    ------
    SettingError
        If the file exists or cannot be written.
    """
    identity = Ed25519PrivateKey.generate()
    pem = identity.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SettingError(
            f"{path} exists already, and an identity is never overwritten. Choose another file name."
        ) from error
    except OSError as error:
        raise SettingError(f"The identity file {path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
    except OSError as error:
        path.unlink()  # A part of it would be in the way of the next attempt.
        raise SettingError(f"The identity file {path} cannot be written: {error.strerror}.") from error
    return public_identity(identity)


def public_identity(identity: Ed25519PrivateKey) -> str:
    """Return the public half of an identity, 64 hexadecimal digits."""
    return identity.public_key().public_bytes_raw().hex()

"""Long-lived site identities: with them the coordinator cannot hand out keys of its own making.

Each hospital makes an Ed25519 key pair once and gives its public half, 64 hexadecimal digits, to the other
hospitals over a channel that they trust. Each of them writes the public halves of all into a roster file::

    {"hospital-a": "8f40c5ad...", "hospital-b": "d75a9801..."}

In every run a site signs the keys that it made for the run, and checks the signatures on the others' keys
before it makes any mask. The errors about a site's own files may travel to the coordinator, so they name
the file without its folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.outside import parse_document
from flower_pansvm.secure_sum import tags


@dataclass(frozen=True)
class RunKeys:
    """The public keys of a site that joins a run."""

    run: str
    site: str
    public_key: bytes  # raw X25519 key of the site
    published: bytes = b""  # the public half of SecureSum.prepare
    epochs: bytes = b""  # the epoch of its ledger, and those of the others' as far as it knows them

    def signed_bytes(self) -> bytes:
        """Return the bytes that the site's identity signs."""
        names = self.run.encode(), self.site.encode()
        return tags.join_fields(tags.RUN_KEYS, *names, self.public_key, self.published, self.epochs)


def load_identity(path: Path) -> Ed25519PrivateKey:
    """Return the private identity in a PEM file; SettingError if it holds none."""
    try:
        identity = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise SettingError(f"The identity file '{path.name}' cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SettingError(
            f"'{path.name}' holds no private identity that can be used. `pansvm hospital init` makes one."
        ) from error
    if not isinstance(identity, Ed25519PrivateKey):
        raise SettingError(
            f"'{path.name}' holds a key of another kind. `pansvm hospital init` makes an identity."
        )
    return identity


def read_roster(path: Path) -> dict[str, Ed25519PublicKey]:
    """Return the public identities in a roster file, by site name; SettingError if two sites have the same, or none."""
    try:
        entries = parse_document(path.read_text(encoding="utf-8"), "json")
    except OSError as error:
        raise SettingError(f"The roster file '{path.name}' cannot be read: {error.strerror}.") from error
    except ValueError:
        entries = None
    if not isinstance(entries, dict) or not entries:
        raise SettingError(
            f"The roster file '{path.name}' is no valid JSON, or names a site twice or none. "
            'It should look like {"hospital-a": "64 hexadecimal digits", ...}.'
        )
    roster = {}
    for name, text in entries.items():
        try:
            roster[name] = Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
        except (ValueError, TypeError) as error:
            raise SettingError(
                f"The public identity of {name!r} in the roster file '{path.name}' is not 64 hexadecimal digits. "
                "Copy it again from that site's registration file."
            ) from error
    if len({key.public_bytes_raw() for key in roster.values()}) < len(roster):
        raise SettingError(
            f"The roster file '{path.name}' gives two sites the same identity; each needs its own."
        )
    return roster


def sign(identity: Ed25519PrivateKey, keys: RunKeys) -> bytes:
    """Return the signature of a site on the keys it made for a run, 64 bytes."""
    return identity.sign(keys.signed_bytes())


def verify(roster: Mapping[str, Ed25519PublicKey], keys: RunKeys, signature: bytes) -> None:
    """Check that the site named in ``keys`` made them for the run, according to the roster file; else SumError."""
    if keys.site not in roster:
        raise SumError(
            f"Site {keys.site!r} takes part in the run but is not in the roster file. "
            "Add its public identity if you trust it, or ask the coordinator whose site it is."
        )
    try:
        roster[keys.site].verify(signature, keys.signed_bytes())
    except InvalidSignature as error:
        raise SumError(
            f"The keys of site {keys.site!r} are not signed by the identity in the roster file. "
            "They were exchanged on their way, belong to another run, or the site has a new identity."
        ) from error

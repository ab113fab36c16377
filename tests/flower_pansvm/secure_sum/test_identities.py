import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum.identities import RunKeys, load_identity, read_roster, sign, verify
from flower_pansvm.secure_sum.new_identity import create_identity, public_identity

KEYS = RunKeys(run="r", site="a", public_key=bytes(range(32)), published=b"paillier key", epochs=b"epoch")


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_new_identity_is_read_back_and_signs(tmp_path: Path) -> None:
    public = create_identity(tmp_path / "identity.pem")
    identity = load_identity(tmp_path / "identity.pem")
    assert public_identity(identity) == public
    assert len(public) == 64
    roster = read_roster(write(tmp_path / "roster.json", {"a": public}))
    verify(roster, KEYS, sign(identity, KEYS))


def test_an_identity_is_private_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "identity.pem"
    create_identity(path)
    before = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(SettingError, match="overwritten"):
        create_identity(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "changed",
    [
        *({"run": "another"}, {"site": "b"}, {"public_key": bytes(32)}, {"epochs": b"another"}),
        *({"published": b"another"}, {"published": b""}),
        {"published": b"paillier keyepoch", "epochs": b""},
        {"public_key": bytes(range(31)), "published": b"\x1fpaillier key"},
    ],
    ids=str,
)
def test_a_signature_fits_one_run_site_and_pair_of_keys_only(changed: dict[str, str]) -> None:
    identity = Ed25519PrivateKey.generate()
    signature = sign(identity, KEYS)
    roster = {"a": identity.public_key(), "b": identity.public_key()}
    verify(roster, KEYS, signature)
    with pytest.raises(SumError):
        verify(roster, replace(KEYS, **changed), signature)  # type: ignore[arg-type]


def test_a_stranger_and_a_broken_signature_are_refused() -> None:
    identity = Ed25519PrivateKey.generate()
    signature = sign(identity, KEYS)
    others = sign(Ed25519PrivateKey.generate(), KEYS)
    for site, own in (("b", signature), ("a", others), ("a", b""), ("a", signature[:-1]), ("a", bytes(64))):
        with pytest.raises(SumError, match="'a'"):
            verify({site: identity.public_key()}, KEYS, own)


@pytest.mark.parametrize(
    "content",
    [
        *(
            "{",
            f'{{"a": "{"07" * 32}", "a": "{"08" * 32}"}}',
            [],
            {},
            {"a": "12"},
            {"a": "xy" * 32},
            {"a": 7},
        ),
        {"a": "07" * 32, "b": "07" * 32},
    ],
    ids=str,
)
def test_bad_roster_files_are_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(SettingError, match=r"'roster\.json'") as caught:
        read_roster(write(tmp_path / "roster.json", content))
    assert str(tmp_path) not in str(caught.value)


def test_files_that_are_missing_or_hold_something_else_get_clear_errors(tmp_path: Path) -> None:
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for use, file in (
        (read_roster, tmp_path / "missing.json"),
        (load_identity, tmp_path / "missing.pem"),
        (load_identity, write(tmp_path / "text.pem", "not a key")),
        (load_identity, write(tmp_path / "other.pem", other.decode())),
    ):
        with pytest.raises(SettingError, match=file.name) as caught:
            use(file)  # type: ignore[operator]
        assert str(tmp_path) not in str(caught.value)
    with pytest.raises(SettingError):
        create_identity(tmp_path / "missing" / "identity.pem")

"""The files that are handed over: each entry that is changed, cut, added or of another kind is noticed."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.deployment.hospital import make_hospital
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum.identities import load_identity
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.study import certificates
from flower_pansvm.study.documents import CODE_GROUP, code_of, is_code, is_signed_by, signed
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.registration import Registration
from strategies.deployment.coordinator import LONGEST_SCHEMA, Coordinator
from tests.deployment.conftest import Study

Change = Callable[[dict[str, Any]], object]


def changed(path: Path, change: Change) -> Path:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def leaves(content: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of each text, number and empty part."""
    if isinstance(content, dict | list) and content:
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [found for key, value in items for found in leaves(value, (*place, key))]
    return [place]


def other(value: Any) -> Any:
    """Return something of the same kind that is nearly the same."""
    if isinstance(value, str):
        middle = len(value) // 2
        return value[:middle] + ("1" if value[middle : middle + 1] == "0" else "0") + value[middle + 1 :]
    if isinstance(value, dict):
        return {"name": "schema.toml", "text": ""}
    return value + 1


def test_every_entry_of_both_files_is_signed(invited: Study, tmp_path: Path) -> None:
    for source, read in ((invited.files["north"], Registration.read), (invited.invitation, Invitation.read)):
        whole = json.loads(source.read_text())
        places = leaves(whole)
        assert len(places) >= 5
        for place in places:
            content = json.loads(source.read_text())
            inner = content
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = other(inner[place[-1]])
            (tmp_path / "changed.json").write_text(json.dumps(content))
            with pytest.raises(SettingError):
                read(tmp_path / "changed.json")
        read(source)


def test_a_file_may_be_laid_out_anew(invited: Study) -> None:
    """A mail program or an editor may change blanks and the order of entries."""
    before = Invitation.read(invited.invitation)
    content = json.loads(invited.invitation.read_text())
    invited.invitation.write_text(json.dumps(dict(reversed(content.items()))))
    assert Invitation.read(invited.invitation) == before


BAD_REGISTRATIONS: dict[str, tuple[Change, str]] = {
    "another name": (lambda it: it.update(name="south"), "'south' has not signed"),
    "no name": (lambda it: it.pop("name"), "has no entry 'name'"),
    "name a number": (lambda it: it.update(name=1), "'name' .* has the wrong type"),
    "misspelt entry": (lambda it: it.update(identiy=it.pop("identity")), "unknown entry 'identiy'.*identity"),
    "more": (lambda it: it.update(note="x"), "unknown entry 'note'"),
    "short identity": (lambda it: it.update(identity=it["identity"][:-2]), "64 hexadecimal digits"),
    "capital identity": (lambda it: it.update(identity="AB" * 32), "64 hexadecimal digits"),
    "identity null": (lambda it: it.update(identity=None), "wrong type"),
    "no key": (lambda it: it.update(supernode_key=""), "invalid SuperNode's key"),
    "rsa": (lambda it: it.update(supernode_key="ssh-rsa AAAA"), "invalid SuperNode's key"),
    "a second line": (lambda it: it.update(supernode_key=it["supernode_key"] + "\nx"), "invalid SuperNode's key"),
    "no signature": (lambda it: it.pop("signature"), "has no signature"),
    "signature a list": (lambda it: it.update(signature=[]), "has no signature"),
    "signature no hex": (lambda it: it.update(signature="zz"), "has not signed"),
    "no kind": (lambda it: it.pop("kind"), "none of pansvm's files"),
    "another version": (lambda it: it.update(kind="pansvm registration 2"), "another version"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_REGISTRATIONS)
def test_a_registration_that_is_none_is_refused(bad: str, study: Study) -> None:
    change, said = BAD_REGISTRATIONS[bad]
    with pytest.raises(SettingError, match=said):
        Registration.read(changed(study.files["north"], change))


BAD_FILES = {
    "empty": b"",
    "text": b"hello",
    "a list": b"[1]",
    "cut": b'{"kind": "pansvm invitation 1", "number": 1',
    "no utf-8": b'{"kind": "\xff"}',
    "twice": b'{"kind": "a", "kind": "b"}',
    "deep": b"[" * 100_000,
    "private key": b"-----BEGIN PRIVATE KEY-----",
}


@pytest.mark.parametrize("bad", BAD_FILES)
@pytest.mark.parametrize("read", [Registration.read, Invitation.read])
def test_what_is_no_file_of_ours_is_refused(bad: str, read: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(BAD_FILES[bad])
    with pytest.raises(SettingError, match=r"file\.json"):
        read(tmp_path / "file.json")


@pytest.mark.parametrize(("read", "most"), [(Registration.read, 2**16), (Invitation.read, 2**22)])
def test_a_file_that_is_larger_than_its_kind_is_not_parsed(
    read: Callable[[Path], object], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, parsed = tmp_path / "file.json", list[int]()
    monkeypatch.setattr(
        "flower_pansvm.study.documents.parse_document", lambda text, *_: parsed.append(len(text))
    )
    for size in (most, most + 1):
        with file.open("wb") as sparse:
            sparse.truncate(size)
        with pytest.raises(SettingError, match=r"file\.json"):
            read(file)
    assert parsed == [most]


def test_the_largest_schema_file_fits_into_an_invitation(study: Study, tmp_path: Path) -> None:
    assert study.schema is not None
    text = study.schema.read_text()
    left = LONGEST_SCHEMA - len(text.encode()) - 2
    study.schema.write_text(f"{text}#{'ü' * (left // 2)}\n", encoding="utf-8")
    study.invite()
    assert study.invitation.stat().st_size > 2 * LONGEST_SCHEMA
    assert Invitation.read(study.invitation).schema["text"].startswith(text)


def test_the_two_files_are_not_taken_for_each_other(invited: Study, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="invitation"):
        Invitation.read(invited.files["north"])
    with pytest.raises(SettingError, match="registration"):
        Registration.read(invited.invitation)
    with pytest.raises(SettingError, match="read"):
        Invitation.read(tmp_path / "nothing.json")


def forged(study: Study, change: Change) -> Path:
    """Return an invitation that the coordinator itself has signed after a change."""
    content = json.loads(study.invitation.read_text())
    change(content)
    key = load_identity(study.coordinator.folder / "coordinator.pem")
    kind = content.pop("kind")
    content.pop("signature")
    study.invitation.write_text(json.dumps(signed(kind, content, key)))
    return study.invitation


BAD_INVITATIONS: dict[str, tuple[Change, str]] = {
    "plain address": (lambda it: it.update(address="http://localhost:8443"), "is not a valid address"),
    "no level": (lambda it: it.update(privacy="private"), "There is no level"),
    "no authority": (lambda it: it.update(authority=""), "no certificate of an authority"),
    "authority a text": (lambda it: it.update(authority="-----BEGIN CERTIFICATE-----\n"), "no certificate of"),
    "number 0": (lambda it: it.update(number=0), "number below 1"),
    "number true": (lambda it: it.update(number=True), "wrong type"),
    "one hospital": (lambda it: it.update(hospitals=it["hospitals"][:1]), "at least two"),
    "none": (lambda it: it.update(hospitals=[]), "at least two"),
    "a hospital twice": (lambda it: it["hospitals"].append(it["hospitals"][0]), "same name"),
    "no hospital": (lambda it: it["hospitals"].append("east"), "Hospital 4 .* is no registration"),
    "a number": (lambda it: it["hospitals"][1].update(name=2), "'name' of Hospital 2 .* has the wrong type"),
    "hospital cut": (lambda it: it["hospitals"][1].pop("identity"), "Hospital 2 .* has no entry 'identity'"),
    "setting a list": (lambda it: it["settings"].update(C=[1]), "invalid setting 'C'"),
    "setting escapes": (lambda it: it["settings"].update(C="\x1b[2J"), "invalid setting 'C'"),
    "no software": (lambda it: it.pop("software"), "no entry 'software'"),
    "software without a hash": (lambda it: it["software"].pop("hash"), "no entry 'hash'"),
    "software escapes": (lambda it: it["software"].update(version="\x1b[2J"), "control characters"),
    "schema elsewhere": (lambda it: it.update(schema={"name": "../x.toml", "text": ""}), "name of its schema file"),
    "schema over the node config": (lambda it: it.update(schema={"name": "node.toml", "text": ""}), "its schema file"),
    "schema without text": (lambda it: it.update(schema={"name": "schema.toml"}), "no entry 'text'"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_INVITATIONS)
def test_an_invitation_that_cannot_be_is_refused_whoever_has_signed_it(bad: str, invited: Study) -> None:
    change, said = BAD_INVITATIONS[bad]
    with pytest.raises(SettingError, match=said):
        Invitation.read(forged(invited, change))


def test_a_servers_own_certificate_is_no_authority(invited: Study) -> None:
    server = (invited.coordinator.folder / "server.pem").read_text()
    with pytest.raises(SettingError, match="authority"):
        Invitation.read(forged(invited, lambda it: it.update(authority=server)))


def test_expired_certificates_are_told_with_the_way_that_is_left(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator itself cannot renew them: its own last invitation holds them, too."""
    monkeypatch.setattr(certificates, "VALID", timedelta(seconds=2))
    study.coordinator = Coordinator.make(tmp_path / "old", "localhost:9093", 9093)
    study.invite()
    time.sleep(2.1)
    for refused in (lambda: study.invite(renew=True), lambda: study.accept("north")):
        with pytest.raises(SettingError, match=r"pansvm coordinator init.*pansvm hospital init"):
            refused()


def test_a_signature_on_one_kind_is_none_on_another(tmp_path: Path) -> None:
    author = create_identity(tmp_path / "key.pem")
    key = load_identity(tmp_path / "key.pem")
    signature = signed("pansvm registration 1", {"a": 1}, key)["signature"]
    assert is_signed_by(author, "pansvm registration 1", {"a": 1}, signature)
    assert not is_signed_by(author, "pansvm invitation 1", {"a": 1}, signature)


def test_the_code_is_that_of_the_whole_content(tmp_path: Path, hospital_files: list[Path]) -> None:
    _, one = make_hospital(tmp_path / "a", "north", str(hospital_files[0]))
    assert len(one.code.split()) == 8
    assert {len(group) for group in one.code.split()} == {CODE_GROUP}
    codes = {code_of("pansvm registration 1", {**one.content, name: "x"}) for name in one.content}
    assert len({one.code, *codes}) == 1 + len(one.content)


@given(
    st.binary(min_size=1, max_size=8), st.integers(0, 38), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
)
def test_a_code_is_recognized_however_it_is_typed_and_with_one_wrong_sign_never(
    content: bytes, place: int, sign: str
) -> None:
    code = code_of("pansvm registration 1", {"a": content.hex()})
    for typed in (code, code.lower(), code.replace(" ", ""), f"  {code.replace(' ', '-')} \n"):
        assert is_code(typed, code)
    wrong = code[:place] + sign + code[place + 1 :]
    assert is_code(wrong, code) == (wrong == code)
    assert not is_code(code[:-1], code)
    assert not is_code("", code)

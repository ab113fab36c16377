"""What a hospital and a coordinator do to join, and what each attack on it meets."""

import json
import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from clients import cache
from clients.checking.finding import WARNING, Finding
from clients.deployment.checks import hospital_in
from clients.deployment.hospital import accept, make_hospital
from clients.deployment.node_file import set_key
from clients.deployment.service_files import unit
from clients.ledger.epochs import enter_run
from clients.ledger.home import tables_home
from clients.ledger.ledger import LEDGER_FILE as LEDGER
from clients.ledger.ledger import charge, read_ledger
from clients.node.node_config import read_node_config
from clients.rows import table_at
from clients.table.table import Table
from flower_pansvm.bundle import hash_of, installed_files
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError, TableError
from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.secure_sum.identities import load_identity, read_roster
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.study.registration import Registration
from flower_pansvm.systems.dp_svm import PRIVATE_BINS
from flower_pansvm.version import VERSION
from strategies.deployment.coordinator import Coordinator
from tests.deployment.conftest import SCHEMA, Study

SECRET = {"identity.pem", "supernode.key", "coordinator.pem", "ca.key", "server.key", "node.toml"}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_three_hospitals_join_and_find_everything_in_order(joined: Study) -> None:
    for name in joined.hospitals:
        said = "\n".join(joined.check(name))
        assert f"'{name}' has its own identity" in said
        assert joined.coordinator.invitation().code in said
        assert "60 rows and 2 columns" in said


def test_what_is_handed_over_holds_nothing_secret_and_secrets_are_their_owners(joined: Study) -> None:
    for folder in (*joined.hospitals.values(), joined.coordinator.folder):
        for file in (path for path in folder.rglob("*") if path.is_file()):
            mode = stat.S_IMODE(file.stat().st_mode)
            assert (mode == 0o600) == (file.name in SECRET or file.parent.name == "state"), file
            if file.name not in SECRET:
                assert "PRIVATE" not in file.read_text()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    handed = joined.files["north"].read_text()
    assert json.loads(handed).keys() == {"kind", "name", "identity", "supernode_key", "signature"}


def test_a_new_hospital_has_the_pins_that_are_recommended(study: Study) -> None:
    node = tomllib.loads((study.hospitals["north"] / "node.toml").read_text())
    privacy = {"privacy": "dp", "noise": 0.5, "epsilon": 1.0, "delta": 1e-5}
    assert node.items() >= {"aggregation": "k-secure", "colluders": 1, **privacy}.items()
    assert not {"min-sites", "k"} & node.keys()  # they depend on how many take part
    assert not {"extremes", "test-rows"} & node.keys()
    assert read_ledger(study.hospitals["north"] / "state").charges == ()


@pytest.mark.parametrize(("hospitals", "min_sites", "k"), [(2, 3, 1), (5, 5, 4), (33, 33, 32), (40, 40, 32)])
def test_by_accepting_a_hospital_insists_on_all_that_are_invited(
    hospitals: int, min_sites: int, k: int, study: Study
) -> None:
    """Of two it has to be decided by a person: each learns the other's part."""
    found = [study.registrations()[0]]
    for number in range(1, hospitals):
        folder = study.coordinator.folder.parent / f"h{number}"
        found.append(make_hospital(folder, folder.name, str(folder.parent / "hospital0.csv"))[1])
    study.coordinator.invite(found, {"min-sites": 2}, study.schema)
    study.accept("north")
    node = tomllib.loads((study.hospitals["north"] / "node.toml").read_text())
    assert (node["min-sites"], node["k"]) == (min_sites, k)


def test_a_renewed_invitation_of_more_hospitals_raises_what_nobody_has_changed(joined: Study) -> None:
    folders = joined.hospitals["north"], joined.hospitals["south"]
    edit(folders[1] / "node.toml", "min-sites = 3", "min-sites = 2")
    east = folders[0].parent / "east"
    joined.files["east"], _ = make_hospital(east, "east", str(east.parent / "hospital0.csv"))
    joined.invite(renew=True)
    for name in ("north", "south"):
        joined.accept(name)
    pins = [(node["min-sites"], node["k"]) for node in map(read_node_config, folders)]
    assert pins == [(4, 3), (2, 3)]
    assert all((folder / "node.toml").read_text().count("min-sites =") == 1 for folder in folders)


def test_names_and_paths_with_odd_signs_reach_the_node_config(
    tmp_path: Path, hospital_files: list[Path]
) -> None:
    odd = tmp_path / 'a "b" \\ ü$ %n'
    odd.mkdir()
    table = Path(shutil.copy(hospital_files[0], odd / "täble.csv"))
    make_hospital(odd / "h", 'St. Mary\'s "north" ü', str(table), "out come")
    node = tomllib.loads((odd / "h" / "node.toml").read_text())
    assert (node["name"], node["data"], node["label"]) == ('St. Mary\'s "north" ü', str(table), "out come")


@pytest.mark.slow
def test_the_node_config_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text('data = "/home/j\u00fcrgen/ward.csv"\n', encoding="utf-8")
    code = "import sys, pathlib; from clients.deployment.node_file import set_key; "
    code += "set_key(pathlib.Path(sys.argv[1]), 'k', 3)"
    plain = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-X", "utf8=0", "-c", code, str(tmp_path)], env=plain, check=True)
    assert read_node_config(tmp_path) == {"data": "/home/j\u00fcrgen/ward.csv", "k": 3}


def test_a_hospital_s_folder_that_was_moved_is_told_so(tmp_path: Path, hospital_files: list[Path]) -> None:
    """What it names is no longer there: a roster that cannot be read, a state without a ledger."""
    make_hospital(tmp_path / "h", "north", str(hospital_files[0]), "label")
    (tmp_path / "h").rename(tmp_path / "moved")
    with pytest.raises(SettingError, match=re.escape(str(tmp_path / "h"))):
        read_node_config(tmp_path / "moved")


def test_a_mark_before_the_first_key_of_the_node_config_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text("k = 3\n", encoding="utf-8-sig")
    assert read_node_config(tmp_path) == {"k": 3}
    set_key(tmp_path, "k", 4)
    assert read_node_config(tmp_path) == {"k": 4}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_takes_the_unit(tmp_path: Path, hospital_files: list[Path]) -> None:
    folder = tmp_path / "a b %n $x"
    make_hospital(folder, "north", str(hospital_files[0]))
    command = ["systemd-analyze", "verify", str(folder / "pansvm-hospital.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("known", [True, False])
def test_a_unit_names_the_account_and_not_what_the_environment_says(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of an account is enough, as in a container that knows no names."""

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setenv("LOGNAME", "somebody else")
    if not known:
        monkeypatch.setattr(pwd, "getpwuid", unknown)
    user = pwd.getpwuid(os.getuid()).pw_name if known else str(os.getuid())
    assert f"User={user}" in unit(Path("/a"), "north").splitlines()


def test_a_dollar_is_doubled_in_a_units_command_and_nowhere_else() -> None:
    """Systemd puts variables into commands only: an account of a directory service may end with it."""
    lines = dict(
        line.split("=", 1) for line in unit(Path("/home/svc$/h"), "north").splitlines() if "=" in line
    )
    assert lines["ExecStart"].endswith('--folder "/home/svc$$/h"')
    assert lines["WorkingDirectory"] == "/home/svc$/h"
    assert lines["ReadWritePaths"].startswith('"/home/svc$/h" ')


def test_the_command_in_a_units_first_lines_is_one_for_a_shell() -> None:
    line = next(line for line in unit(Path("/a b"), "north").splitlines() if " cp " in line)
    assert shlex.split(line)[3] == "/a b/pansvm-hospital.service"


def test_the_unit_of_a_second_folder_is_not_copied_over_the_first_ones_unasked(tmp_path: Path) -> None:
    installed = tmp_path / "pansvm-hospital.service"
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        text = unit(tmp_path / folder, folder)
        (tmp_path / folder / installed.name).write_text(text)
        line = next(line for line in text.splitlines() if " cp " in line)
        copy = line.removeprefix("#").partition("&&")[0].replace("/etc/systemd/system", str(tmp_path))
        subprocess.run(["sh", "-c", copy], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert "SuperNode of 'first'" in installed.read_text()


def test_the_server_certificate_is_signed_by_the_authority_and_names_the_address(tmp_path: Path) -> None:
    folder = Coordinator.make(tmp_path / "c", "coordinator.example.org:443", 8443).folder
    authority, server = (
        x509.load_pem_x509_certificate((folder / name).read_bytes()) for name in ("ca.crt", "server.pem")
    )
    server.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["coordinator.example.org", "localhost"]
    key = load_pem_private_key((folder / "server.key").read_bytes(), None)
    assert server.public_key() == key.public_key()
    assert "server_name coordinator.example.org;" in (folder / "nginx.conf").read_text()


def test_nginx_reads_any_folder_of_the_coordinators_but_one_that_it_takes_for_a_variable(
    tmp_path: Path,
) -> None:
    folder = Coordinator.make(tmp_path / 'a b;"{#c\\n', "a.org:443", 8443).folder
    line = next(line for line in (folder / "nginx.conf").read_text().splitlines() if "server.pem" in line)
    assert (
        shlex.split(line, comments=False)[1] == f"{folder}/server.pem;"
    )  # as nginx does, whose quotes are a shell's
    with pytest.raises(SettingError):
        Coordinator.make(tmp_path / "a$b", "a.org:443", 8443)
    assert not (tmp_path / "a$b").exists()


@pytest.mark.parametrize(
    "address", ["10.0.0:443", "256.1.1.1:443", "010.0.0.1:443", "0.0.0.0:443", "a.org:8443"]
)
def test_an_address_that_no_server_can_have_is_refused_before_hospitals_are_invited(
    tmp_path: Path, address: str
) -> None:
    with pytest.raises(SettingError):
        Coordinator.make(tmp_path / "c", address, 8443)
    assert not (tmp_path / "c").exists()


def test_nothing_is_overwritten(joined: Study, hospital_files: list[Path]) -> None:
    folder = joined.hospitals["north"]
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(SettingError, match="empty"):
        make_hospital(folder, "north", str(hospital_files[0]))
    assert before == {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(SettingError, match="empty"):
        Coordinator.make(joined.coordinator.folder, "localhost:1", 1)
    with pytest.raises(SettingError, match="--renew"):
        joined.invite()


def test_a_renewed_invitation_replaces_the_old_one_and_never_the_other_way(joined: Study) -> None:
    old = joined.invitation.read_text()
    renewed = joined.invite(renew=True)
    assert renewed.number == 2
    assert joined.accept("north") == renewed
    joined.check()
    kept = joined.coordinator.folder / "invitation-1.json"
    assert kept.read_text() == old
    with pytest.raises(SettingError, match="number"):
        accept(joined.hospitals["north"], kept, Invitation.read(kept).code)


def other_version(study: Study) -> Invitation:
    """Let the coordinator invite with an older version than the one that is installed at the hospitals."""
    found = study.coordinator.invitation()
    older = replace(found, software={"version": "0.0.9", "hash": "ab" * 32})
    made = older.signed_by(load_identity(study.coordinator.folder / "coordinator.pem"))
    study.invitation.write_text(made.to_json())
    return made


def test_an_invitation_for_other_software_is_refused_and_both_are_named(invited: Study) -> None:
    made, folder = other_version(invited), invited.hospitals["north"]
    with pytest.raises(SettingError) as refused:
        accept(folder, invited.invitation, made.code)
    for said in ("0.0.9", "ab" * 32, VERSION, hash_of(installed_files()), "pip install"):
        assert said in str(refused.value)
    assert not (folder / "roster.json").exists()


def test_check_shows_the_hash_and_finds_software_that_was_installed_later(joined: Study) -> None:
    assert hash_of(installed_files()) in "\n".join(joined.check())
    other_version(joined)
    shutil.copy(joined.invitation, joined.hospitals["north"] / "invitation.json")
    with pytest.raises(SettingError, match="flower-pansvm"):
        joined.check()


def test_a_column_in_other_units_is_found_before_the_hospital_connects(joined: Study) -> None:
    """A run does not look: a refusal would tell the coordinator what most cells are."""
    table = joined.hospitals["north"].parent / "hospital0.csv"
    frame = pd.read_csv(table)
    frame.assign(age=12 * frame["age"]).to_csv(table, index=False)
    with pytest.raises(TableError, match="'age'"):
        joined.check()


def test_a_hospital_is_told_what_level_perturbed_is_worth_on_its_table(joined: Study) -> None:
    folder = joined.hospitals["north"]
    said = joined.check()
    assert any("AUC" in line for line in said)
    assert any("without row ids" in line for line in said)
    table = folder.parent / "hospital0.csv"
    pd.read_csv(table).assign(visit=[f"v{n}" for n in range(60)]).to_csv(table, index=False)
    edit(folder / "node.toml", 'data = "', 'row-id = "visit"\ndata = "')
    said = joined.check()
    assert any("AUC" in line for line in said)
    assert not any("without row ids" in line for line in said)


@pytest.mark.parametrize("privacy", ["dp", "perturbed"])
def test_a_weak_level_that_the_policy_refuses_is_worth_no_warning(
    privacy: str, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = Finding(WARNING, "The level is weak on this table.")
    monkeypatch.setattr("clients.deployment.checks.level_findings", lambda *_: [weak])
    edit(joined.hospitals["north"] / "node.toml", 'privacy = "dp"', f'privacy = "{privacy}"')
    said = joined.check()
    assert (f"{WARNING}: {weak.text}" in said) == (privacy == "perturbed")


# What an attacker, or a mistake, changes; who is named for it.


def test_a_hospital_whose_identity_was_exchanged_on_the_way_notices(study: Study, tmp_path: Path) -> None:
    """The coordinator got, or made, a registration of 'north' with keys of somebody else's."""
    make_hospital(tmp_path / "mallory", "north", str(tmp_path / "hospital0.csv"))
    study.files["north"] = tmp_path / "mallory" / "north.registration.json"
    study.invite()
    with pytest.raises(SettingError, match="identity"):
        study.accept("north")
    assert not (study.hospitals["north"] / "roster.json").exists()


def test_a_coordinator_that_tells_hospitals_different_rosters_is_found_by_the_code(
    study: Study, tmp_path: Path
) -> None:
    """South gets a roster in which 'west' is the coordinator's own: it asks north for its code."""
    code = study.invite().code
    make_hospital(tmp_path / "mallory", "west", str(tmp_path / "hospital0.csv"))
    study.files["west"] = tmp_path / "mallory" / "west.registration.json"
    study.coordinator.folder.joinpath("invitation.json").unlink()
    study.invite()
    with pytest.raises(SettingError):
        accept(study.hospitals["south"], study.invitation, code)
    assert not (study.hospitals["south"] / "roster.json").exists()


def test_another_coordinator_is_refused_once_one_is_known(joined: Study, tmp_path: Path) -> None:
    other = Coordinator.make(tmp_path / "mallory", "localhost:8443", 8443)
    made = other.invite(joined.registrations(), joined.settings, joined.schema)
    with pytest.raises(SettingError, match="key"):
        accept(joined.hospitals["north"], other.folder / "invitation.json", made.code)


def test_a_hospital_that_is_not_invited_is_told_who_is(invited: Study, tmp_path: Path) -> None:
    make_hospital(tmp_path / "east", "east", str(tmp_path / "hospital0.csv"))
    with pytest.raises(SettingError, match="'east'"):
        accept(tmp_path / "east", invited.invitation, invited.coordinator.invitation().code)


def swap_roster(folder: Path) -> None:
    roster = read_roster(folder / "roster.json")
    texts = {name: key.public_bytes_raw().hex() for name, key in roster.items()}
    texts["south"], texts["west"] = texts["west"], texts["south"]
    (folder / "roster.json").write_text(json.dumps(texts))


def libsvm(folder: Path) -> None:
    table = folder.parent / "hospital0.svm"
    table.write_text("".join(f"{number % 2} 1:{number} 2:0.5\n" for number in range(40)))
    text = re.sub("schema = .*", "", (folder / "node.toml").read_text())
    (folder / "node.toml").write_text(f'{text.replace("hospital0.csv", "hospital0.svm")}\nclasses = "0,1"\n')


def copy_key(name: str, to: str = "") -> Callable[[Path], object]:
    """Return what gives a hospital the key of 'south'."""
    return lambda own: shutil.copy(own.parent / "south" / name, own / (to or name))


BAD_FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no invitation": (lambda own: (own / "invitation.json").unlink(), "has no invitation yet"),
    "no identity": (lambda own: (own / "identity.pem").unlink(), r"identity\.pem cannot be read.*private key"),
    "no supernode key": (lambda own: (own / "supernode.key").unlink(), r"supernode\.key cannot be read"),
    "open identity": (lambda own: (own / "identity.pem").chmod(0o640), "chmod 600"),
    "open key": (lambda own: (own / "supernode.key").chmod(0o604), "chmod 600"),
    "damaged key": (lambda own: (own / "supernode.key").write_text("x"), "is damaged"),
    "damaged identity": (lambda own: (own / "identity.pem").write_text("x"), "holds no private identity"),
    "another's identity": (copy_key("identity.pem"), "an identity that is not its own"),
    "another's supernode key": (copy_key("supernode.key"), "key"),
    "roster swapped": (swap_roster, "they differ in south, west"),
    "schema edited": (lambda own: edit(own / "schema.toml", "120", "99"), "not the invitation's: .* in columns"),
    "roster gone": (lambda own: (own / "roster.json").unlink(), "'roster.json' cannot be .*Accept the same"),
    "roster emptied": (lambda own: (own / "roster.json").write_text(""), "no valid JSON.*Accept the same"),
    "empty": (lambda own: (own / "node.toml").write_text(""), r"node\.toml has no 'name'"),
    "not UTF-8": (lambda own: (own / "node.toml").write_bytes(b"# Universit\xe4t\n"), r"toml is not text in UTF-8"),
    "no node config": (lambda own: (own / "node.toml").unlink(), "is no hospital's folder"),
    "no budget": (lambda own: (own / "state" / "table.json").unlink(), "belongs to no table.s ledger"),
    "damaged budget": (lambda own: (own / "state" / "table.json").write_text("{}"), "damaged file 'table.json'"),
    "open ledgers": (lambda own: tables_home().chmod(0o750), "chmod 700"),
    "open state": (lambda own: (own / "state").chmod(0o755), "open to other accounts"),
    "no table": (lambda own: (own.parent / "hospital0.csv").unlink(), "hospital0.csv"),
    "few rows": (
        lambda own: (own.parent / "hospital0.csv").write_text("age,dose,label\n50,0.5,1\n"),
        "has 1 rows .* at least 5",
    ),
    "a name that joining refuses": (
        lambda own: edit(own.parent / "hospital0.csv", "age", "x" * 501), "longer than 500 characters",
    ),
    "LIBSVM": (libsvm, "has a table of LIBSVM text"),
    "invitation edited": (lambda own: edit(own / "invitation.json", ":8443", ":9443"), "was changed after"),
}  # fmt: skip

# What stands in its node config, what is written instead, and what is told.
BAD_NODES: dict[str, tuple[str, str, str]] = {
    "another's identity by name": (
        "identity.pem",
        "other.pem",
        "names another identity file than that of 'north'",
    ),
    "roster pin gone": ("roster = ", "# ", "has no 'roster'"),
    "Windows path": ('data = "', 'data = "C:\\U', "between single quotation"),
    "more sites than there are": (
        "min-sites = 3",
        "min-sites = 4",
        "fewer than min-sites=4 hospitals, and 3 are",
    ),
    "true sites": ("min-sites = 3", "min-sites = true", "min-sites is 'True', but it must be a whole number"),
    "renamed": ('"north"', '"nord"', "'nord' is not among them"),
    "misspelt pin": ("min-sites", "min-site", "unknown key 'min-site'.*min-sites"),
    "no toml": ("k = 2", "k = ", r"node\.toml cannot be read"),
    "a list": ("k = 2", "k = [2]", "neither a text nor a number"),
    "another sum": ("k-secure", "ring", "refuses the aggregation 'k-secure'"),
    "no epsilon": ("epsilon", "# epsilon", "has no budget"),
    "little epsilon": ("epsilon = 1.0", "epsilon = 0.5", "allows 0.5 in all runs"),
    "a separator of its own": (
        "data = ",
        'separator = "semicolon"\ndata = ',
        "semicolon",
    ),
    "an option that cannot be": ("data = ", 'thousands = "x"\ndata = ', "thousands is 'x', but it must be"),
    "no table": ("data = ", "# data = ", "names no table.*node.toml"),
    "wrong label": ("data = ", 'label = "lable"\ndata = ', "lable"),
}


@pytest.mark.parametrize("bad", [*BAD_FOLDERS, *BAD_NODES])
def test_start_finds_what_is_wrong_before_it_connects(bad: str, joined: Study) -> None:
    folder = joined.hospitals["north"]
    if bad in BAD_NODES:
        old, new, said = BAD_NODES[bad]
        copy_key("identity.pem", to="other.pem")(folder)
        edit(folder / "node.toml", old, new)
    else:
        spoil, said = BAD_FOLDERS[bad]
        spoil(folder)
    with pytest.raises(PanSVMError, match=said):
        joined.check()


def test_classes_may_have_any_names(study: Study, tmp_path: Path) -> None:
    frame = pd.read_csv(tmp_path / "hospital0.csv")
    frame["label"] = frame["label"].map({0: "well", 1: "sick"})
    frame.to_csv(tmp_path / "hospital0.csv", index=False)
    edit(tmp_path / "ours.toml", "[0, 1]", '["sick", "well"]')
    study.invite()
    study.accept("north")
    assert any(line.startswith("table: 60 rows") for line in study.check())


def test_positive_labels_come_with_the_schema_and_others_are_found_before_the_hospital_connects(
    study: Study,
) -> None:
    study.schema.write_text("positive = [1]\n" + SCHEMA)
    study.invite()
    study.accept("north")
    study.check()
    set_key(study.hospitals["north"], "positive", "0")
    with pytest.raises(SettingError, match="positive='0'"):
        study.check()


def test_rows_with_other_labels_are_counted_before_a_run_leaves_them_out(joined: Study) -> None:
    table = joined.hospitals["north"].parent / "hospital0.csv"
    frame = pd.read_csv(table)
    frame.assign(label=frame["label"].mask(frame.index < 3, 7)).to_csv(table, index=False)
    said = joined.check()
    told = "; 3 of the rows are left out of every run, for their labels are not among 0, 1"
    assert any(told in line for line in said)
    assert said[-1].startswith("warning: hospital0.csv: ")
    frame.assign(label=7).to_csv(table, index=False)
    with pytest.raises(SettingError, match="none of the table's 60 rows is one of the agreed classes, 0, 1"):
        joined.check()


BAD_INITS: dict[str, tuple[dict[str, object], str]] = {
    **{f"name {name}": ({"name": name}, "a hospital's name") for name in ("", "..", "x" * 65, "a\nb", " a")},
    "no level": ({"privacy": "defended"}, "privacy"),
    "no noise": ({"noise": 0.1}, "noise"),
    "a folder": ({"data": "/"}, "There is no table"),
    "control character": ({"label": "a\x1b[2J"}, "holds a control character"),
    "epsilon 0": ({"epsilon": 0.0}, "epsilon has to be"),
    "epsilon nan": ({"epsilon": float("nan")}, "epsilon is"),
    "epsilon large": ({"epsilon": 1e9}, "epsilon is"),
    "delta 1": ({"delta": 1.0}, "delta is"),
    "all rows for the test": ({"test_fraction": 1.0}, "test-fraction"),
}


@pytest.mark.parametrize("bad", BAD_INITS)
def test_init_refuses_what_cannot_be_and_writes_nothing(
    bad: str, tmp_path: Path, hospital_files: list[Path]
) -> None:
    changes, said = BAD_INITS[bad]
    with pytest.raises(SettingError, match=said):
        make_hospital(
            **{"folder": tmp_path / "h", "name": "north", "data": str(hospital_files[0]), **changes}
        )
    assert not (tmp_path / "h").exists()


BAD_SETTINGS: dict[str, tuple[dict[str, str], str]] = {
    "misspelt": ({"epsilom": "1"}, "epsilon"),
    "no number": ({"epsilon": "much"}, "epsilon is 'much'"),
    "unknown sum": ({"aggregation": "k-secur"}, "k-secure"),
    "unknown strategy": ({"strategy": "dp-swm"}, "dp-svm"),
    "another's setting": ({"landmarks": "20"}, "is a setting of"),
    "out": ({"out": "/x"}, "not for the hospitals to agree to"),
    "schema": ({"schema": "/x.toml"}, "name it by --schema"),
    "positive labels": ({"positive": "1"}, "schema file"),
    "more sites than there are": ({"min-sites": "4"}, "needs min-sites=4 hospitals, and 3 are invited"),
}


@pytest.mark.parametrize("bad", BAD_SETTINGS)
def test_a_setting_that_cannot_be_is_told_to_the_coordinator_and_not_to_the_hospitals(
    bad: str, study: Study
) -> None:
    changes, said = BAD_SETTINGS[bad]
    study.settings |= changes
    with pytest.raises(SettingError, match=said):
        study.invite()
    assert not study.invitation.exists()


def test_a_private_run_needs_a_schema_that_can_be_read(study: Study, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="--schema"):
        study.invite(schema=None)
    (tmp_path / "bad.toml").write_text("colums = 3\n")
    for bad, said in (("no.toml", "no.toml"), ("bad.toml", "columns")):
        with pytest.raises(SettingError, match=said):
            study.invite(schema=tmp_path / bad)
    assert not study.invitation.exists()


@pytest.fixture
def perturbed(study: Study) -> Study:
    """Return a study of which 'north', whose policy is a new hospital's, has accepted a run at level perturbed."""
    study.settings, study.schema = {"strategy": "pan-svm", "privacy": "perturbed"}, None
    assert study.invite().privacy == "perturbed"
    study.accept("north")
    return study


def policy(study: Study, privacy: str, noise: float) -> None:
    set_key(study.hospitals["north"], "privacy", privacy)
    set_key(study.hospitals["north"], "noise", noise)


@pytest.fixture
def agreed(perturbed: Study) -> Study:
    """Return it once 'north' agrees to the level and has been checked."""
    policy(perturbed, "perturbed", 0.25)
    perturbed.check()
    return perturbed


def test_a_hospital_starts_at_the_levels_of_its_policy_only_and_is_told_what_to_write(
    perturbed: Study,
) -> None:
    for privacy, noise, remedy in (("dp", 0.25, "privacy='perturbed'"), ("perturbed", 0.5, "noise=0.25")):
        policy(perturbed, privacy, noise)
        with pytest.raises(SettingError, match=remedy):
            perturbed.check()
    policy(perturbed, "perturbed", 0.25)
    (level,) = (line for line in perturbed.check() if line.startswith("level: "))
    assert "perturbed with noise=0.25; node.toml allows dp, perturbed with noise=0.25 or more;" in level


def first_run(study: Study) -> Table:
    """Return north's copy as a run sees it, in a process that has kept nothing."""
    cache.cached_tables.values.clear()
    node = read_node_config(study.hospitals["north"])
    return table_at(hospital_in(node, study.coordinator.invitation().settings), "perturbed")


def test_a_check_settles_nothing_of_the_copy_and_the_first_run_does(agreed: Study, tmp_path: Path) -> None:
    state = agreed.hospitals["north"] / "state"
    assert read_ledger(state).copy == {}
    copies = [first_run(agreed) for _ in range(2)]
    assert (copies[0].X == copies[1].X).all()
    settled = read_ledger(state).copy
    assert settled
    agreed.check()
    assert read_ledger(state).copy == settled
    edit(tmp_path / "hospital0.csv", "age", "years")
    with pytest.raises(PanSVMError):
        agreed.check()


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink,
        lambda ledger: ledger.write_text(ledger.read_text().replace('"key": "', '"key": "0')),
        lambda ledger: ledger.write_text("x"),
    ],
    ids=["lost", "damaged", "no JSON"],
)
def test_a_ledger_that_cannot_be_used_is_found_as_it_holds_the_copys_key(
    spoil: Callable[[Path], object], agreed: Study
) -> None:
    (ledger,) = tables_home().glob(f"*/{LEDGER}")
    spoil(ledger)
    with pytest.raises(BudgetError, match="lost"):
        agreed.check()


def test_another_table_is_found(agreed: Study, tmp_path: Path) -> None:
    first_run(agreed)
    shutil.copy(tmp_path / "hospital1.csv", tmp_path / "hospital0.csv")
    with pytest.raises(BudgetError, match="not those of the ledger"):
        agreed.check()


@pytest.mark.parametrize(
    "address",
    [
        *("", "host", "host:", ":443", "https://host:443", "host:0", "host:65536", "ho st:1", "host:1\n"),
        *("müller.example:443", "[::1]:443", "::1:443", "2001:db8::7:443"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="address"):
        Coordinator.make(tmp_path / "c", address, 8443)
    assert not (tmp_path / "c").exists()


def test_a_budget_that_is_spent_in_part_is_told_also_to_a_second_folder_of_the_table(joined: Study) -> None:
    """No reason to stay away: the machine may have been started again in the middle of a run; or it is a new study."""
    folder = joined.hospitals["north"]
    assert not any("have spent" in line for line in joined.check())
    hospital = hospital_in(read_node_config(folder), joined.coordinator.invitation().settings)
    enter_run(hospital)
    charge(hospital, PRIVATE_BINS, rho_of(1.0, 1e-5) / 2)
    assert any("runs have spent a part already" in line for line in joined.check())
    second = folder.parent / "second"
    joined.files["north"], _ = make_hospital(second, "north", str(folder.parent / "hospital0.csv"))
    joined.invite(renew=True)
    joined.hospitals["north"] = second
    joined.accept("north")
    assert any("runs have spent a part already" in line for line in joined.check())
    assert read_ledger(second / "state") == read_ledger(folder / "state")


def test_two_hospitals_with_something_in_common_are_named(study: Study) -> None:
    north, south, west = study.registrations()
    of_north, of_west = (load_identity(study.hospitals[name] / "identity.pem") for name in ("north", "west"))
    for hospitals, said in (
        ([north, south, north], "name"),
        ([north, south, Registration.of("North", of_north, west.supernode_key)], "name"),
        ([north, south, Registration.of("east", of_north, west.supernode_key)], "identity"),
        ([north, south, Registration.of("east", of_west, north.supernode_key)], "supernode"),
        ([north], "two"),
    ):
        with pytest.raises(SettingError, match=said):
            study.coordinator.invite(hospitals, study.settings, study.schema)


def test_a_coordinator_cannot_pair_a_hospitals_identity_with_another_key(invited: Study) -> None:
    """Even signed by the coordinator itself, an entry that its hospital has not signed is refused."""
    key = load_identity(invited.coordinator.folder / "coordinator.pem")
    found = invited.coordinator.invitation()
    north, south, west = found.hospitals
    forged = replace(south, supernode_key=west.supernode_key)
    with pytest.raises(SettingError, match="signed"):
        replace(found, hospitals=(north, forged, west)).signed_by(key)
    assert found.coordinator == public_identity(key)


@pytest.mark.parametrize(
    "url",
    [
        "-- url: nothing://reader:secret@db.example/ward",
        "\ufeff-- url: nothing://reader:se/cr@t@db.example/ward",
        "-- url: nothing://db.example/ward?user=reader&password=secret",
    ],
)
def test_a_databases_password_that_others_can_read_is_refused(
    url: str, joined: Study, tmp_path: Path
) -> None:
    folder, query = joined.hospitals["north"], tmp_path / "ward.sql"
    edit(folder / "node.toml", str(tmp_path / "hospital0.csv"), str(query))
    query.write_text(f"{url}\nSELECT 1\n", encoding="utf-8")
    query.chmod(0o644)
    with pytest.raises(SettingError, match="pgpass"):
        joined.check()
    query.chmod(0o600)
    with pytest.raises(TableError):  # there is no such database
        joined.check()
    query.write_text("-- url: nothing://reader@db.example/ward\nSELECT 1\n")
    query.chmod(0o644)
    with pytest.raises(TableError):
        joined.check()

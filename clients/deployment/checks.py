"""What ``pansvm hospital start`` checks before a SuperNode connects: mistakes are told here, and nothing is sent."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flwr.app import Context, RecordDict

from clients.app import TASKS
from clients.checking.finding import NOTE, WARNING
from clients.checking.findings import table_warnings
from clients.checking.perturbation import guessing_error, level_findings
from clients.classes import allowed_classes, eligible_rows, positive_labels
from clients.deployment.hospital import (
    accepted,
    check_invited,
    check_software,
    own_registration,
    roster_text,
)
from clients.deployment.outside_parts import check_parts
from clients.gate.levels import LEARNED, level_of
from clients.hospital import Hospital, hospital_of
from clients.ledger.ledger import read_ledger
from clients.ledger.tables import link_own_table
from clients.node.node_config import NODE_FILE, read_node_config
from clients.patients import count_patients, patient_numbers
from clients.perturb import check_copy
from clients.policy import policy_of
from clients.rows import true_table
from clients.site import Site
from clients.state_folder import state_folder
from clients.systems.common import classes_on_joining
from clients.table.form import TableForm
from clients.table.source import schema_of
from clients.table.sources.sql import URL
from clients.table.table import Table
from clients.table.units import check_units
from flower_pansvm.consents import LEVELS
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.lists import join_list
from flower_pansvm.secure_sum.identities import load_identity, read_roster
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.study.folder import read_private
from flower_pansvm.study.invitation import Invitation
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.table_schema import AGREED_KEYS, TableSchema
from flower_pansvm.version import VERSION

_PASSWORD = re.compile(r"://[^:/@]*:.+@|[?&](password|passwd|pwd)=")
"""In a URL with a password, which may hold any sign."""


def check_hospital(folder: Path) -> Iterator[str]:
    """Check all of a hospital's folder that needs no network, one thing after the other, and yield the things in order.

    What is doubtful of the table begins with the word warning or note. The PanSVMError at the first thing
    that is not in order says what, likely why, and what to do. It may hold numbers of rows, and is for this
    hospital's eyes.
    """
    site, invitation = own_registration(folder), accepted(folder)
    check_invited(invitation, site)
    yield f"keys: '{site.name}' has its own identity and SuperNode's key; code of its registration: {site.code}"
    yield f"software: flower-pansvm {VERSION} as in the invitation, hash: {check_software(invitation)}"
    node = read_node_config(folder)
    _check_roster(node, site.name, invitation)
    others = ", ".join(name for name in invitation.roster if name != site.name)
    yield f"roster: as in the invitation, with {others}"
    _check_schema(folder, node, invitation)
    yield f"invitation {invitation.number} of the coordinator at {invitation.address}, code: {invitation.code}"
    # Of a package that is not there any more the settings' errors would say less.
    parts = check_parts(folder, policy_of(node, site.name))
    hospital, level = _check_agreed(node, invitation)
    yield "agreed settings: " + ", ".join(f"{key}={value}" for key, value in invitation.settings.items())
    yield _level_text(hospital, level)
    for name, package in parts.items():
        yield f"from another package, as pinned: {name} of {package}"
    path = Path(hospital.policy.data)
    _check_query_file(path)
    yield _check_table(hospital, level)
    # The true records, at whatever level a run would see them.
    table, schema = true_table(hospital), schema_of(hospital)
    check_units(table, schema, path.name)
    if level == "perturbed":
        check_copy(hospital, table)
        yield "copy: the table is the one whose perturbed copy was begun, or can begin one"
    if hospital.policy.privacy != "dp":
        _check_guessing_error(hospital, table, schema)
    yield _check_budget(hospital)
    label = hospital.policy.label or None
    form = TableForm.of({**node, "drop": join_list(filter(None, [hospital.policy.row_id]))}, schema)
    worth = list(level_findings(table, schema, hospital.policy.noise))
    # Of a level that the policy refuses nothing is worth a warning.
    warned = [
        finding.text for finding in worth if finding.level == WARNING and hospital.policy.privacy != "dp"
    ]
    yield from (f"{NOTE}: {finding.text}" for finding in worth if finding.text not in warned)
    yield from (f"{WARNING}: {text}" for text in warned)
    yield from (f"{WARNING}: {path.name}: {text}" for text in table_warnings(path, label, form))


def hospital_in(node: Mapping[str, Any], settings: Mapping[str, Any]) -> Hospital:
    """Return the hospital of a node config, as its gate sees it in a run with these settings."""
    return hospital_of(Context(0, 0, dict(node), RecordDict(), dict(settings)))


def _check_roster(node: Mapping[str, Any], name: str, invitation: Invitation) -> None:
    """Check that the files that the SuperNode will use are those that were agreed to."""
    for key in ("identity", "roster"):
        if key not in node:
            raise SettingError(
                f"{NODE_FILE} has no '{key}': the coordinator could hand out keys of its own and read this hospital's "
                "sums. Write it in again, as `pansvm hospital init` had it."
            )
    try:
        trusted = read_roster(Path(str(node["roster"])))
    except PanSVMError as error:
        raise SettingError(f"{error} Accept the same invitation again, which writes it anew.") from None
    roster = {site: key.public_bytes_raw().hex() for site, key in trusted.items()}
    if roster != invitation.roster:
        differ = sorted(
            site
            for site in roster.keys() | invitation.roster
            if roster.get(site) != invitation.roster.get(site)
        )
        raise SettingError(
            f"The roster file {node['roster']} is not the invitation's: they differ in {', '.join(differ)}. Somebody "
            "has changed it after `pansvm hospital accept`. Accept the invitation again; it holds:\n"
            f"{roster_text(invitation)}"
        )
    if public_identity(load_identity(Path(str(node["identity"])))) != roster[name]:
        raise SettingError(
            f"{NODE_FILE} names another identity file than that of '{name}' in the roster: the other hospitals would "
            "refuse its keys. Name this hospital's own identity.pem."
        )


def _check_schema(folder: Path, node: Mapping[str, Any], invitation: Invitation) -> None:
    """Check that the table is read by the invitation's schema file, or one that says the same: else runs are refused.

    How a file is written may differ, and a table of numbers only needs none.
    """
    if not node.get("schema"):
        return
    path = Path(str(node["schema"]))
    if not invitation.schema:
        raise SettingError(
            f"{NODE_FILE} names the schema file {path}, and the invitation has none: each run would be refused. Take "
            "'schema' out of the node config; or ask the coordinator to invite again, with --schema."
        )
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / invitation.schema["name"]
        file.write_text(invitation.schema["text"], encoding="utf-8")
        agreed, named = TableSchema.read(file), TableSchema.read(path)
    if agreed.digest != named.digest:
        differ = [key for key in (*AGREED_KEYS, "columns") if _entry(agreed, key) != _entry(named, key)]
        raise SettingError(
            f"The schema file {path} that {NODE_FILE} names is not the invitation's: they differ in "
            f"{', '.join(differ)}, and each run would be refused. Accept the invitation again, which writes its file, "
            f"and write schema = '{folder / invitation.schema['name']}' into the node config."
        )


def _entry(schema: TableSchema, key: str) -> object:
    return getattr(schema, key.replace("-", "_"))


def _check_query_file(path: Path) -> None:
    """Check that a database's password is for this account only; SettingError if others can read it."""
    if path.suffix.lower() != ".sql" or not path.is_file():
        return
    url = URL.match(path.read_text(encoding="utf-8-sig", errors="replace"))
    if url and _PASSWORD.search(url[1]):
        read_private(path, "a query with the password of a database in its URL, better kept in ~/.pgpass")


def _check_agreed(node: Mapping[str, Any], invitation: Invitation) -> tuple[Hospital, str]:
    """Return the hospital in a run as it is agreed, and the run's level, after asking its gate, as in the run."""
    try:
        test = float(invitation.settings.get("test-epsilon", 0)) > 0
        # Whatever its classes are called: the run takes them from the hospitals' own list.
        hospital = hospital_in(node, invitation.settings)
        schema = schema_of(hospital)
        asked = JoinQuestion(schema.positive if schema else (), (), invitation.privacy == "dp", test)
        level = level_of(hospital, JOIN.name, TASKS[JOIN.name], asked)
        least = hospital.least_sites
        if least > len(invitation.roster):
            raise SettingError(
                f"It refuses sums of fewer than min-sites={least} hospitals, and {len(invitation.roster)} are invited."
            )
    except PanSVMError as error:
        raise SettingError(
            f"This hospital's {NODE_FILE} does not fit the settings of the invitation. {error} The settings are the "
            "coordinator's to change, the node config is this hospital's."
        ) from None
    return hospital, level


def _level_text(hospital: Hospital, level: str) -> str:
    """Say at which level a run is, what leaves then, and what else the policy allows."""
    weakest = hospital.policy.privacy
    allowed = ", ".join(reversed(LEVELS[LEVELS.index(weakest) :]))
    least = f" with noise={hospital.policy.noise:g} or more" if weakest == "perturbed" else ""
    noise = f" with noise={hospital.terms.noise:g}" if level == "perturbed" else ""
    leaves = LEARNED.get(level, "sums with noise, charged to the budget")
    return f"level: {level}{noise}; {NODE_FILE} allows {allowed}{least}; a run sends {leaves}"


def _check_table(hospital: Hospital, level: str) -> str:
    """Say how many rows of the table can take part; an error if it cannot be read or none can, as in the run."""
    # Of the true records: a copy is begun by a run, and not by a check of a table that is not ready.
    site, dp = Site.of(hospital, "exact"), level == "dp"
    table = true_table(site)
    link_own_table(site, table, joins=False)
    if table.labels is None:
        raise SettingError("The table has no labels. Name its label column in node.toml as label.")
    positive = positive_labels(hospital)
    classes_on_joining(site, JoinQuestion(positive, allowed_classes(hospital) if dp else (), dp))
    taken = eligible_rows(hospital, table, positive)
    rows, left = len(table.labels), int(taken.sum())
    text = f"table: {rows} rows and {len(table.columns)} columns can be read"
    patients = count_patients(patient_numbers(table)[taken])
    if 0 < patients < hospital.least_patients:
        raise SettingError(
            f"The table has {left} rows of {patients} patients with a label that may take part, and a hospital trains "
            f"on those of at least {hospital.least_patients}, its min-cluster. Is it the whole table?"
        )
    if left == rows:
        return text
    classes = ", ".join(allowed_classes(hospital))
    if not left:
        raise SettingError(
            f"The label of none of the table's {rows} rows is one of the agreed classes, {classes}. Is it the right "
            "label column, and are its labels written as the schema file has them?"
        )
    return f"{text}; {rows - left} of the rows are left out of every run, for their labels are not among {classes}"


def _check_guessing_error(hospital: Hospital, table: Table, schema: TableSchema | None) -> None:
    """Check that the copy with the least noise that the policy allows hides as much as it asks; SettingError if not."""
    least, noise = hospital.policy.least_error, hospital.policy.noise
    if least and (error := guessing_error(table, schema, noise)) < least:
        raise SettingError(
            f"At noise {noise:g} the best linear guess of a cell of this table is off by {error:.2f} standard "
            f"deviations, and {NODE_FILE} asks for least-error={least:g}: columns, or a patient's rows, follow each "
            "other. Ask for more noise or for level dp; or lower least-error if the hospital agrees."
        )


def _check_budget(hospital: Hospital) -> str:
    """Say whether the budget is enough for the agreed run; SettingError if it never was.

    One that is spent in part is none: a run that was stopped may be about to go on.
    """
    policy = hospital.policy
    if not policy.epsilon:
        return "budget: none, no differentially private answers"
    epsilon, delta = policy.epsilon, policy.delta
    link_own_table(hospital, true_table(hospital), joins=False)
    ledger = read_ledger(state_folder(hospital))
    asked = float(hospital.terms.config.get("epsilon", 0.0))
    if asked > epsilon:
        raise SettingError(
            f"The agreed run may spend epsilon={asked:g}, and this hospital's {NODE_FILE} allows {epsilon:g} in all "
            "runs together. Ask the coordinator for a smaller one, or change the node config if the hospital agrees."
        )
    if max(ledger.spent("train"), ledger.spent("test")) > 0:
        return (
            f"budget: epsilon={epsilon:g} with delta={delta:g}, of which runs have spent a part already; not enough "
            f"for another run with epsilon={asked:g} may be left. See: pansvm budget {state_folder(hospital)}"
        )
    return f"budget: epsilon={epsilon:g} with delta={delta:g} for this table in all runs together"

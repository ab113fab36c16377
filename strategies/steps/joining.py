"""What a site says of itself when it joins, checked before anything is made of it or shown."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from logging import INFO, WARNING

from flwr.serverapp import Grid

from flower_pansvm.errors import FederationError
from flower_pansvm.printable import MOST_COLUMNS, name_problem, printable
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum.keys import KEY_BYTES
from flower_pansvm.site_names import MOST_NAME, is_site_name
from flower_pansvm.summing import EPOCH_BYTES, MOST_PUBLISHED_BYTES, SIGNATURE_BYTES, PublicKeys
from flower_pansvm.systems.common import (
    JOIN,
    SCHEMA,
    JoinAnswer,
    JoinQuestion,
    SchemaBroadcast,
)
from flower_pansvm.version import VERSION
from strategies.federation.exchange import PATIENCE_SECONDS
from strategies.federation.federation import Federation
from strategies.federation.messages import Contact
from strategies.log import log
from strategies.settings import Settings, given_by
from strategies.steps.column_blocks import schema_by_columns
from strategies.steps.schema import agreed_schema, check_rows_per_patient, common_schema
from strategies.steps.site_differences import class_differences, tell

NODES_SECONDS = 0.2
"""Pause between two looks at the nodes that Flower simulates."""

MOST_CLASSES = 1000
DIGEST = re.compile(r"(?:[0-9a-f]{32})?")


def check_join(answer: JoinAnswer, node: int) -> str:
    """Check what a site has disclosed on joining and return its name.

    Parameters
    ----------
    answer : JoinAnswer
        What it has disclosed.
    node : int
        The site's node id.

    Raises
    ------
    FederationError
        If a part cannot be. The text names the site, by its node id as long as its name is not known to
        be one.
    """
    name = answer.name
    if not is_site_name(name):
        raise FederationError(
            f"The site at node {node} has an invalid site name: at most {MOST_NAME} characters, none of "
            "them a slash, a backslash or a control character, and no blanks around them. Write name='…' into its node "
            "config."
        )
    for part, value, lengths in (
        ("public key", answer.public_key, (KEY_BYTES,)),
        ("published", answer.published, range(MOST_PUBLISHED_BYTES + 1)),
        ("epochs", answer.epochs, range(0, MOST_PUBLISHED_BYTES, EPOCH_BYTES)),
        ("signature", answer.signature, SIGNATURE_BYTES),
    ):
        if len(value) not in lengths:
            raise refusal(name, f"its {part} does not have the length of one")
    if answer.version != VERSION:
        raise FederationError(
            f"Site '{name}' runs version {printable(answer.version, 40)} of flower-pansvm, and the coordinator "
            f"{VERSION}. Install the same version on both sides, and start a new run."
        )
    if not DIGEST.fullmatch(answer.schema):
        raise refusal(name, "the digest of its schema file is none")
    _check_texts(name, "columns", answer.columns, MOST_COLUMNS)
    _check_texts(name, "classes", answer.classes, MOST_CLASSES)
    return name


def _check_texts(name: str, part: str, texts: tuple[str, ...], most: int) -> None:
    if len(texts) > most:
        raise refusal(name, f"its {part} are not a list of at most {most} texts")
    if len(set(texts)) < len(texts):
        raise refusal(name, f"two of its {part} have the same name")
    for number, text in enumerate(texts, start=1):
        problem = name_problem(text)
        if problem:
            raise refusal(name, f"number {number} of its {part} has a name that {problem}")


def refusal(name: str, problem: str) -> FederationError:
    """Return the error that says which value of a site's answer is impossible, and what may be the cause."""
    return FederationError(
        f"Site '{name}' sent an impossible value: {problem}. Correct its table if it is that; or it runs another "
        "version of flower-pansvm, or a changed one."
    )


JOIN_SECONDS, LOOK_SECONDS = 120.0, 0.5
"""How long the coordinator waits for the sites to connect: a SuperNode may be started after the run; and the pause
between two looks."""


def join(
    federation: Federation, settings: Settings, classes: tuple[str, ...] = (), *, by_columns: bool = False
) -> Schema:
    """Wait for the sites, learn their names, keys, columns and classes, and tell them the common schema.

    Parameters
    ----------
    federation : Federation
        The sites.
    settings : Settings
        Settings of the run.
    classes : tuple of str
        The classes' names where they are public; no site then looks at its rows for them.
    by_columns : bool
        Whether sites may hold some of the columns only.

    Raises
    ------
    SettingError
        If the sites have read their tables by different schema files, or by another than the run's.
    FederationError
        If too few sites connect, two have the same name, or what a site says of itself cannot be.
    TableError
        If the sites' tables do not fit together.
    """
    _wait_for_sites(federation, settings)
    question = JoinQuestion(tuple(settings.positive_labels), classes, settings.dp, settings.test_epsilon > 0)
    answers = federation.collect_by_node(JOIN, question)
    by_name = _by_name(answers)
    federation.enrol({name: _contact(node, answers[node]) for name, node in by_name.items()})
    if len(by_name) == 2:
        log(INFO, "only two sites take part: each learns the other's sums by taking its own off the total")
    agreed = agreed_schema({name: answers[node].schema for name, node in by_name.items()}, settings.schema)
    check_rows_per_patient(settings.rows_per_patient, agreed)
    columns = {name: answers[node].columns for name, node in by_name.items()}
    named = {name: answers[node].classes for name, node in by_name.items()}
    tell(federation, class_differences(named))
    if by_columns:
        schema = schema_by_columns(columns, named, settings.positive_labels)
    else:
        absent_is_zero = [name for name, node in by_name.items() if answers[node].absent_is_zero]
        schema = common_schema(columns, named, settings.positive_labels, absent_is_zero)
    schema = replace(schema, table=agreed.text if agreed else "")
    federation.schema = schema
    federation.broadcast(
        SCHEMA,
        SchemaBroadcast(
            schema.columns,
            schema.classes,
            schema.positive_labels,
            settings.test_fraction,
            settings.folds,
            settings.seed,
        ),
    )
    return schema


def _contact(node: int, answer: JoinAnswer) -> Contact:
    return Contact(
        node,
        PublicKeys(answer.public_key, answer.published, answer.epochs, answer.signature),
        answer.columns,
        answer.classes,
        answer.simulated,
    )


def with_simulated_nodes(grid: Grid, settings: Settings) -> Settings:
    """Return the settings with as many sites as Flower simulates; of a study at hospitals they stay as they are."""
    if not is_simulation(grid):
        return settings
    # At the start it may know some of them only.
    nodes, before = len(list(grid.get_node_ids())), -1
    while nodes != settings.sites and (nodes != before or not nodes):
        time.sleep(NODES_SECONDS)
        nodes, before = len(list(grid.get_node_ids())), nodes
    if nodes == settings.sites:
        return settings
    log(
        WARNING,
        "Flower simulates %d nodes, and the setting 'sites' is %d: there are %d sites. For %d: "
        '--federation-config "num-supernodes=%d"',
        *(nodes, settings.sites, nodes, settings.sites, settings.sites),
    )
    if nodes < settings.min_sites:
        log(
            WARNING,
            "With so few, real sites could compute each other's numbers from a sum. These are nobody's.",
        )
    fewer = replace(settings, sites=nodes, min_sites=min(settings.min_sites, nodes))
    return given_by(settings.run_config, fewer)


def is_simulation(grid: Grid) -> bool:
    """Tell whether a grid is that of Flower's simulation, for which Flower has no public name."""
    return type(grid).__name__ == "InMemoryGrid"


def _wait_for_sites(federation: Federation, settings: Settings) -> None:
    begun, told = time.monotonic(), 1
    while len(nodes := sorted(federation.grid.get_node_ids())) < settings.sites:
        seconds, there = time.monotonic() - begun, ", ".join(f"node {node}" for node in nodes)
        of = f"{len(nodes)} of {settings.sites} sites are connected{there and f' ({there})'}"
        if seconds >= JOIN_SECONDS:
            raise FederationError(
                f"{of} after {JOIN_SECONDS:g} s. Start the missing SuperNodes, or set 'sites' to the number of "
                "hospitals that take part."
            )
        if seconds > told * PATIENCE_SECONDS:
            log(INFO, "%s after %.0f s", of, seconds)
            told += 1
        time.sleep(LOOK_SECONDS)
    if len(nodes) < settings.min_sites:
        raise FederationError(
            f"Only {len(nodes)} sites take part and min-sites is {settings.min_sites}: with so few, a site could "
            "work out another's numbers from the sum. Find more sites, or accept it with min-sites=2."
        )


def _by_name(answers: Mapping[int, JoinAnswer]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    for node, answer in answers.items():
        name = check_join(answer, node)
        if name in by_name:
            raise FederationError(
                f"Two sites are called '{name}'. Give each SuperNode a name of its own: --node-config 'name=\"…\"'."
            )
        by_name[name] = node
    return by_name

"""The join of the sites: their replies are checked before they are used or shown."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace

from flwr.serverapp import Grid

from flower_pansvm.errors import FederationError
from flower_pansvm.labels import MOST_COLUMNS, name_problem
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum.keys import KEY_BYTES
from flower_pansvm.site_names import MOST_NAME, is_site_name
from flower_pansvm.summing import EPOCH_BYTES, PublicKeys
from flower_pansvm.systems.common import JOIN, SCHEMA, JoinAnswer, JoinQuestion, SchemaBroadcast
from flower_pansvm.version import VERSION
from strategies.federation.exchange import PATIENCE_SECONDS
from strategies.federation.federation import Federation
from strategies.federation.messages import MOST_PUBLISHED_BYTES, SIGNATURE_BYTES, Contact
from strategies.settings import Settings, given_by
from strategies.steps.column_blocks import schema_by_columns
from strategies.steps.schema import agreed_schema, check_rows_per_patient, common_schema
from strategies.steps.site_differences import class_differences, note_differences

NODES_SECONDS = 0.2
"""Pause between two polls of Flower's simulated nodes."""

MOST_CLASSES = 1000
DIGEST = re.compile(r"(?:[0-9a-f]{32})?")


def check_join(answer: JoinAnswer, node: int) -> str:
    """Check a site's reply to the join request and return its name.

    Raises
    ------
    FederationError
        If a field is invalid. The text names the site, by its node id if its name is invalid.
    """
    name = answer.name
    if not is_site_name(name):
        raise FederationError(
            f"The site at node {node} has an invalid site name: at most {MOST_NAME} characters, none of "
            "them a slash, a backslash or a control character, and no blanks around them. Write name='…' into its node "
            "config."
        )
    for field, value, lengths in (
        ("public key", answer.public_key, (KEY_BYTES,)),
        ("published", answer.published, range(MOST_PUBLISHED_BYTES + 1)),
        ("epochs", answer.epochs, range(0, MOST_PUBLISHED_BYTES, EPOCH_BYTES)),
        ("signature", answer.signature, SIGNATURE_BYTES),
    ):
        if len(value) not in lengths:
            raise refusal(name, f"its {field} has an invalid length")
    if answer.version != VERSION:
        raise FederationError(
            f"Site '{name}' runs version {printable(answer.version, 40)} of flower-pansvm, and the coordinator "
            f"{VERSION}. Install the same version on both sides, and start a new run."
        )
    if not DIGEST.fullmatch(answer.schema):
        raise refusal(name, "the digest of its schema file is invalid")
    _check_texts(name, "columns", answer.columns, MOST_COLUMNS)
    _check_texts(name, "classes", answer.classes, MOST_CLASSES)
    return name


def _check_texts(name: str, field: str, texts: tuple[str, ...], limit: int) -> None:
    if len(texts) > limit:
        raise refusal(name, f"its {field} are not a list of at most {limit} texts")
    if len(set(texts)) < len(texts):
        raise refusal(name, f"two of its {field} have the same name")
    for i, text in enumerate(texts, start=1):
        problem = name_problem(text)
        if problem:
            raise refusal(name, f"number {i} of its {field} has a name that {problem}")


def refusal(name: str, problem: str) -> FederationError:
    """Return the error of an impossible value in a site's reply, with its likely cause."""
    return FederationError(
        f"Site '{name}' sent an impossible value: {problem}. Correct its table if the value is from there; otherwise "
        "the site runs another version of flower-pansvm, or a changed one."
    )


JOIN_SECONDS, LOOK_SECONDS = 120.0, 0.5
"""Time in which the sites must connect (a SuperNode may start after the run), and pause between two polls."""


def join(
    federation: Federation, settings: Settings, classes: tuple[str, ...] = (), *, by_columns: bool = False
) -> Schema:
    """Wait for the sites, collect their names, keys, columns and classes, and broadcast the common schema.

    Parameters
    ----------
    classes : tuple of str
        The classes' names if they are public; then no site derives them from its rows.
    by_columns : bool
        Whether sites may hold different columns.

    Raises
    ------
    SettingError
        If the sites' schema files differ, or differ from the run's.
    FederationError
        If too few sites connect, two have the same name, or a reply is invalid.
    TableError
        If the sites' tables do not have a common schema.
    """
    _wait_for_sites(federation, settings)
    question = JoinQuestion(tuple(settings.positive_labels), classes, settings.dp, settings.test_epsilon > 0)
    by_node = federation.collect_by_node(JOIN, question)
    nodes = _nodes_by_name(by_node)
    answers = {name: by_node[node] for name, node in nodes.items()}
    contacts = {}
    for name, answer in answers.items():
        keys = PublicKeys(answer.public_key, answer.published, answer.epochs, answer.signature)
        contacts[name] = Contact(nodes[name], keys, answer.columns, answer.classes, answer.simulated)
    federation.enrol(contacts)
    if len(answers) > settings.sites:
        logger.info("%d sites take part, as so many are connected", len(answers))
    if len(answers) == 2:
        logger.info(
            "only two sites take part: each learns the other's sums by subtracting its own from the total"
        )
    agreed = agreed_schema({name: answer.schema for name, answer in answers.items()}, settings.schema)
    check_rows_per_patient(settings.rows_per_patient, agreed)
    columns = {name: answer.columns for name, answer in answers.items()}
    site_classes = {name: answer.classes for name, answer in answers.items()}
    note_differences(federation, class_differences(site_classes))
    if by_columns:
        schema = schema_by_columns(columns, site_classes, settings.positive_labels)
    else:
        absent_is_zero = [name for name, answer in answers.items() if answer.absent_is_zero]
        schema = common_schema(columns, site_classes, settings.positive_labels, absent_is_zero)
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


def with_simulated_nodes(grid: Grid, settings: Settings) -> Settings:
    """Return the settings with the number of sites that Flower simulates; in a deployment, the settings unchanged."""
    if not is_simulation(grid):
        return settings
    # At the start Flower may not list all nodes.
    nodes, previous = len(list(grid.get_node_ids())), -1
    while nodes != settings.sites and (nodes != previous or not nodes):
        time.sleep(NODES_SECONDS)
        nodes, previous = len(list(grid.get_node_ids())), nodes
    if nodes == settings.sites:
        return settings
    logger.warning(
        "Flower simulates %d nodes, and the setting 'sites' is %d: the run has %d sites. For %d: "
        '--federation-config "num-supernodes=%d"',
        *(nodes, settings.sites, nodes, settings.sites, settings.sites),
    )
    if nodes < settings.min_sites:
        logger.warning("With so few sites, real ones could compute each other's numbers from a sum.")
    fewer = replace(settings, sites=nodes, min_sites=min(settings.min_sites, nodes))
    return given_by(settings.run_config, fewer)


def is_simulation(grid: Grid) -> bool:
    """Return whether a grid is Flower's simulation, whose class Flower does not export."""
    return type(grid).__name__ == "InMemoryGrid"


def _wait_for_sites(federation: Federation, settings: Settings) -> None:
    begun, reports = time.monotonic(), 1
    while len(nodes := sorted(federation.grid.get_node_ids())) < settings.sites:
        seconds, connected = time.monotonic() - begun, ", ".join(f"node {node}" for node in nodes)
        status = f"{len(nodes)} of {settings.sites} sites are connected{connected and f' ({connected})'}"
        if seconds >= JOIN_SECONDS:
            raise FederationError(
                f"{status} after {JOIN_SECONDS:g} s. Start the missing SuperNodes, or set 'sites' to the number of "
                "hospitals that take part."
            )
        if seconds > reports * PATIENCE_SECONDS:
            logger.info("%s after %.0f s", status, seconds)
            reports += 1
        time.sleep(LOOK_SECONDS)
    if len(nodes) < settings.min_sites:
        raise FederationError(
            f"Only {len(nodes)} sites take part and min-sites is {settings.min_sites}: with so few, a site could "
            "work out another's numbers from the sum. Find more sites, or accept it with min-sites=2."
        )


def _nodes_by_name(answers: Mapping[int, JoinAnswer]) -> dict[str, int]:
    nodes: dict[str, int] = {}
    for node, answer in answers.items():
        name = check_join(answer, node)
        if name in nodes:
            raise FederationError(
                f"Two sites have the name '{name}'. Give each hospital another 'name' in its node config; in an app of "
                "your own each SuperNode another partition-id."
            )
        nodes[name] = node
    return nodes

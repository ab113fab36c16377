"""Waiting for the sites, and agreeing with them on columns and classes."""

import time
from collections.abc import Mapping
from dataclasses import replace
from logging import INFO

from flwr.common.logger import log

from flower_pansvm.errors import FederationError
from flower_pansvm.schema import Schema
from flower_pansvm.tasks.joining import JOIN, SCHEMA, JoinAnswer, JoinQuestion, SchemaBroadcast
from flower_pansvm.tasks.summing import PublicKeys
from strategies.federation.envelope import Contact
from strategies.federation.federation import Federation
from strategies.settings import Settings
from strategies.steps.agreed_schema import agreed_schema
from strategies.steps.column_blocks import schema_by_columns
from strategies.steps.common_schema import common_schema
from strategies.steps.join_replies import check_join
from strategies.steps.site_differences import class_differences, tell

JOIN_SECONDS = 120.0
"""How long the coordinator waits for the sites to connect; a SuperNode may be started after the run."""


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
    answers = federation.collect(JOIN, question)
    by_name = _by_name(answers)
    federation.enrol({name: _contact(node, answers[node]) for name, node in by_name.items()})
    if len(by_name) == 2:
        log(INFO, "only two sites take part: each learns the other's sums by taking its own off the total")
    agreed = agreed_schema({name: answers[node].schema for name, node in by_name.items()}, settings.schema)
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
        answer.version,
        answer.columns,
        answer.classes,
        answer.simulated,
    )


def _wait_for_sites(federation: Federation, settings: Settings) -> None:
    deadline = time.monotonic() + JOIN_SECONDS
    connected = len(list(federation.grid.get_node_ids()))
    while connected < settings.sites and time.monotonic() < deadline:
        time.sleep(0.5)
        connected = len(list(federation.grid.get_node_ids()))
    if connected < settings.sites:
        raise FederationError(
            f"{connected} of {settings.sites} sites are connected after {JOIN_SECONDS:g} s. Start the missing "
            "SuperNodes, or set 'sites' to the number of hospitals that take part."
        )
    if connected < settings.min_sites:
        raise FederationError(
            f"Only {connected} sites take part and min-sites is {settings.min_sites}: with so few, a site could "
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

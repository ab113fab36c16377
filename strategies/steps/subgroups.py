"""How good a model is for subgroups of patients: counts of test records by group, in one secure sum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.log import logger
from flower_pansvm.systems.evaluation import SUBGROUPS, SubgroupsQuestion
from flower_pansvm.table_schema import YES_NO, TableColumn, TableSchema
from strategies.federation.checks import AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.steps.scoring import not_by_patient

REST = "missing, or too few at a hospital"
"""The last group."""

SITE = "site"

UNKNOWN = "how good the model is for subgroups is not known: %s"


@dataclass(frozen=True)
class Groups:
    """Groups of patients by a column, or by site: their names, the column's features, and where groups begin."""

    column: str
    names: tuple[str, ...]
    features: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()
    sites: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, Any]:
        """What a question says of them (:class:`flower_pansvm.tested.TestedQuestion`)."""
        return {"features": self.features, "cuts": np.array(self.cuts), "sites": self.sites}


def groups_by(
    by: str, features: Sequence[str], described: Sequence[TableColumn], sites: Sequence[str] = ()
) -> Groups:
    """Return the groups that ``by`` names: ``sex``, of a category or yes/no column, ``age:50,70`` of numbers, ``site``.

    Parameters
    ----------
    by : str
        The setting.
    features : sequence of str
        Columns of numbers of a run.
    described : sequence of TableColumn
        Columns of the schema file.
    sites : sequence of str
        Names of the sites. A column that is called ``site`` goes before them.

    Raises
    ------
    SettingError
        If there is no such column, or it has no groups, or the cuts are not increasing numbers.
    """
    by_name = {c.name: c for c in described}
    whole = by in by_name or by in features or ":" not in by
    column, _, text = (by, "", "") if whole else by.rpartition(":")
    known = by_name.get(column)
    if known is not None and known.categories and not text:
        return Groups(column, (*known.categories, REST), known.features)
    of = next((c.name for c in described if c.categories and column in (c.name, *c.features)), "")
    if of:
        raise SettingError(f"by is '{by}', and '{of}' is a category: its groups are its own. Write by={of}.")
    if by == SITE and column not in features:
        return Groups(SITE, (*sites, REST), sites=tuple(sites))
    if column not in features:
        raise SettingError(
            f"by names the column '{column}', and the tables have none of this name that is a number, a category or "
            "yes/no. Correct the name, or write by=site; before a colon stands the column, behind it where groups "
            "begin: by=age:50,70."
        )
    if known is not None and known.kind == YES_NO and not text:
        return Groups(column, ("no", "yes", REST), (column,), (0.5,))
    try:
        cuts = tuple(float(cut) for cut in text.split(","))
    except ValueError:
        cuts = ()
    if not cuts or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise SettingError(
            f"by is '{by}': of a column of numbers it has to say where groups begin, increasing: by={column}:50,70, or "
            f"of 0 and 1 by={column}:1. Categories and yes/no columns of the schema file need none."
        )
    names = [f"below {cuts[0]:g}"]
    names += [f"{low:g} to below {high:g}" for low, high in pairwise(cuts)]
    return Groups(column, (*names, f"{cuts[-1]:g} or more", REST), (column,), cuts)


def groups_of_run(federation: Federation) -> Groups | None:
    """Return the groups that a run asks for; None, with a warning if there are no such, without."""
    by, schema = federation.settings.by, federation.schema
    if not by or schema is None:
        return None
    described = TableSchema.from_json(schema.table).columns if schema.table else ()
    try:
        return groups_by(by, schema.columns, described, list(federation.sites))
    except SettingError as error:
        logger.warning(UNKNOWN, error)
        return None


def by_subgroups(federation: Federation, outcome: Outcome) -> Outcome:
    """Return the outcome with a model's counts by subgroup; without them, and with a warning, where a site refuses."""
    model, groups = outcome.model, groups_of_run(federation)
    if model is None or groups is None:
        return outcome
    try:
        question = SubgroupsQuestion(np.frombuffer(model.to_bytes(), dtype=np.uint8), **groups.asked)
        with federation.costs.phase("subgroups"):
            counted = federation.secure_sum(SUBGROUPS, question, relations=wrong_counts)
    except PanSVMError as error:
        logger.warning(UNKNOWN, error)
        return outcome
    entries = [
        {
            "name": name,
            "confusion": confusion.astype(int).tolist(),
            "patient_products": products.astype(int).tolist(),
        }
        for name, confusion, products in zip(groups.names, counted.confusion, counted.products, strict=True)
    ]
    subgroups = {"column": groups.column, "groups": entries}
    return replace(outcome, figures={**outcome.figures, "subgroups": subgroups})


def wrong_counts(result: AggregateResult) -> Problems:
    """Yield the errors of counts: no more records are in groups than there are to test, and all are patients'."""
    known, products = result.request.rows, result.sums["products"]
    if known is not None and np.sum(result.sums["confusion"]) > known.test:
        yield "'confusion' has more test rows than the sites have counted"
    by_class = result.sums["confusion"].sum(axis=2)
    if products.any() and any(map(not_by_patient, by_class, products)):
        yield "'products' are no sums of products of the counts by patient"

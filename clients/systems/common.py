"""What every system asks of a site: joining, and moments and extremes for scaling."""

import secrets

import numpy as np

from clients.classes import disclosed_classes
from clients.ledger.epochs import enter_run
from clients.membership import join_run
from clients.rows import link_own_table
from clients.seeds import SLOTS, deal_seed
from clients.site import Site
from clients.systems import answers
from clients.table.source import schema_of
from flower_pansvm import scaling
from flower_pansvm.arrays import Bools, Floats, blocks
from flower_pansvm.errors import NOT_FOLLOWED, SettingError, TableError
from flower_pansvm.systems import common as tasks
from flower_pansvm.systems.common import JOIN, NO_FOLD, JoinAnswer, JoinQuestion
from flower_pansvm.tasks import Nothing
from flower_pansvm.version import VERSION


@answers(JOIN)
def join(site: Site, question: JoinQuestion) -> JoinAnswer:
    """Read the table, make the keys of this run, and say what the columns and classes are called."""
    simulated = site.simulated
    link_own_table(site)
    table, classes = site.table(), classes_to_tell(site, question)
    epochs = enter_run(site) if question.charged and not simulated else b""
    keys, schema = join_run(site, epochs), schema_of(site)
    return JoinAnswer(
        name=site.name,
        version=VERSION,
        simulated=simulated,
        **vars(keys),
        columns=table.columns,
        absent_is_zero=table.absent_is_zero,
        classes=classes,
        schema=schema.digest if schema else "",
    )


def classes_to_tell(site: Site, question: JoinQuestion) -> tuple[str, ...]:
    """Return the classes that a site names on joining; TableError if its table cannot take part in such a run."""
    if site.table().absent_is_zero and question.charged and not site.simulated:
        raise TableError(
            f"Site '{site.name}' has a table of LIBSVM text, whose rows say how many columns there are, and a private "
            "run does not tell that. Write the table as CSV or Parquet."
        )
    named = question.classes or disclosed_classes(site, site.labels(), question.positive_labels)
    return tuple(map(str, named))


@answers(tasks.MOMENTS)
def moments(site: Site, question: Nothing) -> tasks.MomentsAnswer:  # noqa: ARG001
    """Add to the federated mean and variance; the first site also deals out the seed of the landmark slots."""
    if site.participation is not None:
        deal_seed(site, SLOTS, secrets.token_bytes(32), site.participation.this.roster)
    X, folds = site.train().X, _folds(site)
    sums = {part: np.zeros((len(folds), X.shape[1])) for part in ("count", "total", "square")}
    for block in blocks(len(X)):
        for fold, rows in enumerate(folds):
            for part, values in scaling.moments(X[block][rows[block]]).items():
                sums[part][fold] += values
    test_rows = np.array([float(len(site.test().classes))])
    return tasks.MomentsAnswer(_class_rows(site), test_rows, **sums)


@answers(tasks.ROWS)
def rows(site: Site, question: Nothing) -> tasks.RowsAnswer:  # noqa: ARG001
    """Count the site's training rows by fold and class."""
    return tasks.RowsAnswer(_class_rows(site))


@answers(tasks.EXTREMES)
def extremes(site: Site, question: Nothing) -> tasks.ExtremesAnswer:  # noqa: ARG001
    """Disclose the smallest and largest cell of each feature in each fold; infinite where all cells are missing."""
    if site.terms.scaling != "minmax":
        raise SettingError(
            f"Site '{site.name}' does not disclose the extremes of its columns: the run's scaling does not need them. "
            f"{NOT_FOLLOWED}"
        )
    X, folds = site.train().X, _folds(site)
    low, high = np.full((2, len(folds), X.shape[1]), [[[np.inf]], [[-np.inf]]])
    for block in blocks(len(X)):
        for fold, rows in enumerate(folds):
            own = X[block][rows[block]]
            # Unlike min and max, these pass over missing cells.
            low[fold] = np.fmin(low[fold], np.fmin.reduce(own, axis=0, initial=np.inf))
            high[fold] = np.fmax(high[fold], np.fmax.reduce(own, axis=0, initial=-np.inf))
    return tasks.ExtremesAnswer(low, high)


def _folds(site: Site) -> list[Bools]:
    """Return which training rows are in each fold; all of them in the one fold of a run without folds."""
    numbers = site.folds()
    return [numbers == fold for fold in range(numbers.max(initial=NO_FOLD) + 1)] or [numbers == NO_FOLD]


def _class_rows(site: Site) -> Floats:
    """Return the number of training rows by fold and class, shape (folds, classes)."""
    classes, count = site.train().classes, len(site.schema().classes)
    return np.stack([np.bincount(classes[rows], minlength=count) for rows in _folds(site)]).astype(np.float64)

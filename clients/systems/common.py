"""The join of a run."""

from clients.classes import allowed_classes
from clients.ledger.epochs import enter_run
from clients.membership import join_run
from clients.rows import true_table
from clients.site import Site
from clients.systems import answers
from clients.table.source import schema_of
from flower_pansvm.errors import TableError
from flower_pansvm.systems.common import JOIN, JoinAnswer, JoinQuestion
from flower_pansvm.version import VERSION


@answers(JOIN)
def join(site: Site, question: JoinQuestion) -> JoinAnswer:
    """Read the table, make the keys of this run, and return the names of columns and classes."""
    from clients.ledger.tables import link_own_table  # noqa: PLC0415 - once a run

    table = true_table(site)
    link_own_table(site, table, joins=False)
    classes = classes_on_joining(site, question)
    epochs = enter_run(site) if question.charged and not site.simulated else b""
    keys, schema = join_run(site, epochs), schema_of(site)
    return JoinAnswer(
        name=site.name,
        version=VERSION,
        simulated=site.simulated,
        **vars(keys),
        columns=table.columns,
        absent_is_zero=table.absent_is_zero,
        classes=classes,
        schema=schema.digest if schema else "",
    )


def classes_on_joining(site: Site, question: JoinQuestion) -> tuple[str, ...]:
    """Return the classes that a site names on joining; TableError if its table cannot take part in such a run."""
    table = true_table(site)
    if table.absent_is_zero and question.charged and not site.simulated:
        raise TableError(
            f"Site '{site.name}' has a table of LIBSVM text, whose rows determine the number of columns, and a private "
            "run must not reveal it. Write the table as CSV or Parquet."
        )
    if site.level == "perturbed" and not site.simulated:
        from clients.perturb import check_copy  # noqa: PLC0415 - loaded only at level perturbed

        check_copy(site, table)
    if question.classes:
        return question.classes
    from clients.labels_told import disclosed_classes  # noqa: PLC0415 - mostly all hospitals name them in a schema file

    # What is listed is public; else a copy begins with what it tells of labels.
    shown = site.table() if site.level == "perturbed" and not allowed_classes(site) else table
    return tuple(map(str, disclosed_classes(site, shown, question.positive_labels)))

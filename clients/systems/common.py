"""The join of a run."""

from clients.ledger.epochs import enter_run
from clients.membership import join_run
from clients.rows import link_own_table
from clients.site import Site
from clients.systems import answers
from clients.table.source import schema_of
from flower_pansvm.errors import TableError
from flower_pansvm.systems.common import JOIN, JoinAnswer, JoinQuestion
from flower_pansvm.version import VERSION


@answers(JOIN)
def join(site: Site, question: JoinQuestion) -> JoinAnswer:
    """Read the table, make the keys of this run, and return the names of columns and classes."""
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
            f"Site '{site.name}' has a table of LIBSVM text, whose rows determine the number of columns, and a private "
            "run must not reveal it. Write the table as CSV or Parquet."
        )
    if question.classes:
        return question.classes
    from clients.labels_told import disclosed_classes  # noqa: PLC0415 - mostly all hospitals name them in a schema file

    return tuple(map(str, disclosed_classes(site, site.table(), question.positive_labels)))

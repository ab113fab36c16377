"""The site's part in joining a run."""

from clients.gate.answering import answers
from clients.gate.classes import disclosed_classes
from clients.gate.epochs import enter_run
from clients.gate.membership import join_run
from clients.gate.simulated import is_simulated
from clients.site import Site
from clients.table.schema_file import schema_of
from flower_pansvm.errors import TableError
from flower_pansvm.tasks.joining import JOIN, JoinAnswer, JoinQuestion
from flower_pansvm.version import VERSION


@answers(JOIN)
def join(site: Site, question: JoinQuestion) -> JoinAnswer:
    """Read the table, make the keys of this run, and say what the columns and classes are called."""
    simulated = is_simulated(site.context)
    site.link_table()
    table, classes = site.table(), classes_to_tell(site, question)
    epochs = enter_run(site.context) if question.charged and not simulated else b""
    keys, schema = join_run(site.context, epochs), schema_of(site.context)
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
    if site.table().absent_is_zero and question.charged and not is_simulated(site.context):
        raise TableError(
            f"Site '{site.name}' has a table of LIBSVM text, whose rows say how many columns there are, and a private "
            "run does not tell that. Write the table as CSV or Parquet."
        )
    named = question.classes or disclosed_classes(site.context, site.labels(), question.positive_labels)
    return tuple(map(str, named))

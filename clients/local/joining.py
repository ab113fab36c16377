"""The site's part in joining a run."""

from clients.gate.answering import answers
from clients.gate.blur import SECRET, secret_of
from clients.gate.classes import disclosed_classes
from clients.gate.membership import join_run
from clients.site import Site
from flower_pansvm.tasks.joining import JOIN, JoinAnswer, JoinQuestion
from flower_pansvm.version import VERSION


@answers(JOIN)
def join(site: Site, question: JoinQuestion) -> JoinAnswer:
    """Read the table, make the keys of this run, and say what the columns and classes are called."""
    classes = disclosed_classes(site.context, site.labels(), question.positive_labels)
    keys = join_run(site.context)
    site.first(SECRET, secret_of(site))
    return JoinAnswer(
        name=site.name,
        version=VERSION,
        **vars(keys),
        columns=site.table().columns,
        absent_is_zero=site.table().absent_is_zero,
        classes=tuple(map(str, classes)),
    )

"""Which class the patients of each class were taken for."""

from simulations.report.section import Result, Section, render

MOST_CLASSES = 8
"""Classes up to which every number has a cell of a table; above, a table has the most frequent mistakes."""

MOST_MISTAKES = 10
"""Mistakes that are listed where there are many classes."""

TABLE = """\
<p>Each line is what patients have, each column what the model says. What is right is green and bold.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Counts by true and predicted class"><table class="counts">
<thead><tr><th scope="col">the patient has</th>
{% for name in classes %}<th scope="col" class="n">the model says {{ quoted(name) }}</th>{% endfor %}</tr></thead>
<tbody>{% for name in classes %}{% set line = loop.index0 %}<tr><th scope="row">{{ name }}</th>
{% for number in counts[line] %}<td class="n {{ 'hit' if loop.index0 == line else 'miss' if number >= 0.5 else '' }}">
{{ "%d" | format(number | round) }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>"""

LIST = """\
<p>{{ mistakes | length }} kinds of mistake were made{% if mistakes | length > most %};
the most frequent are{% elif mistakes %}:{% else %}.{% endif %}</p>
{% if mistakes %}<table><thead><tr><th scope="col">patients</th><th scope="col">have</th><th scope="col">and the model says</th></tr></thead>
<tbody>{% for number, name, said in mistakes[:most] %}<tr><td class="n">{{ "%d" | format(number) }}</td><td>{{ quoted(name) }}</td>
<td>{{ quoted(said) }}</td></tr>
{% endfor %}</tbody></table>{% endif %}"""


@Section(
    "mistakes",
    "Which patients it gets wrong",
    place=30,
    figures=("confusion", "classes"),
    for_clinicians=True,
)
def html(result: Result) -> str:
    """Return the table."""
    classes, counts = result["classes"], result["confusion"]
    if len(classes) <= MOST_CLASSES:
        return render(TABLE, classes=classes, counts=counts)
    mistakes = [
        (number, name, said)
        for name, line in zip(classes, counts, strict=True)
        for said, number in zip(classes, line, strict=True)
        if name != said and number > 0
    ]
    mistakes.sort(key=lambda mistake: -mistake[0])
    return render(LIST, mistakes=mistakes, most=MOST_MISTAKES)

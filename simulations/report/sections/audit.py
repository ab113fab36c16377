"""What ``pansvm run --audit`` has found."""

from simulations.report.section import Result, Section, render
from simulations.systems.system import sentences

TEMPLATE = """\
<table>{% for sentence in sentences %}<tr><th colspan="2">{{ sentence }}</th></tr>
{% endfor %}{% if audit.determined is not none %}<tr><th>of {{ rows }} training rows, determined by exact Hessians to 10 % of a
deviation</th><td class="n">{{ audit.determined }}</td></tr>
{% endif %}{% for name, count in audit.numbers.items() if audit.unknown %}<tr><th>numbers received, {{ name }}, for each of {{ audit.unknown }} unknown cells</th>
<td class="n">{{ "%.2f" | format(count / audit.unknown) }}</td></tr>
{% endfor %}{% if audit.not_examined %}<tr><th>tasks whose results were not examined</th>
<td>{{ audit.not_examined | join(", ") }}</td></tr>
{% endif %}</table>
<p>Where more numbers than cells were received, somebody could fit rows to them: <code>--audit=attack</code> tries it.</p>"""


@Section("audit", "What a curious coordinator could find", place=60, figures=("audit",))
def html(result: Result) -> str:
    """Return the findings."""
    audit = result["audit"]
    return render(TEMPLATE, audit=audit, rows=result["rows_train"], sentences=sentences(audit))

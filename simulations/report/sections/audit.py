"""What ``pansvm run --audit`` has found."""

from simulations.audit.audit import sentences, sums_of
from simulations.report.section import SECTIONS, Result, Section, render

TEMPLATE = """\
{% if audit.isolated_by_pairs is none %}<p>No sum of this run was looked at: nobody knows whether they leave single
training rows alone.</p>
{% else %}<p>Had the coordinator subtracted from one another the sums it received ({{ sums }}), single training rows, as the
feature map shows them, would have been left alone: this many of {{ rows }}. Combinations of more than four sums were not
looked at, so that 0 does not mean that nobody can be found.</p>
{% endif %}<table>
{% if audit.isolated_by_pairs is not none %}<tr><th>rows that the difference of two sums gives away</th>
<td class="n">{{ audit.isolated_by_pairs }}</td></tr>
<tr><th>rows that the difference of two differences gives away{% if audit.looked_at_by_quads < total %}
(of {{ audit.looked_at_by_quads }} sums){% endif %}</th><td class="n">{{ audit.isolated_by_quads }}</td></tr>
{% endif %}{% for sentence in sentences %}<tr><th colspan="2">{{ sentence }}</th></tr>
{% endfor %}{% for name, count in audit.numbers.items() if audit.unknown %}<tr><th>numbers received, {{ name }}, for each of {{ audit.unknown }} unknown cells</th>
<td class="n">{{ "%.2f" | format(count / audit.unknown) }}</td></tr>
{% endfor %}{% if audit.not_examined %}<tr><th>tasks whose results were not examined</th>
<td>{{ audit.not_examined | join(", ") }}</td></tr>
{% endif %}</table>
<p>Where more numbers than cells were received, somebody could fit rows to them: <code>--audit=attack</code> tries it.</p>"""


@SECTIONS.register("audit")
class AuditSection(Section):
    """Rows that sums leave alone, what each phase says, and what nobody has looked at."""

    title = "What a curious coordinator could find"
    place = 60
    figures = ("audit",)

    def html(self, result: Result) -> str:
        """Return the findings."""
        audit = result["audit"]
        sums = sums_of(audit)
        return render(
            TEMPLATE,
            audit=audit,
            sums=", ".join(f"{count} {kind}" for kind, count in sums.items()),
            total=sum(sums.values()),
            rows=result["rows_train"],
            sentences=sentences(audit),
        )

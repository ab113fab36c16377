"""All that left the sites, and how."""

from simulations.report.section import SECTIONS, Result, Section, render

TEMPLATE = """\
<p>A <em>summed</em> result left the site only as its share of a secure sum, a <em>noised</em> one so and with the site's
secret noise in it, a <em>private</em> one so and with noise for differential privacy; a <em>disclosed</em> one as it is.</p>
<table>
<tr><th>task</th><th>result</th><th>how</th><th>values per site</th><th>times</th></tr>
{% for entry in disclosed %}<tr><td>{{ entry.task }}</td><td>{{ entry.result }}</td><td>{{ entry.how }}</td>
<td class="n">{{ entry.numbers_per_site }}</td><td class="n">{{ entry.times }}</td></tr>
{% endfor %}</table>"""


@SECTIONS.register("departures")
class DeparturesSection(Section):
    """Each result of each task, whether it was summed, noised, private or disclosed, and how many numbers it had."""

    title = "What left each site"
    place = 70
    figures = ("disclosed",)

    def html(self, result: Result) -> str:
        """Return the table."""
        return render(TEMPLATE, disclosed=result["disclosed"])

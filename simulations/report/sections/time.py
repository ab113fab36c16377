"""How long each phase took."""

from simulations.report.section import SECTIONS, Result, Section, render

TEMPLATE = """\
<table>{% for phase, seconds in seconds.items() %}<tr><th>{{ phase }}</th><td class="n">{{ "%.2f" | format(seconds) }} s</td></tr>
{% endfor %}</table>"""


@SECTIONS.register("time")
class TimeSection(Section):
    """Seconds of each phase."""

    title = "Time"
    place = 80
    figures = ("seconds",)

    def html(self, result: Result) -> str:
        """Return the table."""
        return render(TEMPLATE, seconds=result["seconds"])

"""How long each phase took, and what was sent in it."""

from simulations.report.section import SECTIONS, Result, Section, render

TEMPLATE = """\
<div class="scroll" tabindex="0" role="region" aria-label="Time and bytes of each phase"><table>
<thead><tr><th scope="col">phase</th><th scope="col" class="n">seconds</th>{% if timed %}<th scope="col" class="n">of waiting</th>
<th scope="col" class="n">of our work</th>{% endif %}{% if counted %}<th scope="col" class="n">round trips</th>
<th scope="col" class="n">sent by all sites</th><th scope="col" class="n">sent to them</th>{% endif %}</tr></thead>
<tbody>{% for name, phase in phases.items() %}<tr><th scope="row">{{ name }}</th><td class="n">{{ "%.2f" | format(phase.seconds) }} s</td>
{% if timed %}<td class="n">{{ "%.2f" | format(phase.waiting) }} s</td><td class="n">{{ "%.2f" | format(phase.work) }} s</td>{% endif %}
{% if counted %}<td class="n">{{ phase.round_trips }}</td><td class="n">{{ "%.2f" | format(phase.bytes_up / 1e6) }} MB</td>
<td class="n">{{ "%.2f" | format(phase.bytes_down / 1e6) }} MB</td>{% endif %}</tr>
{% endfor %}</tbody></table></div>
<p class="note">Seconds are those of the coordinator’s clock.{% if timed %} Waiting is from a question to the last answer: the sites’ work, the network and
Flower. Our work is the processor time of the coordinator besides.{% else %} Waiting for the sites is in them.{% endif %}</p>"""


@SECTIONS.register("time")
class TimeSection(Section):
    """Seconds, waiting, work, round trips and bytes of each phase; of older runs what they have."""

    title = "Time"
    place = 80
    figures = ("seconds",)

    def html(self, result: Result) -> str:
        """Return the table."""
        phases = result.get("phases")
        seconds = {name: {"seconds": spent} for name, spent in result["seconds"].items()}
        timed = phases is not None and all("waiting" in phase for phase in phases.values())
        return render(TEMPLATE, phases=phases or seconds, counted=phases is not None, timed=timed)

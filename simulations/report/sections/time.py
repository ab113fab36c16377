"""How long each phase took, and what was sent in it."""

from simulations.report.section import Result, Section, render

TEMPLATE = """\
<div class="scroll" tabindex="0" role="region" aria-label="Time and bytes of each phase"><table>
<thead><tr><th scope="col">phase</th><th scope="col" class="n">seconds</th><th scope="col" class="n">of waiting</th>
<th scope="col" class="n">of our work</th><th scope="col" class="n">round trips</th>
<th scope="col" class="n">sent by all sites</th><th scope="col" class="n">sent to them</th></tr></thead>
<tbody>{% for name, phase in phases.items() %}<tr><th scope="row">{{ name }}</th><td class="n">{{ "%.2f" | format(phase.seconds) }} s</td>
<td class="n">{{ "%.2f" | format(phase.waiting) }} s</td><td class="n">{{ "%.2f" | format(phase.work) }} s</td>
<td class="n">{{ phase.round_trips }}</td><td class="n">{{ "%.2f" | format(phase.bytes_up / 1e6) }} MB</td>
<td class="n">{{ "%.2f" | format(phase.bytes_down / 1e6) }} MB</td></tr>
{% endfor %}</tbody></table></div>
<p class="note">Seconds are those of the coordinator’s clock. Waiting is from a question to the last answer: the sites’ work, the network and
Flower. Our work is the processor time of the coordinator besides.</p>"""


@Section("time", "Time", place=80, figures=("phases",))
def html(result: Result) -> str:
    """Return the table."""
    return render(TEMPLATE, phases=result["phases"])

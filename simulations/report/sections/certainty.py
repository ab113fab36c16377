"""Calibration: how often the class is there when the model is so and so sure."""

from simulations.report.curves import bands_of
from simulations.report.plots import calibration_figure
from simulations.report.section import SECTIONS, Result, Section, quoted, render, svg
from simulations.report.shares import interval, percent
from strategies.settings import owners

TEMPLATE = """\
{% if given %}<p>The model gives each patient a probability of {{ name }}. Of patients with about the same probability, as many
should have it as it says. Where the interval does not hold the probability, do not trust the number.</p>
{% else %}<p>This model gives no probabilities, only values whose order counts. Here are the patients in the order of
their values, and how many of each group have {{ name }}. The surer the model, the nearer to 0% or 100% it should be.
{% if able %}<code>--probability true</code> makes a model with probabilities.{% endif %}</p>
{% endif %}<div class="scroll" tabindex="0" role="region" aria-label="How many of each group have the class"><table>
<thead><tr><th scope="col" class="n">patients</th>{% if given %}<th scope="col" class="n">the model says</th>{% else %}
<th scope="col">the model’s value</th>{% endif %}<th scope="col" class="n">have it</th><th scope="col">95% confidence interval</th></tr></thead>
<tbody>{% for band in bands %}<tr><td class="n">{{ band.rows }}</td>
{% if given %}<td class="n">{{ percent(band.probability) }}</td>{% else %}
<td>{{ "smallest" if loop.first else "largest" if loop.last else "" }}</td>{% endif %}
<td class="n">{{ percent(band.share.value) }}</td><td>{{ interval(band.share) }}</td></tr>
{% endfor %}</tbody></table></div>
{{ plot | safe }}
<p class="note">Made from the same counts as the curve above. {% if given %}The probability of a group is the mean over
its patients, each taken for the middle of its bin.{% endif %}</p>"""


@SECTIONS.register("certainty")
class CertaintySection(Section):
    """Groups of patients by decision value; with probabilities a plot."""

    title = "How far to trust its certainty"
    place = 50
    for_clinicians = True
    figures = ("decision_groups", "classes")

    def html(self, result: Result) -> str:
        """Return table and plot."""
        if len(result["classes"]) != 2:
            text = (
                "<p>With more than two classes the probabilities of a patient are made to add up to 1. The counts of "
                "one class at a time, which are all that leaves the sites, cannot show whether these hold.</p>"
            )
            return text
        bands = bands_of(result["decision_groups"][0])
        given = all(band.probability is not None for band in bands)
        says = "Share of patients that have the class, against the probability that the model gives; as in the table."
        plot = svg(calibration_figure(bands), says) if given else ""
        name = quoted(result["classes"][1])
        return render(
            TEMPLATE,
            able=result["strategy"] in owners("probability"),
            bands=bands,
            given=given,
            plot=plot,
            name=name,
            percent=percent,
            interval=interval,
        )

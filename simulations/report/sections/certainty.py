"""Calibration: how often the class is there when the model is so and so sure."""

from simulations.report.curves import bands_of
from simulations.report.plots import calibration_figure
from simulations.report.section import Result, Section, quoted, render, svg
from strategies.settings import owners

TEMPLATE = """\
<p>The model gives each patient a probability of {{ name }}. Of patients with about the same probability, as many
should have it as it says. Where the interval does not hold the probability, do not trust the number.</p>
<div class="scroll" tabindex="0" role="region" aria-label="How many of each group have the class"><table>
<thead><tr><th scope="col" class="n">patients</th><th scope="col" class="n">the model says</th>
<th scope="col" class="n">have it</th><th scope="col">95% confidence interval</th></tr></thead>
<tbody>{% for band in bands %}<tr><td class="n">{{ band.rows }}</td><td class="n">{{ percent(band.probability) }}</td>
<td class="n">{{ percent(band.share.value) }}</td><td>{{ interval(band.share) }}</td></tr>
{% endfor %}</tbody></table></div>
{{ plot | safe }}
<p class="note">Made from the same counts as the curve above. The probability of a group is the mean over its patients,
each taken for the middle of its bin.</p>"""

SEVERAL = (
    "<p>With more than two classes the probabilities of a patient are made to add up to 1. The counts of one class at "
    "a time, which are all that leaves the sites, cannot show whether these hold.</p>"
)
NONE = "<p>This model gives no probabilities, only values whose order counts.{}</p>"
ABLE = " <code>--probability true</code> makes a model with probabilities."


@Section(
    "certainty",
    "How far to trust its certainty",
    place=50,
    figures=("decision_groups", "classes"),
    for_clinicians=True,
)
def html(result: Result) -> str:
    """Return table and plot, or why there are none."""
    if len(result["classes"]) != 2:
        return SEVERAL
    groups = result["decision_groups"][0]
    if any(group["probability"] is None for group in groups):
        return NONE.format(ABLE if result["strategy"] in owners("probability") else "")
    bands = bands_of(groups)
    says = "Share of patients that have the class, against the probability that the model gives; as in the table."
    plot = svg(calibration_figure(bands), says)
    return render(TEMPLATE, bands=bands, plot=plot, name=quoted(result["classes"][1]))

"""What a run promised about every row, in words, and what it spent."""

import math

from simulations.report.section import Result, Section, render

TEMPLATE = """\
<p>Whoever sees all that left the hospitals, and whatever else they know, can hardly tell whether any one row was in the
tables: the odds of anything they conclude change by a factor of at most {{ "%.3g" | format(factor) }} (e<sup>ε</sup>) by
it, but for a chance of {{ told.delta }} (δ). It holds against a coordinator that does not follow the protocol, and if at
most {{ told.colluders }} of the {{ result.sites }} sites tell it what they know. A patient with several rows has less of
it: with k rows, ε as for k² times the cost.</p>
<div class="scroll" tabindex="0" role="region" aria-label="What each answer cost of the promise"><table>
<tr><th>answers to</th><th>about the</th><th>answers</th><th>share of the cost</th></tr>
{% for one in told.spent %}<tr><td>{{ one.task }}</td><td>{{ one.rows }} rows</td><td class="n">{{ one.answers }}</td>
<td class="n">{{ "%.0f" | format(100 * one.rho / totals[one.rows]) }} %</td></tr>
{% endfor %}<tr><th>training rows</th><td></td><td></td><td class="n">ε = {{ "%.3f" | format(told.epsilon_train) }}</td></tr>
<tr><th>test rows</th><td></td><td></td><td class="n">ε = {{ "%.3f" | format(told.epsilon_test) }}</td></tr></table></div>
<p>Training and test rows are different rows: each has its own promise.
{% if told.accuracy_noise is not none %}The noise alone moves the test accuracy by ±
{{ "%.1f" | format(100 * told.accuracy_noise) }} points (standard deviation); the model on its own is not affected.
{% endif %}</p>
{% if told.not_covered %}<p>Not covered: {{ told.not_covered | join("; ") }}.</p>{% endif %}"""


def headline(result: Result) -> dict[str, str]:
    """Return the promise in a line, and how noisy the accuracy is."""
    told = result["privacy"]
    epsilon = max(told["epsilon_train"], told["epsilon_test"])
    sites = "site colludes or fails" if told["colluders"] == 1 else "sites collude or fail"
    lines = {
        "promise": f"epsilon {epsilon:.3g}, delta {told['delta']:g} for every row, if at most {told['colluders']} {sites}"
    }
    if told["not_covered"]:
        lines["not covered"] = "; ".join(told["not_covered"])
    if told["accuracy_noise"] is not None:
        lines["noise in the accuracy"] = f"± {told['accuracy_noise']:.4f}, of the test only"
    return {**lines, "rows trained on, about": str(told["rows"])}


@Section("privacy", "Differential privacy", place=5, figures=("privacy",), headline=headline)
def html(result: Result) -> str:
    """Return the promise in words and the table of costs."""
    told = result["privacy"]
    totals: dict[str, float] = {}
    for one in told["spent"]:
        totals[one["rows"]] = totals.get(one["rows"], 0.0) + one["rho"]
    factor = math.exp(max(told["epsilon_train"], told["epsilon_test"]))
    return render(TEMPLATE, result=result, told=told, totals=totals, factor=factor)

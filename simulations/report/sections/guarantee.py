"""What private and hybrid SVM promise, towards whom, and what is not covered."""

import math

from simulations.report.section import Result, Section, render

TEMPLATE = """\
<p>Towards: {{ told.towards }} If another row stood in place of any one training row, the odds of anything they
conclude would change by a factor of at most {{ "%.3g" | format(factor) }} (e<sup>ε</sup>, ε = {{ told.epsilon }}).</p>
<p>The weights' objective is above the least one by at most {{ "%.1e" | format(told.gap) }}.
{% if told["lambda"] %}Laplace noise of scale {{ "%.4g" | format(told["lambda"]) }} was added to each.{% endif %}
{% if told.mode == "local" %}Each site has added Laplace noise of scale {{ "%.4g" | format(told.lambda_times_rows) }}
divided by its number of training rows, or more if these are many.{% endif %}</p>
<p>Not covered: {{ told.not_covered | join("; ") }}.</p>"""


def headline(result: Result) -> dict[str, str]:
    """Return the promise in a line."""
    told = result["guarantee"]
    whom = "whoever gets the model" if told["mode"] == "release" else "everybody but the site itself"
    return {
        "promise": f"epsilon {told['epsilon']:g} for every training row, towards {whom}",
        "not covered": "; ".join(told["not_covered"]),
    }


@Section(
    "guarantee",
    "Differential privacy of what is released",
    place=5,
    figures=("guarantee",),
    headline=headline,
)
def html(result: Result) -> str:
    """Return the promise in words."""
    told = result["guarantee"]
    return render(TEMPLATE, told=told, factor=math.exp(told["epsilon"]))

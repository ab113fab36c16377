"""The ROC curve: what stricter and laxer thresholds would find."""

from simulations.report.curves import roc_curves
from simulations.report.plots import roc_figure
from simulations.report.section import Result, Section, quoted, render, svg

TEMPLATE = """\
<p>{% if two %}The model gives each patient a value, and says {{ quoted(positive) }} where it is large enough. With another
threshold it would find more of these patients and alarm more of the others, or fewer of both. The curve shows every
choice; the cross is the model’s own.{% else %}For each class, how many of its patients a threshold on the model’s value
for that class would find, and how many others it would take for it.{% endif %}
{% if result.auc is not none %}The area under the curve{% if not two %}, in the mean of the classes,{% endif %} is
{{ "%.3f" | format(result.auc) }}: of a patient with the class and one without it, the model gives the first the larger value
in {{ percent(result.auc) }} of cases. 50% is chance.{% endif %}</p>
{{ plot | safe }}
{% if areas %}<p>Smallest areas: {% for name, area in areas %}{{ quoted(name) }} {{ "%.3f" | format(area) }}{{ "" if loop.last else ", " }}{% endfor %}.</p>
{% endif %}<p class="note">{% if summed %}Sites count values in 512 bins and the counts leave as sums: nobody’s own value does. {% endif %}The
curve is drawn from groups of at least five patients with similar values, so that its corners are cut a little; the area is from all
bins.</p>"""

MOST_LISTED = 5
"""Classes of which the area is listed where there are many."""


@Section(
    "thresholds",
    "With other thresholds",
    place=40,
    figures=("decision_groups", "classes"),
    for_clinicians=True,
)
def html(result: Result) -> str:
    """Return the plot."""
    curves = roc_curves(result)
    two = len(result["classes"]) == 2
    areas = [] if two else sorted((curve.area, curve.name) for curve in curves)[:MOST_LISTED]
    says = "; ".join(f"{quoted(curve.name)}: area {curve.area:.3f}" for curve in curves)
    return render(
        TEMPLATE,
        result=result,
        # Some strategies show the coordinator what it computes every patient's value from.
        summed=any(entry["result"] == "histogram" for entry in result["disclosed"]),
        two=two,
        positive=result["classes"][-1],
        areas=[(name, area) for area, name in areas],
        plot=svg(roc_figure(result, curves), f"ROC curve. {says}"),
    )

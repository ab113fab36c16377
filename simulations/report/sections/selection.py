"""Which features were chosen, and how it came to that."""

from simulations import selecting
from simulations.report.plots import selection_figure
from simulations.report.section import Result, Section, render, some, svg

TEMPLATE = """\
<p>{{ result.selected | length }} of {{ result.ranking | length }} features were chosen, {{ selecting.why_so_many(result) }}.
Accuracy is the mean ± standard deviation over {{ result.config["cv-folds"] }} folds of the training rows.
{% if result.config.features == "auto" %}The number of features was chosen by it, which{% else %}Which features go was in
part decided on the same rows, which{% endif %} makes it a little too good; test rows had no part in the selection.
{{ selecting.cost(result) }} {{ selecting.advice(result) }}</p>
{{ plot | safe }}
{% if result.filters %}<h3>Filters</h3>
<table>
<tr><th>filter</th><th>threshold</th><th>features that pass</th></tr>
{% for name, passed in result.filters.passed.items() %}<tr><td>{{ name }}</td>
<td>{{ result.filters.thresholds[name] }}</td><td class="n">{{ passed }}</td></tr>
{% endfor %}<tr><td>all of them</td><td></td><td class="n">{{ result.filters.kept | length }}</td></tr></table>
{% endif %}
<h3>Ranking</h3>
<p>{% if result.ranking | length > selecting.MOST_RANKED %}The best {{ selecting.MOST_RANKED }} of
{{ result.ranking | length }} features, {% else %}All features, {% endif %}the best first, and how good the models are with a
feature and all above it.{% if result.filters %} Those that the filters removed come last.{% endif %}</p>
{% set tested = result.accuracy_by_count[0].test_accuracy is not none %}
<table>
<tr><th></th><th>feature</th><th>accuracy</th>{% if tested %}<th>test rows</th>{% endif %}<th></th></tr>
{% for name, point in selecting.ranking_lines(result) %}<tr{% if loop.index <= result.selected | length %} class="in"{% endif %}>
<td class="n">{{ loop.index }}</td><td>{{ name }}</td><td class="n">{{ selecting.accuracy(point) if point else "" }}</td>
{% if tested %}<td class="n">{{ "%.4f" | format(point.test_accuracy) if point else "" }}</td>{% endif %}
<td>{{ "chosen to here" if loop.index == result.selected | length else "" }}</td></tr>
{% endfor %}</table>"""


def headline(result: Result) -> dict[str, str]:
    """Return which features were chosen, and how good the models with all and with these were over the folds."""
    chosen = result["selected"]
    accuracies = [
        f"{selecting.accuracy(point)} with {name}" for name, point in selecting.stages(result).items()
    ]
    return {
        "chosen features": f"{len(chosen)} of {len(result['ranking'])}: {some(chosen)}",
        "accuracy over the folds": "; ".join(accuracies),
    }


@Section(
    "selection",
    "Feature selection",
    place=20,
    figures=("selected", "ranking", "accuracy_by_count", "votes"),
    headline=headline,
)
def html(result: Result) -> str:
    """Return plot and tables of the selection."""
    return render(
        TEMPLATE,
        result=result,
        selecting=selecting,
        plot=svg(selection_figure(result), "Accuracy against the number of features"),
    )

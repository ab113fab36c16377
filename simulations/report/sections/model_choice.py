"""What cross-validation has tried, and what was best."""

from simulations import tuning
from simulations.report.section import Result, Section, render

TEMPLATE = """\
<p>Each setting was evaluated on {{ result.config["cv-folds"] }} folds of the training rows, by models that had not seen the
fold: accuracy, mean ± standard deviation over the folds, and the gap between the bounds that training of the worst fold
has left; models that are only compared need no small one. The model of this run was then trained on all training rows
with the best setting, {{ tuning.point_name(result.chosen) }}.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Settings that were tried"><table>
<tr><th>C</th>{% if result.chosen.gamma is not none %}<th>gamma</th>{% endif %}<th>accuracy</th><th>gap</th><th></th></tr>
{% for point in result.chosen.grid %}<tr><td class="n">{{ tuning.number_text(point.C) }}</td>
{% if point.gamma is not none %}<td class="n">{{ tuning.number_text(point.gamma) }}</td>{% endif %}
<td class="n">{{ tuning.accuracy(point) }}</td><td class="n">{{ tuning.gap(point) }}</td><td>{{ point.failure }}</td></tr>
{% endfor %}</table></div>"""


def headline(result: Result) -> dict[str, str]:
    """Return the best setting."""
    chosen = result["chosen"]
    best = f"{tuning.point_name(chosen)}, accuracy {tuning.accuracy(chosen['grid'][0])}"
    return {"chosen by cross-validation": best}


@Section("model-choice", "Model choice", place=10, figures=("chosen",), headline=headline)
def html(result: Result) -> str:
    """Return the table of the grid."""
    return render(TEMPLATE, result=result, tuning=tuning)

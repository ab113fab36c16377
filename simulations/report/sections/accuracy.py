"""Sensitivity, specificity and predictive values of each class, with confidence intervals."""

from simulations.report.section import SECTIONS, Result, Section, render
from simulations.report.shares import Share, all_right, class_figures, interval, percent

TEMPLATE = """\
<div class="scroll" tabindex="0" role="region" aria-label="Sensitivity, specificity and predictive values"><table>
<thead><tr><th scope="col">class</th>{% for name, _ in columns %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for one in classes %}<tr><th scope="row">{{ one.name }}</th>
{% for _, part in columns %}<td>{{ text(one[part]) }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
<ul class="note">
<li><strong>Sensitivity</strong>: of the patients of the class, how many the model finds.
{% if several %}<strong>Specificity</strong>: of all others, how many it does not take for the class.{% endif %}</li>
{% if several %}<li><strong>Positive predictive value</strong>: of those of whom the model says the class, how many have it.
<strong>Negative predictive value</strong>: of those of whom it says another, how many have another. Both hold where the
classes are as frequent as among these patients. Where a class is rarer, fewer of those of whom the model says it have
it.</li>
{% else %}<li>For specificity and predictive values one has to know as what the others were classified. That was not
counted: each count would have needed noise.</li>
{% endif %}<li>In brackets is the 95 % interval: if other patients of the same kind had been drawn for the test, such an
interval would hold the true share in 95 of 100 cases. It does not cover that patients elsewhere may differ.</li>
{% if noisy %}<li>The counts carry noise. The intervals are made wide enough for that: they hold in 95 of 100 cases or
more.</li>
{% endif %}</ul>
<p>Of all patients together the model is right about {{ text(overall) }}.
{% if result.balanced_accuracy is not none %}The mean of the classes’ sensitivities, in which each class counts the same, is
{{ percent(result.balanced_accuracy) }}.{% endif %}</p>"""

COLUMNS = [
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("positive predictive value", "ppv"),
    ("negative predictive value", "npv"),
]


@SECTIONS.register("accuracy")
class AccuracySection(Section):
    """A line a class."""

    title = "How often the model is right"
    place = 20
    for_clinicians = True
    figures = ("accuracy", "classes")

    def html(self, result: Result) -> str:
        """Return the table, and what its columns mean."""
        classes = class_figures(result)
        if not classes:
            right = all_right(result)
            template = "<p>Of all patients together the model is right about {{ text }}. Older runs wrote down no more.</p>"
            return render(template, text=_text(right))
        several = any(one.specificity for one in classes)
        return render(
            TEMPLATE,
            classes=classes[::-1] if len(classes) == 2 else classes,
            columns=COLUMNS if several else COLUMNS[:1],
            several=several,
            noisy=bool(result.get("count_noise")),
            overall=all_right(result),
            result=result,
            text=_text,
            percent=percent,
        )


def _text(found: Share | None) -> str:
    return "nobody to count" if found is None else f"{percent(found.value)} ({interval(found)})"

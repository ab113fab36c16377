"""Of how many patients the model is right; sensitivity, specificity and predictive values, with intervals."""

from simulations.report.section import Result, Section, quoted, render
from simulations.report.shares import ClassFigures, class_figures
from strategies.shares import Share, all_right

LEAD = """\
{% if right %}<p class="lead">Of {{ count(right.of) }} patients that the model had not seen, {{ count(right.right) }} were put into the
right class: {{ percent(right.value) }} (95% confidence interval {{ interval(right) }}).</p>{% endif %}"""

OF_ONE = """\
<div class="scroll" tabindex="0" role="region" aria-label="Sensitivity, specificity and predictive values">
<table class="shares">
<thead><tr><th scope="col">figure</th><th scope="col">patients</th><th scope="col" class="n">share</th>
<th scope="col">95% interval</th></tr></thead>
<tbody>{% for name, meaning, found in figures %}<tr><th scope="row">{{ name }}<br><span class="meaning">{{ meaning }}</span></th>
<td>{% if found %}{{ count(found.right) }} of {{ count(found.of) }}{% else %}none to count{% endif %}</td>
<td class="n">{{ percent(found.value) if found }}</td><td>{{ interval(found) if found }}</td></tr>
{% endfor %}</tbody></table></div>"""

OF_EACH = """\
<div class="scroll" tabindex="0" role="region" aria-label="Sensitivity, specificity and predictive values of each class">
<table class="counts shares"><thead><tr><th scope="col">class</th><th scope="col">patients</th>
{% for name, _ in columns %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for one in classes %}<tr><th scope="row">{{ one.name }}</th><td class="n">{{ count(one.patients) }}</td>
{% for _, part in columns %}<td>{{ percent(one[part].value) ~ " (" ~ interval(one[part]) ~ ")" if one[part] else "none to count" }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
<ul class="note"><li>Sensitivity: of the patients with the class, the share that the model finds.</li>
{% if columns | length > 1 %}<li>Specificity: of all others, the share that it does not take for the class.</li>
<li>Positive predictive value: of those of whom it says the class, the share that has it. Negative: of those of whom it says
another, the share that has another.</li>
{% else %}<li>Specificity and predictive values are not known: as which class a patient was taken was not counted, because
every count would have needed noise of its own.</li>
{% endif %}<li>In brackets is the 95% confidence interval.</li></ul>"""

NOTES = """\
<ul class="note">
{% if values %}<li>Predictive values hold where the classes are as frequent as among these patients. Where a class is
rarer, fewer of those of whom the model says it have it.</li>
{% endif %}<li>A 95% confidence interval shows what chance does with so few patients: had others of the same kind been taken for the
test, such an interval would hold the true share in 95 of 100 cases. It does not cover that patients elsewhere differ.
{% if result.count_noise %}The counts carry noise, and the intervals are made wide enough for that, too.{% endif %}</li></ul>
{% if result.balanced_accuracy is not none %}<p>The mean of the classes’ sensitivities, in which each class counts the same
(balanced accuracy), is {{ percent(result.balanced_accuracy) }}.</p>{% endif %}"""

COLUMNS = [
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("positive predictive value", "ppv"),
    ("negative predictive value", "npv"),
]


@Section(
    "accuracy", "How often the model is right", place=0, figures=("accuracy", "classes"), for_clinicians=True
)
def html(result: Result) -> str:
    """Return the sentence, the table, and what its columns mean."""
    classes, counted = class_figures(result), result["confusion"] is not None
    of_two = len(classes) == 2 and counted
    return render(
        LEAD + (OF_ONE if of_two else OF_EACH) + NOTES,
        result=result,
        right=all_right(result),
        classes=classes,
        figures=_of_positive(classes[1], classes[0].name) if of_two else (),
        columns=COLUMNS if counted else COLUMNS[:1],
        values=bool(classes) and classes[0].ppv is not None,
    )


def _of_positive(one: ClassFigures, other: str) -> list[tuple[str, str, Share | None]]:
    """Return of a class of two each figure's name, what it says in words, and its share."""
    name, others = quoted(one.name), quoted(other)
    return [
        ("Sensitivity", f"of those with {name}, found", one.sensitivity),
        ("Specificity", f"of those with {others}, recognised as such", one.specificity),
        ("Positive predictive value", f"of those called {name}, right", one.ppv),
        ("Negative predictive value", f"of those called {others}, right", one.npv),
    ]

"""What a clinician can repeat: of how many patients the model is right."""

from simulations.report.section import SECTIONS, Result, Section, quoted, render
from simulations.report.shares import ClassFigures, class_figures, count, interval, percent
from strategies.shares import Share, all_right

TEMPLATE = """\
{% for sentence in sentences %}<p{% if loop.first %} class="lead"{% endif %}>{{ sentence }}</p>
{% endfor %}"""

MOST_CLASSES = 2
"""Classes of which each has a sentence of its own."""


@SECTIONS.register("in-short")
class InShortSection(Section):
    """Sentences: right of so many, found of those that have it, right when the model says so."""

    title = "In short"
    place = 0
    for_clinicians = True
    figures = ()

    def html(self, result: Result) -> str:
        """Return the sentences."""
        right = all_right(result)
        if right is None:
            return render(TEMPLATE, sentences=["The model was not tried on patients that it had not seen."])
        sentences = [
            f"Of {count(right.of)} patients that the model had not seen, {count(right.right)} were put into the right "
            f"class: {percent(right.value)} (95% confidence interval {interval(right)})."
        ]
        classes = class_figures(result)
        if len(classes) == MOST_CLASSES:
            sentences += _of_two(classes)
        else:
            sentences += _of_many(classes)
        return render(TEMPLATE, sentences=sentences)


def _of_two(classes: list[ClassFigures]) -> list[str]:
    """Return what it finds of each class, that of the positive patients first, and what its word is worth."""
    found = [
        f"Of {count(one.sensitivity.of)} patients with {quoted(one.name)}, it finds {_shares(one.sensitivity)}."
        for one in reversed(classes)
        if one.sensitivity
    ]
    worth = [
        f"When it says {quoted(one.name)}, which it did {count(one.ppv.of)} times, it is right in "
        f"{percent(one.ppv.value)} of cases ({interval(one.ppv)})."
        for one in reversed(classes)
        if one.ppv
    ]
    return found + worth


def _of_many(classes: list[ClassFigures]) -> list[str]:
    """Return of which class it finds the largest, and of which the smallest share."""
    known = [(one.sensitivity.value, one) for one in classes if one.sensitivity]
    if not known:
        return []
    best, worst = max(known, key=lambda pair: pair[0])[1], min(known, key=lambda pair: pair[0])[1]
    return [
        f"It finds {quoted(one.name)} {how}: of {count(one.sensitivity.of)} patients {_shares(one.sensitivity)}."
        for how, one in (("best", best), ("worst", worst))
        if one.sensitivity
    ]


def _shares(found: Share) -> str:
    """Return how many, which share that is and how sure it is."""
    return f"{count(found.right)}, {percent(found.value)} ({interval(found)})"

"""Which columns the model looks at, after a feature selection, in a sentence."""

from simulations.report.section import SECTIONS, Result, Section, render
from simulations.report.shares import percent
from simulations.selecting import chosen_point, points_by_count

TEMPLATE = """\
<p>The model needs {{ chosen | length }} of the {{ every }} columns. {{ why }}</p>
<p>{% for name in chosen[:most] %}<strong>{{ name }}</strong>{{ "" if loop.last else ", " }}{% endfor %}
{% if chosen | length > most %} and {{ chosen | length - most }} more{% endif %}; the most important first.</p>
<p>{{ cost }} A column that is left out need not be unimportant: another may say the same.</p>"""

MOST_NAMED = 30
"""Columns that are named."""


@SECTIONS.register("features")
class FeaturesSection(Section):
    """The chosen columns, why so many, and what the others would have added."""

    title = "What it looks at"
    place = 60
    for_clinicians = True
    figures = ("selected", "ranking", "accuracy_by_count")

    def html(self, result: Result) -> str:
        """Return the sentences."""
        return render(
            TEMPLATE,
            chosen=result["selected"],
            every=len(result["ranking"]),
            why=_why(result),
            cost=_cost(result),
            most=MOST_NAMED,
        )


def _why(result: Result) -> str:
    """Return who has decided on the number."""
    wanted, chosen = str(result["config"].get("features", "auto")), len(result["selected"])
    if wanted == "auto":
        return (
            "That many were chosen because, in trials on the patients that it learns from, models with fewer were right "
            "less often."
        )
    if int(wanted) == chosen:
        return f"That number was asked for (features={wanted}): nobody has tried whether it is the best."
    return (
        f"{wanted} were asked for (features={wanted}), but several columns were removed at a time, and {chosen} is the "
        "next larger number that was tried."
    )


def _cost(result: Result) -> str:
    """Return how often models with all columns, and with the chosen ones, are right."""
    chosen, every = chosen_point(result), points_by_count(result).get(len(result["ranking"]))
    if every is None or every["features"] == chosen["features"]:
        return (
            f"In trials, models with these columns were right for {percent(chosen['accuracy'])} of patients."
        )
    return (
        f"In trials, models with all columns were right for {percent(every['accuracy'])} of patients, with the chosen "
        f"ones for {percent(chosen['accuracy'])}. The second number is a little too good, because the same trials "
        "have chosen the columns."
    )

"""At which level the sums were made: of which records, what that keeps from whom, and whose records the test was of."""

from simulations.report.section import SECTIONS, Result, Section, render
from simulations.report.words import KEEPS, WORDS, made_of

TEMPLATE = """\
<p>{{ made_of }} {{ keeps }}</p>
{% if shown %}<p>The coordinator could also read of each hospital:</p>
<ul>{% for one in shown %}<li>{{ one }}</li>{% endfor %}</ul>
{% endif %}<p>The model was tested on {{ tested_on }}{{ note }}.</p>"""

JOINING = "join"
"""The task of which every run shows the same: names and keys, no record."""


@SECTIONS.register("level")
class LevelSection(Section):
    """Records and noise behind the sums, what who could learn, the records of the test."""

    title = "What is kept from whom"
    place = 5
    for_clinicians = True
    figures = ("level", "tested_on")

    def html(self, result: Result) -> str:
        """Return the sentences."""
        tasks = {one["task"] for one in result["disclosed"] if one["how"] == "disclosed"} - {JOINING}
        note = ""
        if result["level"] == "perturbed" and result["tested_on"] == "true records":
            note = ", which the coordinator of real hospitals does not get to see"
        return render(
            TEMPLATE,
            made_of=made_of(result["level"], result["noise"]),
            keeps=KEEPS[result["level"]],
            shown=[text for task, (text, _) in WORDS.items() if task in tasks],
            tested_on=result["tested_on"],
            note=note,
        )

    def headline(self, result: Result) -> dict[str, str]:
        """Return the level in a line, and the records of the test."""
        noise = f", noise {result['noise']:g}" if result["noise"] else ""
        return {"level": f"{result['level']}{noise}", "tested on": result["tested_on"]}

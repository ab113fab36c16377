"""At which level the sums were made: of which records, what that keeps from whom, and whose records the test was of."""

from simulations.report.section import Result, Section, render
from simulations.systems.system import words_of_tasks

TEMPLATE = """\
<p>{{ made_of }} {{ keeps }}</p>
{% if shown %}<p>The coordinator could also read of each hospital:</p>
<ul>{% for one in shown %}<li>{{ one }}</li>{% endfor %}</ul>
{% endif %}<p>The model was tested on {{ tested_on }}{{ note }}.{% if test %} The test tells of any one record at most
ε = {{ test.epsilon }} (δ = {{ test.delta }}).{% if test.accuracy_noise is not none %} Its noise moves the accuracy by ±
{{ "%.1f" | format(100 * test.accuracy_noise) }} points (standard deviation).{% endif %}{% if test.true_accuracy is
defined and test.true_accuracy is not none %} Without the noise it is {{ "%.4f" | format(test.true_accuracy) }}, which is
known in a simulation only.{% endif %}{% endif %}</p>"""

JOINING = "join"
"""The task of which every run shows the same: names and keys, no record."""

KEEPS: dict[str, str] = {
    "exact": "Other hospitals see no sum. Whoever runs the coordinator can compute most records of a small table.",
    "perturbed": "Nobody, the coordinator included, comes much nearer to a measurement than this noise, however "
    "often they ask. Someone who knows a patient’s record can tell that it took part. Where columns are strongly "
    "correlated, as of genes, the copies give most of a record back.",
    "dp": "Nobody who sees the sums, the coordinator included, can tell for sure whether a patient’s record took "
    "part: ε and δ bound it (see “Differential privacy”).",
}
"""What each level keeps from whom."""


def headline(result: Result) -> dict[str, str]:
    """Return the level in a line, and the records of the test."""
    noise = f", noise {result['noise']:g}" if result["noise"] else ""
    lines = {"level": f"{result['level']}{noise}", "tested on": result["tested_on"]}
    test = result.get("test_on_true_records") or {}
    if test.get("accuracy_noise") is not None:
        lines["noise in the accuracy"] = f"± {test['accuracy_noise']:.4f}, of the test only"
    if test.get("true_accuracy") is not None:
        lines["true test accuracy (simulation only)"] = f"{test['true_accuracy']:.4f}"
    return lines


@Section(
    "level",
    "What is kept from whom",
    place=5,
    figures=("level", "tested_on"),
    for_clinicians=True,
    headline=headline,
)
def html(result: Result) -> str:
    """Return the sentences."""
    tasks = {one["task"] for one in result["disclosed"] if one["how"] == "disclosed"} - {JOINING}
    note = ""
    if result["level"] == "perturbed" and result["tested_on"] == "true records":
        note = ", which the coordinator of real hospitals does not see"
    return render(
        TEMPLATE,
        made_of=_made_of(result["level"], result["noise"]),
        keeps=KEEPS[result["level"]],
        shown=[text for task, (text, _) in words_of_tasks().items() if task in tasks],
        tested_on=result["tested_on"],
        note=note,
        test=result.get("test_on_true_records"),
    )


def _made_of(level: str, noise: float | None) -> str:
    """Return which records the answers of a run were made of."""
    return {
        "exact": "What left the hospitals was computed from their true records (level exact).",
        "perturbed": "What left the hospitals was computed from a copy of each one’s table (level perturbed). In the "
        f"copy every measurement carries noise of {noise or 0.0:g} standard deviations of its column, and some codes "
        "and classes are replaced at random.",
        "dp": "What left the hospitals was computed from their true records, with noise in each sum (level dp).",
    }[level]

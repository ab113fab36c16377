"""All that left the sites, what for, and how."""

from itertools import groupby
from typing import Any

from simulations.report.section import Result, Section, render
from simulations.systems.system import words_of_tasks

TEMPLATE = """\
<p>In the order of the queries. No row of a table left a site unless this list says so.</p>
<dl>{% for task, what, why, ways in tasks %}<dt><strong>{{ what }}</strong> (<code>{{ task }}</code>)</dt>
<dd>{% if why %}What for: {{ why }}. {% endif %}How: {{ ways | join("; ") }}.</dd>
{% endfor %}</dl>
<h3>In numbers</h3>
<div class="scroll" tabindex="0" role="region" aria-label="What left each site, in numbers"><table class="small">
<thead><tr><th scope="col">task</th><th scope="col">result</th><th scope="col">how</th>
<th scope="col" class="n">values per site</th><th scope="col" class="n">times</th></tr></thead>
<tbody>{% for entry in disclosed %}<tr><td>{{ entry.task }}</td><td>{{ entry.result }}</td><td>{{ entry.how }}</td>
<td class="n">{{ "{:,}".format(entry.numbers_per_site) }}</td><td class="n">{{ entry.times }}</td></tr>
{% endfor %}</tbody></table></div>"""

WAYS: dict[str, str] = {
    "exact": "masked: only the sum over all sites can be read",
    "perturbed": "masked, and computed from the perturbed copy of the table: only the sum over all sites can be read",
    "dp": "masked, with noise for differential privacy: only the sum over all sites can be read",
    "disclosed": "as it is: the coordinator reads what each site has sent",
}
"""How results leave."""


@Section("departures", "What left each site", place=70, figures=("disclosed",))
def html(result: Result) -> str:
    """Return words and table."""
    return render(TEMPLATE, disclosed=result["disclosed"], tasks=_in_words(result["disclosed"]))


def _in_words(disclosed: list[dict[str, Any]]) -> list[tuple[str, str, str, list[str]]]:
    """Return of each task its name, what left, what for, and the ways in which it left."""
    told, words = [], words_of_tasks()
    for task, entries in groupby(disclosed, key=lambda entry: entry["task"]):
        what, why = words.get(task, ("What a task of its own has asked for", ""))
        ways = dict.fromkeys(entry["how"] for entry in entries)
        told.append((task, what, why, [WAYS.get(way, way) for way in ways]))
    return told

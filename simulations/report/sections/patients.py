"""What, when, whose data, and how many patients of each class."""

from datetime import datetime
from itertools import zip_longest

from clients.hospital import simulated_name
from simulations.report.section import Result, Section, render, some
from simulations.report.shares import class_figures, count
from strategies.shares import all_right

TEMPLATE = """\
<table>
{% for name, text in lines.items() %}<tr><th scope="row">{{ name }}</th><td>{{ text }}</td></tr>
{% endfor %}</table>
{% if classes %}<h3>Patients of each class</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Patients of each class"><table>
<thead><tr><th scope="col">class</th>{% if trained %}<th scope="col" class="n">training</th>{% endif %}
{% if tested %}<th scope="col" class="n">test</th>{% endif %}</tr></thead>
<tbody>{% for name, learned, tried in classes %}<tr><th scope="row">{{ name }}</th>
{% if trained %}<td class="n">{{ learned }}</td>{% endif %}{% if tested %}<td class="n">{{ tried }}</td>{% endif %}</tr>
{% endfor %}</tbody></table></div>
{% endif %}<p class="note">A row of a hospital’s table counts as a patient. A patient with several rows counts
several times, and may be in both the training and the test.</p>"""


@Section("patients", "The patients", place=10, figures=(), for_clinicians=True)
def html(result: Result) -> str:
    """Return both tables."""
    trained, tested = result["rows_train_by_class"] or [], class_figures(result)
    numbers = zip_longest(map(count, trained), (count(one.patients) for one in tested), fillvalue="")
    classes = zip(result["classes"] or [], numbers, strict=False)
    return render(
        TEMPLATE,
        lines=_lines(result),
        classes=[(name, *both) for name, both in classes] if trained or tested else [],
        trained=bool(trained),
        tested=bool(tested),
    )


def _lines(result: Result) -> dict[str, str]:
    """Return what is known of the run, by name."""
    tried = all_right(result)
    about, names = (result.get("privacy") or {}).get("rows"), result["site_names"]
    lines = {
        "method": result["strategy"],
        "finished": f"{datetime.fromisoformat(result['finished']):%d %B %Y, %H:%M} UTC",
        "hospitals": f"{result['sites']}" + (f": {some(names)}" if not _simulated(names) else ""),
        "data": f"{result['config'].get('data', '')}, partitioned over simulated hospitals"
        if _simulated(names)
        else "",
        "classes": some(result["classes"] or []),
        "patients for training": _number(result["rows_train"]) or (f"about {about:,}" if about else ""),
        "patients for the test": "none" if tried is None else count(tried.of),
        "columns per patient": _columns(result),
    }
    return {name: text for name, text in lines.items() if text}


def _columns(result: Result) -> str:
    """Return how many columns the model looks at, and which if they were selected."""
    chosen, every = result.get("selected"), result.get("ranking")
    return (
        f"{len(chosen)} of {len(every)}: {some(chosen)}" if chosen and every else _number(result["features"])
    )


def _simulated(names: list[str]) -> bool:
    """Return whether all sites are simulated ones: hospitals have names of their own."""
    return set(names) <= set(map(simulated_name, range(1000)))


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"

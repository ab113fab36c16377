"""What the run was made with, so that it can be made again."""

from simulations.report.section import Result, Section, render
from strategies.settings import all_settings, default_config

TEMPLATE = """\
{% if changed %}<h3>Settings that are not at their defaults</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Settings that are not at their defaults"><table>
<thead><tr><th scope="col">setting</th><th scope="col">value</th><th scope="col">default</th><th scope="col">what it is</th></tr></thead>
<tbody>{% for name, value, usual, meaning in changed %}<tr><th scope="row"><code>{{ name }}</code></th><td class="value">{{ value }}</td>
<td>{{ usual }}</td><td class="long">{{ meaning }}</td></tr>
{% endfor %}</tbody></table></div>
{% else %}<p>All settings were at their defaults.</p>
{% endif %}<h3>Versions</h3>
<table class="small">{% for name, value in result.versions.items() %}<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}</table>
{% if result.model_sha256 %}<p>Model digest (SHA-256): <code class="digest">{{ result.model_sha256 }}</code></p>
{% else %}<p>The strategy makes no model: there is nothing to predict with.</p>{% endif %}"""


@Section("settings", "Settings and versions", place=90, figures=("config", "versions"))
def html(result: Result) -> str:
    """Return the tables."""
    usual, known = default_config(), all_settings()
    changed = [
        (name, value, usual.get(name, ""), known[name].metadata["meaning"] if name in known else "")
        for name, value in result["config"].items()
        if name not in usual or value != usual[name]
    ]
    return render(TEMPLATE, result=result, changed=changed)

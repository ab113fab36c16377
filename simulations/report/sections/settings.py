"""What the run was made with, so that it can be made again."""

from simulations.report.section import SECTIONS, Result, Section, render

TEMPLATE = """\
<table>{% for name, value in result.config.items() %}<tr><th><code>{{ name }}</code></th><td>{{ value }}</td></tr>
{% endfor %}
{% for name, value in result.versions.items() %}<tr><th>{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}</table>
{% if result.model_sha256 %}<p>Model digest (SHA-256): <code>{{ result.model_sha256 }}</code></p>
{% else %}<p>The strategy makes no model: there is nothing to predict with.</p>{% endif %}"""


@SECTIONS.register("settings")
class SettingsSection(Section):
    """Settings, versions of the packages, digest of the model."""

    title = "Settings and versions"
    place = 90
    figures = ("config", "versions")

    def html(self, result: Result) -> str:
        """Return the tables."""
        return render(TEMPLATE, result=result)

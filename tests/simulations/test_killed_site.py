"""A site is lost in the middle of a run on Flower's own engine; the others finish it."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from flower_pansvm.errors import EngineError
from flower_pansvm.terms import Scalar
from simulations.engines.flower_engine import PACKAGES, build_app, run_app, temporary_folder
from strategies.settings import settings_from

SITES = 4
# All sites of Flower's simulation share two worker processes, and Flower gives the messages of other sites to one
# that was killed. So a site dies here by an exception that Flower catches; tests/strategies/test_deployment.py kills
# a process of its own.
ASSASSIN = """
from clients.app import app as whole


class Fragile(type(whole)):
    def __call__(self, message, context):
        task = message.metadata.message_type.split(".")[1]
        if context.node_config["partition-id"] == {victim} and task == "{task}":
            raise SystemError("the process of this site is gone")
        return super().__call__(message, context)


app = whole
app.__class__ = Fragile
"""


def packages() -> list[Path]:
    folders = []
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec.origin is not None
        folders.append(Path(spec.origin).parent)
    return folders


def run_with_a_murder(
    task: str, victim: int, out: Path, **config: Scalar
) -> tuple[dict[str, object], list[str]]:
    """Run the app on Flower's simulation engine; the victim's process dies when it is asked for the task."""
    settings = settings_from(
        {
            "data": "wine",
            "sites": SITES,
            "out": str(out),
            "timeout": 60,
            **{k.replace("_", "-"): v for k, v in config.items()},
        }
    )
    lines: list[str] = []
    with temporary_folder() as folder:
        build_app(folder / "app", packages(), settings.to_config())
        (folder / "app" / "clients" / "fragile.py").write_text(ASSASSIN.format(task=task, victim=victim))
        project = folder / "app" / "pyproject.toml"
        project.write_text(project.read_text().replace("clients.app:app", "clients.fragile:app"))
        run_app(folder, SITES, lines.append)
    return json.loads((out / "result.json").read_text()), lines


# Each phase with each protocol is tried in one process: tests/strategies/test_failures.py.
@pytest.mark.slow
def test_the_run_goes_on_without_the_key_holder(tmp_path: Path) -> None:
    result, lines = run_with_a_murder("cuts", 0, tmp_path, aggregation="paillier")
    assert result["sites"] == SITES - 1
    assert result["dropped_sites"] == ["site-000"]
    assert any("site-000" in line and "left out" in line for line in lines)
    # Not that the bounds have met: noise may keep those of the 105 rows that are left apart.
    assert result["accuracy"] > 0.85  # type: ignore[operator]


@pytest.mark.slow
def test_below_min_sites_the_run_fails_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(EngineError):
        run_with_a_murder("cuts", 1, tmp_path, min_sites=4)
    assert (tmp_path / "checkpoint" / "00003-warm_start.npz").exists()
    assert not (tmp_path / "model.npz").exists()

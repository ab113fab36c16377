"""A site of an older version is not asked for a task that it does not have."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flower_pansvm.errors import FederationError
from flower_pansvm.systems.common import EXTREMES, MOMENTS
from flower_pansvm.tasks import Nothing, Task
from flower_pansvm.version import VERSION
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.federation.versions import is_older
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import make_settings

TEXT = "Site 'hospital1' runs version {} of flower-pansvm, but task '{}' is there from 0.2.0 on. Update the hospital's"


@pytest.fixture
def federation(hospital_files: list[Path], hospitals: Callable[..., InProcessGrid]) -> Federation:
    """Three hospitals that have joined, and are asked nothing more that does not get through."""
    settings = make_settings(sites=3, min_cluster=2)
    strategy = PanSVM(settings)
    strategy.federation = Federation(hospitals(settings, hospital_files), settings, strategy)
    strategy.join(strategy.federation)
    return strategy.federation


def test_sites_tell_their_version(federation: Federation) -> None:
    assert {site.version for site in federation.sites.values()} == {VERSION}


@pytest.mark.parametrize("version", ["0.1.9", "0.1", "0", "none"])
@pytest.mark.parametrize(("ask", "task"), [("secure_sum", MOMENTS), ("collect", EXTREMES)])
def test_a_task_that_a_site_does_not_have_is_an_error_that_says_what_to_do(
    version: str, ask: str, task: Task[Any, Any], federation: Federation
) -> None:
    for name, site in federation.sites.items():
        federation.sites[name] = replace(site, version=version if name == "hospital1" else "0.2.0")
    trips = federation.costs.round_trips
    with pytest.raises(FederationError, match=TEXT.format(version, task.name)):
        getattr(federation, ask)(replace(task, since="0.2.0"), Nothing())
    assert federation.costs.round_trips == trips


def test_a_newer_site_has_older_tasks(federation: Federation) -> None:
    federation.sites["hospital1"] = replace(federation.sites["hospital1"], version="0.10.0")
    assert federation.secure_sum(MOMENTS, Nothing()).rows.sum() > 0


def test_versions_are_compared_number_by_number() -> None:
    assert is_older("0.9", than="0.10")
    assert not is_older("0.10", than="0.9")
    assert not is_older("1.0.0", than="1.0.0")
    assert is_older("?", than="0.0.1")


def test_the_version_is_that_of_the_project() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{VERSION}"\n' in text

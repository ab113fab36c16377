"""Things with names: each row of a table leads to something, and installed packages add to it."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import MODELS
from flower_pansvm.registry import Registry, _installed
from flower_pansvm.secure_sum import PROTOCOLS
from simulations.attack.active.registry import ATTACKS
from simulations.baselines.registry import BASELINES
from strategies.registry import STRATEGIES

GROUP = "flower_pansvm.shapes"
TABLE = {"fraction": "fractions:Fraction"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the entry points of an installed package, which has a module ``circles``."""
    folder = tmp_path / "circles-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: circles\nVersion: 1\n")
    (tmp_path / "circles.py").write_text("class Circle: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    _installed.cache_clear()
    yield folder / "entry_points.txt"
    _installed.cache_clear()
    sys.modules.pop("circles", None)


@pytest.mark.parametrize(
    "registry", [STRATEGIES, MODELS, PROTOCOLS, BASELINES, ATTACKS], ids=lambda registry: registry.kind
)
def test_every_row_leads_to_something(registry: Registry[object]) -> None:
    if registry is BASELINES:
        pytest.importorskip("xgboost", reason="the extra 'boosting' is not installed")
    assert len(registry) > 2
    assert len({id(thing) for thing in registry.values()}) == len(registry)


def test_an_installed_package_adds_to_a_table(package: Path) -> None:
    package.write_text(f"[{GROUP}]\ncircle = circles:Circle\n")
    shapes: Registry[type] = Registry("shape", TABLE, GROUP)
    assert list(shapes) == ["circle", "fraction"]
    assert "circle" in shapes
    assert "circles" not in sys.modules
    assert shapes["circle"].__name__ == "Circle"
    with pytest.raises(SettingError, match="'circle'"):
        _ = shapes["circel"]


def test_a_class_has_a_name_wherever_its_place_says_that_it_is(package: Path) -> None:
    package.write_text(f"[{GROUP}]\ncircle = circles:Round\n")
    package.parents[1].joinpath("circles.py").write_text("from fractions import Fraction\nclass Round: ...\n")
    again = {"circle": "circles:Fraction"}
    assert Registry("shape", TABLE).name_of(Fraction) == "fraction"
    assert Registry("shape", again).name_of(Fraction) == "circle"
    shapes: Registry[type] = Registry("shape", TABLE, GROUP)
    assert shapes.name_of(shapes["circle"]) == "circle"
    assert shapes.name_of(int) is None


def test_a_name_is_given_once(package: Path) -> None:
    package.write_text(f"[{GROUP}]\nfraction = circles:Circle\n")
    with pytest.raises(SettingError, match="circles:Circle"):
        list(Registry("shape", TABLE, GROUP))

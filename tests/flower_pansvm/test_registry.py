"""Things with names: each row of a table leads to something, and installed packages add to it."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import MODELS
from flower_pansvm.registry import Registry, _installed
from flower_pansvm.secure_sum.registry import PROTOCOLS
from simulations.baselines.registry import BASELINES
from strategies.pan_svm.strategy import PanSVM
from strategies.registry import STRATEGIES, _warn, usable
from strategies.settings import default_config, settings_from

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
    _warn.cache_clear()
    yield folder / "entry_points.txt"
    _installed.cache_clear()
    sys.modules.pop("circles", None)


@pytest.mark.parametrize(
    "registry", [STRATEGIES, MODELS, PROTOCOLS, BASELINES], ids=lambda registry: registry.kind
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


BROKEN = {
    "no module": "squares:Square",
    "no class": "circles:Square",
    "no attribute": "circles",
    "another kind": "circles:PI",
    "fails": "failing:Circle",
    "ends": "ending:Circle",
}


@pytest.fixture(params=BROKEN)
def broken(request: pytest.FixtureRequest, package: Path) -> str:
    """Return the place of what an installed package adds to shapes, strategies, secure sums and models."""
    folder, place = package.parents[1], BROKEN[request.param]
    folder.joinpath("circles.py").write_text("PI = 3\n")
    folder.joinpath("failing.py").write_text("raise RuntimeError('no licence')\n")
    folder.joinpath("ending.py").write_text("raise SystemExit('no licence')\n")
    groups = (GROUP, *(f"flower_pansvm.{kind}" for kind in ("strategies", "protocols", "models")))
    package.write_text("".join(f"[{group}]\nghost = {place}\n" for group in groups))
    return place


def test_what_a_package_adds_and_cannot_be_used_is_named(broken: str) -> None:
    shapes: Registry[type] = Registry("shape", TABLE, GROUP)
    assert list(shapes) == ["fraction", "ghost"]
    assert shapes["fraction"] is Fraction
    for registry in (shapes, STRATEGIES, PROTOCOLS, MODELS):
        with pytest.raises(SettingError, match=f"'ghost' of circles, {broken}"):
            _ = registry["ghost"]
        assert registry.name_of(int) is None


def test_a_package_that_cannot_be_used_stops_no_run_that_does_not_name_it(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = {key: value for key, value in default_config().items() if key != "strategy"}
    assert settings_from(config).strategy == "pan-svm"
    assert broken in caplog.text
    context = Context(1, 0, {}, RecordDict(), {"pansvm.sites": 3})
    assert type("Own", (PanSVM,), {}).from_context(context, C=3).settings.sites == 3
    for key in ("strategy", "aggregation"):
        with pytest.raises(SettingError, match=broken):
            settings_from({key: "ghost"})


HALF = """
from flower_pansvm.secure_sum.contract import SecureSum
from strategies.api import NystroemSettings, PhasedStrategy

class NoMethods(SecureSum):
    name, protected = "half", True

class NoName(SecureSum):
    def contribute(self, *_): ...
    def total(self, *_): ...

class OtherName(NoName):
    name, protected = "whole", True

class NoFit(PhasedStrategy):
    settings_class = NystroemSettings
"""

UNREADABLE = """
from flower_pansvm.constraints import setting, text
from strategies.api import NystroemSettings, PhasedStrategy

class NoDataclass(NystroemSettings):
    shrink: str = setting("", text(), "How much.")

class Half(PhasedStrategy):
    settings_class = {}

    def fit(self, federation): ...
"""


@pytest.mark.parametrize(
    ("registry", "kind", "why"),
    [
        (PROTOCOLS, "NoMethods", "it lacks contribute, total"),
        (PROTOCOLS, "NoName", "it lacks name, protected"),
        (PROTOCOLS, "OtherName", "it calls itself 'whole'"),
        (STRATEGIES, "NoFit", "it lacks fit"),
    ],
)
def test_a_class_that_lacks_something_is_told_what(
    registry: Registry[object], kind: str, why: str, package: Path
) -> None:
    package.parents[1].joinpath("circles.py").write_text(HALF)
    package.write_text(f"[{registry.group}]\nhalf = circles:{kind}\n")
    with pytest.raises(SettingError, match=why):
        _ = registry["half"]


@pytest.mark.parametrize("settings", ["NoDataclass", "dict", "NystroemSettings()"])
def test_settings_that_no_run_can_read_are_told_and_stop_no_other_strategy(
    settings: str, package: Path
) -> None:
    package.parents[1].joinpath("circles.py").write_text(UNREADABLE.format(settings))
    package.write_text(f"[{STRATEGIES.group}]\nhalf = circles:Half\n")
    with pytest.raises(SettingError, match="cannot be loaded") as caught:
        _ = STRATEGIES["half"]
    assert "dataclass" in caught.value.with_detail()
    assert "half" not in usable(STRATEGIES)


def test_a_name_is_given_once(package: Path) -> None:
    package.write_text(f"[{GROUP}]\nfraction = circles:Circle\n")
    with pytest.raises(SettingError, match="circles:Circle"):
        list(Registry("shape", TABLE, GROUP))


def test_both_packages_that_give_one_name_are_named(package: Path) -> None:
    for name in ("circles", "rings"):
        folder = package.parents[1] / f"{name}-1.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\ncircle = {name}:Circle\n")
    with pytest.raises(SettingError, match=r"'circle'.*circles.*rings|'circle'.*rings.*circles"):
        list(Registry("shape", TABLE, GROUP))

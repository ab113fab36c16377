"""A coordinator that asks hospitals by hand, one sum after the other."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clients import cache
from clients.table.table import Table
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.pan_svm.tasks import (
    FEATURE_MAP,
    LANDMARK_SET,
    FeatureMapBroadcast,
    LandmarkBroadcast,
)
from flower_pansvm.systems.scaling import MOMENTS, SCALING, ScalingBroadcast
from flower_pansvm.tasks import Nothing
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings

Sums = dict[str, NDArray[np.float64]]
TellMaps = Callable[..., None]


def assert_same(one: Table, other: Table) -> None:
    """Assert that two tables are the same to the bit."""
    assert one.columns == other.columns
    assert one.absent_is_zero is other.absent_is_zero
    assert one.labels.dtype == other.labels.dtype
    np.testing.assert_array_equal(one.X, other.X)
    for left, right in ((one.labels, other.labels), (one.ids, other.ids)):
        np.testing.assert_array_equal(left, right)


def refusal(read: Callable[..., object], *arguments: Any, **more: Any) -> str:
    """Return what an operator is told of a table that is refused: no cell; what may travel names and counts no row."""
    with pytest.raises(PanSVMError) as failure:
        read(*arguments, **more)
    text = failure.value.with_detail()
    assert not re.search("4711|secret", text)
    assert not re.search(r"row \d|\d rows|\d fields", str(failure.value))
    assert not any(str(path.parent) in text for path in arguments if isinstance(path, Path))
    # Neither may the error behind it show a cell.
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__ or failure.value.__context__ is None
    return text


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """Return a function that writes a file of this content, a hospital's table unless it is named."""

    def written(content: str | bytes, name: str = "ward.csv") -> Path:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return written


@pytest.fixture
def settings() -> Settings:
    """Return the settings of three hospitals with the small tables of the tests."""
    return make_settings(sites=3, min_cluster=2, privacy="exact")


@pytest.fixture
def enrol() -> Callable[[InProcessGrid, Settings], Federation]:
    """Return a function that has the sites of a grid join, and returns them as the coordinator's own code sees them."""

    def join(grid: InProcessGrid, settings: Settings) -> Federation:
        strategy = PanSVM(settings)
        strategy.federation = Federation(grid, settings)
        strategy.join(strategy.federation)
        return strategy.federation

    return join


@pytest.fixture
def enrolled(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: Callable[..., InProcessGrid],
    enrol: Callable[..., Federation],
) -> Callable[..., Federation]:
    """Return a function that has three hospitals with such a node config join a run of such settings."""

    def join(node: dict[str, Scalar] | None = None, run_id: int | None = None, **changes: Any) -> Federation:
        own = replace(settings, **changes)
        return enrol(hospitals(own, hospital_files, node, run_id), own)

    return join


@pytest.fixture
def federation(enrolled: Callable[..., Federation]) -> Federation:
    """Three hospitals that have joined."""
    return enrolled()


@pytest.fixture(scope="session")
def tell_maps() -> TellMaps:
    """Return a function by which hospitals are told a scaling, and of the scaled rows themselves a feature map.

    It takes shift and scale of the columns; and for each feature map the columns that it looks at, all of them for a
    single one if none are named.
    """

    def tell(
        federation: Federation, shift: NDArray[np.float64], scale: NDArray[np.float64], *looks: list[bool]
    ) -> None:
        columns = len(shift)
        federation.broadcast(SCALING, ScalingBroadcast(np.zeros((1, columns)), shift[None], scale[None]))
        federation.broadcast(LANDMARK_SET.numbered(0), LandmarkBroadcast(0, np.eye(columns)))
        for number, look in enumerate(looks or [[True] * columns]):
            features = np.array(look)
            linear = FeatureMapBroadcast(
                0, features, "linear", 1.0, np.eye(columns, dtype=np.float32)[:, features]
            )
            federation.broadcast(FEATURE_MAP.numbered(number), linear)

    return tell


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the coordinator take whatever it opens: one that plays false would not end the run at a strange sum."""
    monkeypatch.setattr(Federation, "check", staticmethod(lambda *_: None))


@pytest.fixture
def ask_moments() -> Callable[[Federation], Sums]:
    """Return a function that asks for the first sum of a run."""
    return lambda federation: vars(federation.secure_sum(MOMENTS, Nothing()))


@pytest.fixture
def forget() -> Callable[[], None]:
    """Return a function after which this process has kept no more than a new one has."""

    def restart() -> None:
        cache.cached.values.clear()
        cache.cached_tables.values.clear()

    return restart

"""A site's secret random numbers: the same for the same question, unlike for any other, and nobody else's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, RecordDict
from numpy.typing import NDArray
from scipy.stats import kstest

from clients.gate.blur import KEY_FILE, SECRET, add_noise, draw_for, draw_of
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.cutting_planes.noise import HEIGHT, Noise
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.tasks.cutting_planes import CUTS, FEATURE_MAP, FeatureMapBroadcast
from flower_pansvm.tasks.landmarks import LANDMARK_SET, LandmarkBroadcast
from flower_pansvm.tasks.scaling import SCALING, ScalingBroadcast
from flower_pansvm.tasks.task import noised, summed
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.master.noise_bounds import largest_noise
from strategies.settings import Settings, make_settings
from strategies.steps.packing import pack_questions, unpack_answers

Draws = NDArray[np.float64]


def context(node: dict[str, Scalar], **config: object) -> Context:
    settings = make_settings(**config)  # type: ignore[arg-type]
    return Context(1, 2, dict(node), RecordDict(), {**settings.to_config()})


def site(secret: bytes = b"a" * 32) -> Site:
    found = Site(context({"name": "north"}))
    found.first(SECRET, secret)
    return found


def test_who_asks_the_same_twice_gets_the_same_numbers() -> None:
    first, second = (draw_for(site(), "told", Pair(1, REST), -1)("blur of a point", 50) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize(
    ("about", "purpose"),
    [
        (("other", Pair(1, REST), -1), "blur of a point"),
        (("told", Pair(0, REST), -1), "blur of a point"),
        (("told", Pair(1, 0), -1), "blur of a point"),
        (("told", Pair(1, REST), 0), "blur of a point"),
        (("told", Pair(1, REST), -1), "blur of another point"),
        (("told", Pair(1, REST)), "-1 blur of a point"),
    ],
    ids=str,
)
def test_who_asks_anything_else_gets_unrelated_numbers(about: tuple[object, ...], purpose: str) -> None:
    usual = draw_for(site(), "told", Pair(1, REST), -1)("blur of a point", 200)
    other = draw_for(site(), *about)(purpose, 200)
    assert not np.isin(usual, other).any()
    assert abs(np.corrcoef(usual, other)[0, 1]) < 0.3


def test_another_secret_gives_unrelated_numbers() -> None:
    one, other = (draw_for(site(secret), "told")("blur", 200) for secret in (b"a" * 32, b"b" * 32))
    assert not np.isin(one, other).any()


def test_numbers_are_uniform_from_0_to_1() -> None:
    numbers = draw_for(site(), "told")("blur", 20_000)
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    assert kstest(numbers, "uniform").pvalue > 1e-4


def test_numpys_generators_have_no_part_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not cryptographic: some hundreds of outputs tell all others."""

    def refuse(*_: object) -> None:
        raise AssertionError

    for name in ("default_rng", "random", "rand", "uniform", "RandomState", "Generator"):
        monkeypatch.setattr(np.random, name, refuse)
    assert len(draw_for(site(), "told")("blur", 10)) == 10


class _Told(Site):
    """A site that was told the same of every feature map but for its number."""

    def told_about(self, number: int) -> tuple[str, ...]:
        return "schema", f"map {number}"


@pytest.mark.parametrize(
    "other",
    [
        {"weights": (1.0, 2.0)},
        {"weights": (2.0, 1.0)},
        {"pair": Pair(0, REST)},
        {"fold": 0},
        {"feature_map": 1},
    ],
    ids=str,
)
def test_another_problem_has_other_numbers(other: dict[str, Any]) -> None:
    """With other weights of the classes too: of two sums with the same noise, their difference has none."""
    told = _Told(context({"name": "north"}))
    told.first(SECRET, b"a" * 32)
    problem = Problem("", 2, 144.0, 1.0, Pair(1, REST))
    usual, another = (draw_of(told, one)("blur", 200) for one in (problem, replace(problem, **other)))
    assert not np.isin(usual, another).any()
    again = draw_of(told, replace(problem, name="again", C=2.0, rows=100.0))("blur", 200)
    assert (usual == again).all()


# In a run


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings with which the rows themselves are a feature map that hospitals accept."""
    return replace(settings, kernel="linear")


NOISE = Noise.of(NystromMap(Kernel("linear"), np.eye(2), np.eye(2)))
"""That of the map below."""


def ask_cuts(
    federation: Federation, points: Draws, blur: int = 2, width: float = 1.0, leading: int = -1
) -> tuple[Cuts, Draws]:
    """Ask for cuts of a linear map of the two features, and perhaps for the curvature at the first point."""
    scaling = {"fill": np.zeros((1, 2)), "shift": np.array([[50.0, 0.0]]), "scale": np.array([[10.0, 0.01]])}
    federation.broadcast(SCALING, ScalingBroadcast(**scaling))
    linear: dict[str, records.Value] = {"kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0}
    federation.broadcast(LANDMARK_SET.numbered(0), LandmarkBroadcast(0, np.eye(2)))
    told = {
        **linear,
        "landmark_set": 0,
        "features": np.full(2, True),
        "normalization": np.eye(2, dtype=np.float32),
    }
    federation.broadcast(FEATURE_MAP.numbered(0), FeatureMapBroadcast(**told))
    problem, question = (
        Problem("", 2, 144.0, 1.0, Pair(1, REST)),
        Question(points, blur, points[0], width, leading),
    )
    slack = largest_noise(NOISE, question, 1.0) if federation.settings.preset == "private" else None
    inputs = pack_questions([problem], [question])
    sums = federation.secure_sum(CUTS, inputs, slack=slack)
    (answer,) = unpack_answers(sums, [question])
    return answer.cuts, answer.curvature


POINT = np.array([[1.0, -2.0, 0.5]])


def test_the_same_point_gives_the_same_cut_however_often_it_is_asked(
    federation: Federation, ask_moments: Any
) -> None:
    ask_moments(federation)
    first, _ = ask_cuts(federation, POINT)
    again, _ = ask_cuts(federation, np.vstack([POINT, POINT + 1.0, POINT]))
    for place in (0, 2):
        # But for the last digits: the products of one point and of three are rounded differently.
        assert again.a[place] == pytest.approx(first.a[0], rel=1e-12, abs=1e-12)
        for part in ("d", "m", "loss"):
            assert getattr(again, part)[place] == pytest.approx(getattr(first, part)[0], rel=1e-12, abs=1e-12)


@pytest.fixture
def asked(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: Callable[..., InProcessGrid],
    enrol: Callable[..., Federation],
    ask_moments: Any,
) -> Callable[..., Federation]:
    """Return a function that begins a run of hospitals that agree to exact sums, up to the first cuts."""

    def begin(preset: str) -> Federation:
        run = replace(settings, preset=preset)
        federation = enrol(hospitals(run, hospital_files, {"exact-sums": "agreed"}), run)
        ask_moments(federation)
        return federation

    return begin


@pytest.mark.parametrize("preset", ["private", "exact"])
def test_another_point_and_another_number_of_rows_are_drawn_for_afresh(
    preset: str, asked: Callable[..., Federation]
) -> None:
    """The same selections otherwise: what differs are the draws of some rows of every site, and the noise."""
    federation = asked(preset)
    first, _ = ask_cuts(federation, POINT)
    nearby, _ = ask_cuts(federation, POINT + 1e-6)
    more, _ = ask_cuts(federation, POINT, blur=3)
    for cuts in (nearby, more):
        if preset == "exact":
            assert cuts.loss == pytest.approx(first.loss, rel=1e-6)
        else:
            assert 1e-6 < abs(cuts.loss - first.loss)[0] < 10 * HEIGHT
        assert abs(cuts.m - first.m)[0] > 1e-3


def test_the_random_weights_of_a_curvature_are_drawn_afresh_for_each_width_and_follow_from_the_key(
    asked: Callable[..., Federation], state_home: Path
) -> None:
    federation = asked("exact")
    _, curvature = ask_cuts(federation, POINT, leading=2)
    _, again = ask_cuts(federation, POINT, leading=2)
    _, wider = ask_cuts(federation, POINT, width=1.0 + 1e-9, leading=2)
    assert (again == curvature).all()
    assert np.abs(wider - curvature).max() > 1e-3
    for key in state_home.glob(f"*/{KEY_FILE}"):
        key.unlink()
    _, other = ask_cuts(asked("exact"), POINT, leading=2)
    assert np.abs(other - curvature).max() > 1e-3


def test_a_site_that_hides_its_rows_tells_no_curvature(asked: Callable[..., Federation]) -> None:
    with pytest.raises(SettingError, match="refuses to tell the curvature of its loss"):
        ask_cuts(asked("private"), POINT, leading=0)


def test_noise_is_in_every_sum_of_a_cut(
    asked: Callable[..., Federation],
) -> None:
    """The same key and rows, and so the same draws of rows: what differs is the noise."""
    (exact, _), (noisy, _) = (ask_cuts(asked(preset), POINT) for preset in ("exact", "private"))
    off = {name: np.abs(getattr(noisy, name) - getattr(exact, name)) for name in ("a", "d", "m", "loss")}
    limits = largest_noise(NOISE, Question(POINT, 2, POINT[0]), 1.0)
    assert limits.keys() == off.keys()
    for name, most in limits.items():
        assert (off[name] > 1e-6).all()
        assert (off[name] < most).all()


@pytest.mark.parametrize("preset", ["private", "exact"])
def test_hospitals_draw_the_same_in_every_run_as_long_as_they_have_the_same_key(
    preset: str, asked: Callable[..., Federation], state_home: Path
) -> None:
    """Else a mean over many runs would be without blur and noise."""
    first, _ = ask_cuts(asked(preset), POINT)
    again, _ = ask_cuts(asked(preset), POINT)
    for part in ("a", "d", "m", "loss"):
        assert (getattr(first, part) == getattr(again, part)).all()
    keys = list(state_home.glob(f"*/{KEY_FILE}"))
    assert len(keys) == 3
    for key in keys:
        key.unlink()
    other, _ = ask_cuts(asked(preset), POINT)
    assert abs(first.m - other.m)[0] > 1e-3


# What may leave only with noise


@dataclass(frozen=True)
class Weights:
    weights: Draws = noised()
    rows: Draws = summed()


EXACT = Weights(np.ones(3), np.ones(1))


def noise_of(*names: str) -> Callable[[], dict[str, Draws]]:
    return lambda: {name: np.full(3, 0.5) for name in names}


def test_a_hospital_adds_the_noise_unless_it_has_agreed_to_exact_sums() -> None:
    defending, agreed = (
        Site(context({"name": "north"})),
        Site(context({"exact-sums": "agreed"}, preset="exact")),
    )
    assert add_noise(defending, EXACT, noise_of("weights")).answer.weights.tolist() == [1.5] * 3
    assert add_noise(defending, EXACT, noise_of("weights")).answer.rows is EXACT.rows
    assert add_noise(agreed, EXACT, noise_of("weights")).answer is EXACT


@pytest.mark.parametrize("names", [(), ("rows",), ("weights", "rows")], ids=str)
def test_noise_in_other_parts_than_are_declared_is_an_error(names: tuple[str, ...]) -> None:
    with pytest.raises(SumError, match="not noise for each part of a Weights"):
        add_noise(Site(context({"name": "north"})), EXACT, noise_of(*names))

"""A site's secret random numbers: the same for the same question, unlike for any other, and nobody else's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, RecordDict
from numpy.typing import NDArray
from scipy.stats import kstest

from clients.blur import SECRET, draw_for, new_secret
from clients.site import Site
from flower_pansvm import messages, records
from flower_pansvm.cutting_planes.cuts import Cuts, Question
from flower_pansvm.cutting_planes.packing import pack_problems, pack_questions, unpack_answers
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.settings import Scalar, Settings
from simulations.in_process import InProcessGrid
from strategies.federation import Federation

Draws = NDArray[np.float64]


def context(node: dict[str, Scalar], **config: object) -> Context:
    settings = Settings(**config)  # type: ignore[arg-type]
    return Context(1, 2, dict(node), RecordDict(), {**settings.to_config()})


def site(secret: bytes = b"a" * 32) -> Site:
    found = Site(context({"name": "north"}))
    found.keep(SECRET, secret)
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
    assert len(draw_for(site(new_secret(context({"name": "north"}))), "told")("blur", 10)) == 10


def test_a_hospitals_secret_is_new_in_every_run_and_a_simulated_sites_follows_from_the_seed() -> None:
    hospital = {"name": "north", "data": "table.csv"}
    secrets = {new_secret(context(hospital, seed=0)) for _ in range(3)}
    assert len(secrets) == 3
    assert {len(secret) for secret in secrets} == {32}

    def simulated(site: int, seed: int) -> bytes:
        return new_secret(context({"partition-id": site, "num-partitions": 3}, seed=seed))

    assert simulated(0, 0) == simulated(0, 0)
    assert len({simulated(site, seed) for site in range(3) for seed in range(3)}) == 9


# In a run


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings with which the rows themselves are a feature map that hospitals accept."""
    return replace(settings, kernel="linear")


def ask_cuts(federation: Federation, points: Draws, blur: int = 2, width: float = 1.0) -> tuple[Cuts, Draws]:
    """Ask for cuts of a linear map of the two features, and for the curvature at the first point."""
    scaling = {"fill": np.zeros((1, 2)), "shift": np.array([[50.0, 0.0]]), "scale": np.array([[10.0, 0.01]])}
    federation.broadcast(messages.SCALING, scaling)
    linear: dict[str, records.Value] = {"kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0}
    federation.broadcast(messages.landmark_set(0), {"scaling": 0, "landmarks": np.eye(2)})
    told = {**linear, "landmark_set": 0, "features": np.full(2, True), "normalization": np.eye(2)}
    federation.broadcast(messages.feature_map(0), told)
    problem, question = (
        Problem("", 2, 144.0, 1.0, Pair(1, REST)),
        Question(points, blur, points[0], width, leading=2),
    )
    sums = federation.secure_sum(messages.CUTS, {**pack_problems([problem]), **pack_questions([question])})
    (answer,) = unpack_answers(sums, [question])
    return answer.cuts, answer.curvature


POINT = np.array([[1.0, -2.0, 0.5]])


def test_the_same_point_gives_the_same_cut_however_often_it_is_asked(
    federation: Federation, ask_moments: Any
) -> None:
    ask_moments(federation)
    first, curvature = ask_cuts(federation, POINT)
    again, other_curvature = ask_cuts(federation, np.vstack([POINT, POINT + 1.0, POINT]))
    for place in (0, 2):
        # But for the last digits: the products of one point and of three are rounded differently.
        assert again.a[place] == pytest.approx(first.a[0], rel=1e-12, abs=1e-12)
        for part in ("d", "m", "loss"):
            assert getattr(again, part)[place] == pytest.approx(getattr(first, part)[0], rel=1e-12, abs=1e-12)
    assert (curvature == other_curvature).all()


def test_another_point_another_number_of_rows_and_another_width_are_drawn_for_afresh(
    federation: Federation, ask_moments: Any
) -> None:
    """The same selections otherwise: what differs are the draws of some rows of every site."""
    ask_moments(federation)
    first, curvature = ask_cuts(federation, POINT)
    nearby, _ = ask_cuts(federation, POINT + 1e-9)
    more, _ = ask_cuts(federation, POINT, blur=3)
    _, wider = ask_cuts(federation, POINT, width=1.0 + 1e-9)
    for cuts in (nearby, more):
        assert cuts.loss == pytest.approx(first.loss, rel=1e-6)
        assert abs(cuts.m - first.m)[0] > 1e-3
    assert np.abs(wider - curvature).max() > 1e-3


def test_hospitals_draw_anew_in_every_run(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: Callable[..., InProcessGrid],
    enrol: Callable[..., Federation],
    ask_moments: Any,
) -> None:
    found = []
    for run_id in (1, 2):
        federation = enrol(hospitals(settings, hospital_files, run_id=run_id), settings)
        ask_moments(federation)
        found.append(ask_cuts(federation, POINT))
    (first, curvature), (second, other) = found
    assert first.loss == second.loss
    assert abs(first.m - second.m)[0] > 1e-3
    assert np.abs(curvature - other).max() > 1e-3

"""Noise in the answers of sites: its size, that it is tilted about the point, and what it may do to the bounds."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.cutting_planes.noise import (
    HEIGHT,
    SLOPE,
    Noise,
    noise_in,
    normal,
    rows_to_blur,
)
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import REST, Pair
from strategies.master.noise_bounds import bounds_off, largest_noise
from strategies.master.progress import Progress
from strategies.steps.fitted_map import fit_map

Floats = NDArray[np.float64]
RANK, SITES = 4, 5


def draw_of(seed: int) -> object:
    def draw(purpose: str, count: int) -> Floats:
        return np.random.default_rng([seed, *purpose.encode()]).random(count)

    return draw


def cuts_of(question: Question) -> Cuts:
    count = len(question.points)
    return Cuts(np.ones((count, RANK)), np.zeros(count), np.full(count, 30.0), np.full(count, 20.0))


@pytest.fixture
def question() -> Question:
    points = np.array([[1.0, -2.0, 0.5, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    return Question(points, 2, points[0])


@pytest.fixture
def noise() -> Noise:
    return Noise(np.array([0.4, 0.2, 0.1, 0.3, 0.5]))


def summed(question: Question, noise: Noise, seed: int, heaviest: float = 1.0) -> Cuts:
    """Return the sum of five sites with the same rows, as the noise of each is its own."""
    exact = cuts_of(question)
    shares = [
        noise_in(exact, question, draw_of(SITES * seed + site), noise, sites=SITES, heaviest=heaviest)  # type: ignore[arg-type]
        for site in range(SITES)
    ]
    names = ("a", "d", "m", "loss")
    return Cuts(*(sum(getattr(exact, name) + getattr(one, name) for one in shares) for name in names))


def test_a_question_without_points_has_no_noise(question: Question, noise: Noise) -> None:
    none = Question(question.points[:0], 2, question.points[0])
    shares = noise_in(cuts_of(none), none, draw_of(0), noise, sites=SITES, heaviest=1.0)  # type: ignore[arg-type]
    assert (shares.a.shape, shares.d.shape, shares.m.shape, shares.loss.shape) == (
        (0, RANK),
        (0,),
        (0,),
        (0,),
    )


def test_numbers_are_normal() -> None:
    numbers = normal(draw_of(0), "any", 20_001)  # type: ignore[arg-type]
    assert len(numbers) == 20_001
    assert np.isfinite(normal(lambda _, count: np.zeros(count), "lowest", 3)).all()
    assert kstest(numbers, "norm").pvalue > 1e-4


@pytest.mark.parametrize("heaviest", [1.0, 3.0])
@pytest.mark.slow
def test_noise_of_all_sites_together_has_the_size_it_should_have(
    question: Question, noise: Noise, heaviest: float
) -> None:
    found = [summed(question, noise, seed, heaviest) for seed in range(400)]
    exact = SITES * cuts_of(question).a
    a = np.array([one.a - exact for one in found])
    np.testing.assert_allclose(a.std(axis=(0, 1)), heaviest * noise.slope[:-1], rtol=0.1)
    loss = np.array([one.loss for one in found])
    np.testing.assert_allclose(loss.std(axis=0), heaviest * HEIGHT, rtol=0.12)


def test_a_cut_stays_where_it_touches_the_loss(question: Question, noise: Noise) -> None:
    heights = []
    for seed in range(300):
        cuts = summed(question, noise, seed)
        planes = cuts.m - (question.points[:, :-1] * cuts.a).sum(axis=1) - question.points[:, -1] * cuts.d
        heights.append(planes)
    np.testing.assert_allclose(np.std(heights, axis=0), HEIGHT, rtol=0.15)


def test_the_same_question_gets_the_same_noise_and_another_one_other(
    question: Question, noise: Noise
) -> None:
    first, again = (summed(question, noise, 7) for _ in range(2))
    assert (first.a == again.a).all()
    other = summed(Question(question.points + 1e-9, 2, question.centre), noise, 7)
    assert (np.abs(other.a - first.a) > 1e-6).all()


def test_noise_is_never_beyond_what_the_coordinator_allows_for(question: Question, noise: Noise) -> None:
    most, exact = largest_noise(noise, question, 2.0), cuts_of(question)
    for seed in range(200):
        cuts = summed(question, noise, seed, heaviest=2.0)
        for name in ("a", "d", "m", "loss"):
            assert np.abs(getattr(cuts, name) - SITES * getattr(exact, name)).max() < most[name]


def test_narrow_tables_have_more_noise_than_wide_ones() -> None:
    landmarks = np.random.default_rng(0).standard_normal((6, 9))
    wide = Noise.of(fit_map(Kernel("rbf", gamma=0.1), landmarks))
    assert wide.slope[-1] == pytest.approx(SLOPE / 3.0)
    narrow = Noise.of(fit_map(Kernel("rbf", gamma=0.1), landmarks[:, :1]))
    assert narrow.slope[-1] == pytest.approx(SLOPE)


@pytest.mark.parametrize(("rank", "columns", "sites"), [(55, 6, 5), (40, 13, 5), (63, 2, 5), (14, 4026, 3)])
def test_a_difference_of_two_cuts_is_about_more_than_it_has_numbers(
    rank: int, columns: int, sites: int
) -> None:
    blur = rows_to_blur(rank, columns, sites)
    assert sites * blur * (columns + 1) >= 2 * (rank + 1)
    assert blur == 1 or sites * (blur - 1) * (columns + 1) < 2 * (rank + 1)


def test_bounds_off_is_what_noise_does_to_a_mean_of_cuts() -> None:
    """Three standard deviations of the error of sum beta (m - w.a - b d) at the best point, and of C times a loss."""
    noise = Noise(np.array([0.3, 0.1, 0.2]))
    best, points = np.array([1.0, 2.0, -1.0]), np.array([[0.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
    beta, C = np.array([0.5, 1.5]), 2.0
    generator = np.random.default_rng(0)
    slopes = noise.slope * generator.standard_normal((100_000, 2, 3))
    heights = HEIGHT * generator.standard_normal((100_000, 2))
    errors = (beta * (heights - (slopes * (best - points)).sum(axis=2))).sum(axis=1)
    off = bounds_off(points, beta, best, best, 0.0, C, noise, 1.0)
    assert off == pytest.approx(3.0 * (errors.std() + C * HEIGHT), rel=0.02)
    assert bounds_off(points, beta, best, best + 1.0, 0.0, C, noise, 1.0) > off
    assert bounds_off(points, beta, best, best, 0.0, C, noise, 2.0) == pytest.approx(2.0 * off)


def test_where_bounds_may_be_off_the_optimum_may_be_as_far_away_as_that_allows() -> None:
    """One cut at the best point, by hand: its noise is the tilt of the way to an optimum off + gap lower."""
    noise = Noise(np.array([0.3, 0.3, 0.0]))
    best, C, gap = np.array([1.0, 2.0, -1.0]), 2.0, 5.0
    for step in (1e-3, 0.5):
        solution = best + step * np.array([0.6, 0.8, 7.0])
        off = bounds_off(best[None, :], np.array([C]), best, solution, gap, C, noise, 1.0)
        distance = np.sqrt(2.0 * (gap + off))
        assert distance > step
        assert off == pytest.approx(3.0 * C * (np.hypot(0.3 * distance, HEIGHT) + HEIGHT), rel=1e-4)
    far = best + np.array([600.0, 800.0, 7.0])
    off = bounds_off(best[None, :], np.array([C]), best, far, gap, C, noise, 1.0)
    assert off == pytest.approx(3.0 * C * (np.hypot(300.0, HEIGHT) + HEIGHT))


@pytest.mark.parametrize(
    ("tol", "gap", "noise", "met"),
    [
        (1e-3, 9e-4, 0.0, True),
        (1e-3, 1.1e-3, 0.0, False),
        (1e-3, 2.9e-3, 2e-3, True),
        (1e-3, 3.1e-3, 2e-3, False),
        (1e-3, 5.1e-3, 4e-3, False),
        (0.02, 0.019, 0.04, True),
        (0.02, 0.021, 0.04, False),
        (1e-3, -0.1, 0.04, True),
        (1e-3, -0.1, 0.06, False),
    ],
)
def test_bounds_have_met_where_the_gap_is_small_or_little_more_than_little_noise(
    tol: float, gap: float, noise: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress(Problem("", 3, 10.0, 1.0, Pair(1, REST)))
    progress.upper, progress.lower = 1.0, 1.0 - gap
    monkeypatch.setattr(Progress, "noise", noise)
    assert progress.met(tol) == met

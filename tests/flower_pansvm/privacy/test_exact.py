"""A row's part in a sum is no larger than 1, and exact: the same whatever other rows there are."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flower_pansvm.fourier_map import BINS, FourierMap, bins, places
from flower_pansvm.labels import MOST_CLASSES
from flower_pansvm.privacy import exact
from flower_pansvm.privacy.discrete_noise import LARGEST_SCALE
from flower_pansvm.privacy.exact import CELL_STEP, STEP, TURN, UNIT, is_exact, rounded, shortened, waves
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.tasks import MOST_ROWS, PRIVATE_BOUND

numbers = st.floats(allow_nan=True, allow_infinity=True)
whole = st.integers(-(2**15), 2**15).map(float)


@given(arrays(np.float64, (6, 4), elements=whole), st.integers(0, 2**14), st.floats(0.01, 10))
def test_rows_are_never_longer_than_they_may_be(rows: np.ndarray, longest: int, least: float) -> None:
    for row in shortened(rows * CELL_STEP, CELL_STEP, longest * STEP, least):
        assert sum(Fraction(float(number)) ** 2 for number in row) <= Fraction(longest * STEP) ** 2
        assert is_exact(row, STEP, 1.0)


@pytest.mark.parametrize("square", [2**28, 2**28 - 1, 2**28 + 1, (2**21 - 1) ** 2 - 1, (2**21 - 1) ** 2])
def test_lengths_next_to_a_whole_number(square: int) -> None:
    """Where a rounded root could be too small by one."""
    first = int(np.sqrt(square))
    rest = square - first**2
    row = np.array([[first, *np.ones(min(rest, 4000))]], dtype=np.float64)
    (short,) = shortened(row * CELL_STEP, CELL_STEP, 1.0, 0.01)
    assert sum(Fraction(float(number)) ** 2 for number in short) <= 1


@given(arrays(np.float64, (5, 3), elements=st.integers(-8000, 8000).map(float)))
def test_short_slopes_stay_as_they_are(rows: np.ndarray) -> None:
    assert np.array_equal(shortened(rows * STEP, STEP, 1.0, 1.0), rows * STEP)


@pytest.mark.parametrize("amplitude", [1, 2, 100, 1143, 2**14 - 1, 2**14])
def test_no_phase_is_longer_than_the_amplitude(amplitude: int) -> None:
    phases = np.arange(TURN)[:, None] / TURN / CELL_STEP  # as frequencies of one step of a cell
    cosine, sine = waves(np.array([[CELL_STEP]]), phases, amplitude * STEP)
    assert (np.square(cosine / STEP) + np.square(sine / STEP) <= amplitude**2).all()
    assert np.abs(cosine / STEP - amplitude * np.cos(2 * np.pi * np.arange(TURN) / TURN)).max() <= 1 + 1e-6
    assert np.abs(sine / STEP - amplitude * np.sin(2 * np.pi * np.arange(TURN) / TURN)).max() <= 1 + 1e-6


@given(
    arrays(np.float64, 5, elements=numbers), st.sampled_from([STEP, 2.0**-18]), st.sampled_from([1.0, 64.0])
)
def test_what_is_rounded_is_exact(values: np.ndarray, step: float, largest: float) -> None:
    near = rounded(values, step, largest)
    assert is_exact(near, step, largest)
    inside = np.abs(values) <= largest
    assert (np.abs(near - values)[inside] <= step / 2).all()
    assert not is_exact(np.array([np.nan]), step, largest)
    assert not is_exact(np.array([step / 2]), step, largest)
    assert not is_exact(np.array([largest + step]), step, largest)


def test_the_bounds_of_all_sums_are_below_what_double_precision_holds() -> None:
    """The table in the module's docstring."""
    angle = exact.MOST_COLUMNS * exact.LARGEST_CELL * exact.LARGEST_FREQUENCY
    assert angle / (exact.CELL_STEP * exact.FREQUENCY_STEP) < 2**53
    decision = np.sqrt(exact.MOST_FEATURES) * exact.LARGEST_WEIGHT
    assert decision / (STEP * exact.WEIGHT_STEP) < 2**53
    assert MOST_ROWS * exact.UNIT < 2**53
    assert exact.MOST_COLUMNS * (exact.LARGEST_CELL / exact.CELL_STEP) ** 2 <= 2**42
    assert MOST_CLASSES * exact.UNIT < 2**42


@st.composite
def maps(draw: st.DrawFn, columns: int = 2) -> FourierMap:
    """Return any map that a site accepts, wild ones and those at the bounds among them."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1e-300, 1e-3, 1.0, 1e4, 1e300]))
    low = generator.normal(size=columns) * scale
    frequencies = generator.normal(size=(draw(st.integers(0, 6)), columns)) * scale
    return FourierMap(
        low,
        np.nextafter(low, np.inf) + generator.uniform(0, 2, size=columns) * scale,
        *generator.normal(size=(2, columns, BINS)) * scale,
        generator.normal(size=columns) * scale,
        generator.uniform(1e-9, 1, size=columns) * scale,
        exact.in_turns(frequencies),
        draw(st.sampled_from([0.0, 0.3, 1.0])),
    )


@given(maps(), arrays(np.float64, (4, 2), elements=numbers))
def test_no_map_makes_a_row_longer(feature_map: FourierMap, X: np.ndarray) -> None:
    """Whatever the coordinator sends as a map, and whatever is in the row."""
    assert feature_map.fits(2)
    for row in feature_map.transform(X):
        assert sum(Fraction(float(number)) ** 2 for number in row) <= 1
        assert is_exact(row, STEP, 1.0)


WRONG: dict[str, tuple[str, object]] = {
    "mean": ("mean", np.array([0.0, np.inf])),
    "deviation": ("deviation", np.array([0.0, 1.0])),
    "high": ("high", np.array([-np.inf, 1.0])),
    "ranks": ("ranks", np.full((2, BINS), np.nan)),
    "rises": ("rises", np.zeros((2, BINS + 1))),
    "frequency off the grid": ("frequencies", np.array([[1.0, 2.0**-19]])),
    "large frequency": ("frequencies", np.array([[1.0, 64.5]])),
    "many frequencies": ("frequencies", np.zeros((2050, 2))),
    "nan frequency": ("frequencies", np.array([[1.0, np.nan]])),
    "long linear part": ("linear", 1.0000001),
    "nan linear part": ("linear", np.nan),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_map_that_is_not_exact_does_not_fit(wrong: str) -> None:
    vectors, tables = np.ones((4, 2)) * [[0.0], [1.0], [0.5], [0.2]], np.zeros((2, 2, BINS))
    low, high, mean, deviation = vectors
    sound = FourierMap(low, high, *tables, mean, deviation, np.array([[1.0, -2.5]]), 0.5)
    assert sound.fits(2)
    assert not sound.fits(3)
    field, value = WRONG[wrong]
    assert not replace(sound, **{field: value}).fits(2)


@given(arrays(np.float64, (5, 2), elements=numbers), arrays(np.float64, (2, 2), elements=numbers))
def test_every_cell_that_is_there_is_in_one_bin(X: np.ndarray, ends: np.ndarray) -> None:
    found, there = bins(places(X, *ends)), ~np.isnan(X)
    assert ((found[there] >= 0) & (found[there] < BINS)).all()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [(-1, 0), (0, 0), (1e-9, 1), (0.5, 9), (0.51, 10), (1 - 1e-9, BINS - 2), (1, BINS - 1), (7, BINS - 1)],
)
def test_the_ends_have_bins_of_their_own(cell: float, expected: int) -> None:
    assert bins(places(np.array([[cell]]), np.array([0.0]), np.array([1.0]))).item() == expected


@pytest.mark.parametrize("sites", [1, 65, 512])
def test_words_hold_the_noises_own_unit_and_all_that_a_site_may_have(sites: int) -> None:
    """Else each site's sum would be rounded once more, with its own noise and not with that of all."""
    assert 2.0 ** scale_exponent(PRIVATE_BOUND, sites) >= UNIT
    assert MOST_ROWS + 60 * LARGEST_SCALE / UNIT <= PRIVATE_BOUND

"""How many features are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.selection.outcome import Point, choose


def points(*accuracies: tuple[int, float]) -> list[Point]:
    return [Point(features, accuracy, 0.0, None) for features, accuracy in accuracies]


def test_nothing_is_less_accurate_than_all_features() -> None:
    assert choose(points((3, 0.95), (2, 0.95 - 1e-16), (1, 0.949)), None) == 1
    assert choose(points((5, 0.90), (4, 0.95), (3, 0.948), (2, 0.946), (1, 0.80)), None) == 1
    assert choose(points((3, 0.95), (2, 0.94), (1, 0.93)), None) == 0


def test_equally_good_subsets_give_the_smallest_even_if_a_larger_one_is_worse() -> None:
    assert choose(points((4, 0.9), (3, 0.8), (2, 0.9), (1, 0.5)), None) == 2


@pytest.mark.parametrize(("wanted", "index"), [(100, 0), (99, 0), (90, 1), (50, 2), (12, 2), (10, 3), (1, 3)])
def test_a_wanted_number_is_met_or_the_next_larger_subset_chosen(wanted: int, index: int) -> None:
    assert choose(points((100, 0.5), (90, 0.6), (50, 0.9), (10, 0.1)), wanted) == index


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_what_is_chosen_is_as_accurate_as_the_best(accuracies: list[float]) -> None:
    found = points(*((len(accuracies) - index, accuracy) for index, accuracy in enumerate(accuracies)))
    accuracy = accuracies[choose(found, None)]
    assert accuracy >= max(accuracies) - 1e-9

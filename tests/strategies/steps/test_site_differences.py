"""What differs between sites by mistake is told; what differs as patients do is not."""

import re

import numpy as np
import pytest

from strategies.steps.site_differences import class_differences, range_differences, share_differences

CLASSES: dict[str, tuple[list[str], list[list[str]]]] = {
    "one site counts from one": (["01", "01", "12"], [["s2", "names 2", "never 0"]]),
    "two of five do": (["01", "01", "01", "12", "12"], [["s3, s4", "name 2", "never 0"]]),
    "of two, one": (["01", "12"], [["s0", "names 0", "never 2"]]),
    "words": (["case control", "0 1", "0 1"], [["s0", "names case, control", "never 0, 1"]]),
    "a typing error": (["01", "017", "01"], [["s1", "names 7:", "misspelt"]]),
    "two typing errors": (["018", "017", "01"], [["s1", "names 7:"], ["s0", "names 8:"]]),
    "a sign": (["-1 1", "-1 1", "0 1"], [["s2", "names 0", "never -1"]]),
    "half of four": (["01", "01", "12", "12"], [["s0, s1", "name 0", "never 2"]]),
    "all other": (["a b", "c d", "e f"], [["s0", "a, b"], ["s1", "c, d"], ["s2", "e, f"]]),
    "all alike": (["01", "01", "01"], []),
    "one lacks a class": (["012", "012", "01"], []),
    "two lack a class": (["012", "012", "01", "01"], []),
    "one class at one": (["01", "01", "1"], []),
    "nobody names any": (["", "", ""], []),
    "one names none": (["01", "", "01"], []),
    "of two, one lacks a class": (["01", "012"], []),
    "of many classes most lack some": (["abc", "bcd", "cde", "abe", "ade"], []),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes(case: str) -> None:
    named, expected = CLASSES[case]
    sites = {f"s{n}": one.split() if " " in one else list(one) for n, one in enumerate(named)}
    found = class_differences(sites)
    assert len(found) == len(expected), found
    for text, words in zip(found, expected, strict=True):
        assert all(word in text for word in words), text


INF = np.inf
RANGES: dict[str, tuple[list[tuple[float, float]], list[str]]] = {
    "another unit": ([(3, 9), (4, 8), (60, 150)], ["s2 .* above"]),
    "below": ([(60, 150), (3, 9), (70, 120)], ["s1 .* below"]),
    "of two, one": ([(3, 9), (60, 150)], ["s1 .* above"]),
    "overlapping": ([(3, 9), (4, 8), (8.5, 150)], []),
    "touching": ([(3, 9), (9, 12)], []),
    "always the same at one": ([(0, 1), (0, 1), (2, 2)], []),
    "all patients alike": ([(0, 0), (1, 1), (0, 1)], []),
    "no cell at one": ([(3, 9), (INF, -INF), (60, 150)], ["s2 .* above"]),
    "no cell anywhere": ([(INF, -INF), (INF, -INF)], []),
    "two each": ([(3, 9), (4, 8), (60, 150), (70, 140)], []),
}


@pytest.mark.parametrize("case", RANGES)
def test_ranges(case: str) -> None:
    ends, expected = RANGES[case]
    extremes = {f"s{n}": (np.array([low, 0.0]), np.array([high, 1.0])) for n, (low, high) in enumerate(ends)}
    found = range_differences(["glucose", "sex"], extremes)
    assert len(found) == len(expected), found
    for text, words in zip(found, expected, strict=True):
        assert "'glucose'" in text
        assert re.search(words, text)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"a": [30, 9], "b": [25, 5], "c": [8, 40]}, ["c"]),
        ({"a": [30, 9], "b": [8, 40]}, []),  # of two nobody knows which
        ({"a": [30, 9], "b": [25, 5], "c": [20, 22]}, []),  # about as many of each
        ({"a": [30, 9], "b": [25, 5], "c": [8, 40], "d": [4, 30]}, []),  # two camps
        ({"a": [30, 9], "b": [25, 5], "c": [0, 0], "d": [1, 9]}, ["d"]),  # a site that has disclosed none
    ],
)
def test_a_site_whose_classes_are_the_other_way_round_is_told(
    rows: dict[str, list[float]], told: list[str]
) -> None:
    found = share_differences(
        ("0", "1"), {site: np.array(counts, dtype=float) for site, counts in rows.items()}
    )
    assert [text.split()[3] for text in found] == told

"""The plots stay readable with one problem and with hundreds."""

from typing import Any

import numpy as np
import pytest

from strategies.report.plots import convergence_figure, selection_figure


def result(problems: int) -> dict[str, Any]:
    objective = [{"problem": f"class {number}"} for number in range(problems)]
    return {
        "objective": objective[0] if problems == 1 else objective,
        "convergence": [
            [(100.0, 100.0 - 90.0 / 10**number) for number in range(2 + problem % 3)]
            for problem in range(problems)
        ],
        "tolerance": 1e-3,
    }


@pytest.mark.parametrize("problems", [1, 3, 26])
def test_each_problem_has_a_line_and_a_few_have_names(problems: int) -> None:
    (axes,) = convergence_figure(result(problems)).axes
    drawn = [line for line in axes.lines if line.get_linestyle() != "--"]
    assert len(drawn) == problems
    assert (axes.get_legend() is not None) == (problems == 3)


@pytest.mark.parametrize("bounds", [[(10.0, 5.0), (8.0, 8.0)], [(0.0, 0.0)]])
def test_a_gap_of_zero_does_not_stretch_the_axis(bounds: list[tuple[float, float]]) -> None:
    (axes,) = convergence_figure({**result(1), "convergence": [bounds]}).axes
    assert axes.get_ylim()[0] > 1e-6


def selected(counts: list[int], chosen: int, tested: bool = True) -> dict[str, Any]:
    points = [
        {"features": count, "accuracy": 0.99 - 0.0001 * count, "deviation": 0.02}
        | {"test_accuracy": 0.9 if tested else None}
        for count in counts
    ]
    return {
        "accuracy_by_count": points,
        "selected": ["a feature"] * chosen,
        "ranking": ["a feature"] * max(counts),
        "filters": None,
        "config": {"cv-folds": 5},
    }


def test_accuracy_is_drawn_for_each_number_of_features_and_the_chosen_is_marked() -> None:
    figure = selection_figure(selected([30, 20, 10, 1], 10))
    (axes,) = figure.axes
    folds, tested, _, chosen = axes.lines
    assert list(np.asarray(folds.get_xdata())) == [1, 10, 20, 30]
    assert np.asarray(folds.get_ydata()) == pytest.approx([0.9899, 0.989, 0.988, 0.987])
    assert np.asarray(tested.get_ydata()) == pytest.approx([0.9] * 4)
    assert (chosen.get_xdata(), chosen.get_ydata()) == ([10], [pytest.approx(0.989)])
    assert axes.get_xscale() == "linear"
    (band,) = axes.collections
    assert band.get_datalim(axes.transData).y1 == 1  # no accuracy is above 1
    assert [text.get_text() for text in axes.get_legend().get_texts()][1:] == ["test rows", "chosen: 10"]


def test_without_test_rows_only_the_folds_are_drawn() -> None:
    figure = selection_figure(selected([30, 20, 10, 1], 10, tested=False))
    assert "test rows" not in {text.get_text() for text in figure.axes[0].get_legend().get_texts()}


def test_a_selection_of_one_number_of_features_is_no_plot() -> None:
    assert selection_figure(selected([1], 1)) is None


def test_what_the_filters_removed_is_not_drawn() -> None:
    result = selected([2000, 30, 20, 10, 1], 10)
    result["filters"] = {"kept": ["a feature"] * 30}
    (axes,) = selection_figure(result).axes
    assert max(np.asarray(axes.lines[0].get_xdata())) == 30

"""The plots stay readable with one problem and with hundreds, with whole grids and with failed points."""

from typing import Any

import numpy as np
import pytest
from matplotlib.image import AxesImage

from simulations.report.plots import convergence_figure, grid_figure, selection_figure


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


def grid(Cs: list[float], gammas: list[float | None]) -> dict[str, Any]:
    points = [
        {"C": C, "gamma": gamma, "accuracy": 0.8 + 0.01 * number, "deviation": 0.02, "failure": ""}
        for number, (C, gamma) in enumerate((C, gamma) for C in Cs for gamma in gammas)
    ][::-1]
    return {"C": points[0]["C"], "gamma": points[0]["gamma"], "grid": points}


@pytest.mark.parametrize(("problems", "lines"), [(1, 1), (3, 3), (8, 8), (26, 2), (325, 2)])
def test_few_problems_have_a_line_each_and_many_a_band(problems: int, lines: int) -> None:
    (axes,) = convergence_figure(result(problems)).axes
    drawn = [line for line in axes.lines if len(line.get_xdata()) > 2 or line.get_linestyle() != "--"]
    assert len(drawn) == lines
    assert len(axes.collections) == (1 if problems > 8 else 0)
    if problems > 8:
        worst = np.asarray(drawn[0].get_ydata())
        assert worst == pytest.approx([0.9, 0.09, 0.09, 0.09])
        assert f"{problems} problems" in axes.get_legend().get_title().get_text()


def test_a_gap_of_zero_does_not_stretch_the_axis() -> None:
    solved = result(1)
    solved["convergence"] = [[(10.0, 5.0), (8.0, 8.0)]]
    (axes,) = convergence_figure(solved).axes
    assert axes.get_ylim()[0] > 1e-6


def test_a_problem_with_an_objective_of_zero_has_no_gap() -> None:
    solved = result(1)
    solved["convergence"] = [[(0.0, 0.0)]]
    assert convergence_figure(solved).axes


def test_two_chosen_values_make_a_heat_map_with_every_accuracy() -> None:
    found = grid([1.0, 4.0, 16.0], [0.1, 0.5])
    found["grid"][-1] |= {"accuracy": None, "deviation": None, "failure": "too large"}
    figure = grid_figure(found)
    axes = figure.axes[0]
    texts = {text.get_text() for text in axes.texts}
    assert texts == {"0.850", "0.840", "0.830", "0.820", "0.810", "failed"}
    (image,) = (child for child in axes.get_children() if isinstance(child, AxesImage))
    assert image.get_array().shape == (3, 2)


def test_a_large_grid_has_no_room_for_numbers() -> None:
    figure = grid_figure(grid([float(C) for C in range(1, 31)], [float(gamma) for gamma in range(1, 31)]))
    assert not figure.axes[0].texts


@pytest.mark.parametrize(
    ("Cs", "gammas", "name"),
    [([1.0, 4.0], [None], "C"), ([1.0, 4.0], [0.1], "C"), ([1.0], [0.1, 0.5], "gamma")],
)
def test_one_chosen_value_makes_a_line(Cs: list[float], gammas: list[float | None], name: str) -> None:
    figure = grid_figure(grid(Cs, gammas))
    assert figure.axes[0].get_xlabel() == name


def test_a_single_point_is_no_plot() -> None:
    assert grid_figure(grid([1.0], [0.1])) is None


def selected(counts: list[int], chosen: int, tested: bool = True) -> dict[str, Any]:
    points = [
        {"features": count, "accuracy": 0.99 - 0.0001 * count, "deviation": 0.02}
        | {"test_accuracy": 0.9 if tested else None}
        for count in counts
    ]
    return {
        "accuracy_by_count": points,
        "selected": ["a feature"] * chosen,
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


def test_thousands_of_features_have_a_logarithmic_axis_with_plain_numbers() -> None:
    figure = selection_figure(selected([7129, 3000, 1000, 100, 10, 1], 100))
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    figure.canvas.draw()
    shown = [text.get_text() for text in axes.get_xticklabels() if 1 <= text.get_position()[0] <= 7129]
    assert shown == ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000", "2000", "5000"]


def test_a_selection_of_one_number_of_features_is_no_plot() -> None:
    assert selection_figure(selected([1], 1)) is None


def test_all_features_are_not_joined_to_those_that_the_filters_left() -> None:
    result = selected([2000, 30, 20, 10, 1], 10)
    result["filters"] = {"kept": ["a feature"] * 30}
    figure = selection_figure(result)
    (axes,) = figure.axes
    assert (
        max(max(np.asarray(line.get_xdata())) for line in axes.lines if len(np.asarray(line.get_xdata())) > 2)
        == 30
    )
    assert "before the filters" in {text.get_text() for text in axes.get_legend().get_texts()}
    assert axes.get_xlim()[1] > 2000

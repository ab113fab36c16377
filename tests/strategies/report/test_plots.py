"""The plots stay readable with one problem and with hundreds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from simulations.comparison.plots import accuracy_figure, limits_of
from simulations.comparison.summary import frame
from strategies.report.curves import bands_of, roc_curves
from strategies.report.plots import calibration_figure, convergence_figure, roc_figure, selection_figure
from strategies.report.section import svg
from tests.simulations.comparison.conftest import line

LAY_OUT = ConstrainedLayoutEngine.execute


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


TWO = {
    "classes": ["healthy", "ill"],
    "decision_groups": [[{"others": 2, "of_class": 1, "probability": 0.5}] * 2],
}
LONG_NAME = "a strategy of a long name"
RUNS = frame([line(LONG_NAME, repeat, accuracy=0.8 + 0.1 * repeat) for repeat in range(2)])


@pytest.mark.parametrize(
    "plotted",
    [
        pytest.param(lambda: roc_figure(TWO, roc_curves(TWO)), id="roc"),
        pytest.param(lambda: calibration_figure(bands_of(TWO)), id="calibration"),
        pytest.param(lambda: convergence_figure(result(3)), id="convergence"),
        pytest.param(lambda: selection_figure(selected([3000, 30, 10, 1], 10)), id="selection"),
        pytest.param(lambda: accuracy_figure(RUNS, limits_of(RUNS), [LONG_NAME], []), id="accuracy"),
    ],
)
def test_each_plot_is_laid_out_within_its_edges_and_drawn_once(
    plotted: Callable[[], Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", LAY_OUT)
    figure, drawn = plotted(), []
    (axes,) = figure.axes
    draw, before = axes.draw, axes.get_position().bounds
    monkeypatch.setattr(axes, "draw", lambda renderer: drawn.append(renderer) or draw(renderer))
    assert "<svg" in svg(figure)
    assert len(drawn) == 1
    assert axes.get_position().bounds != before
    edges = figure.get_tightbbox()
    assert min(edges.x0, edges.y0, *(figure.get_size_inches() - edges.max)) > -0.01

"""The grid as a person sees it, and the command that trains with its best point again."""

import io
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from flower_pansvm.errors import SettingError
from simulations import running
from strategies.constraints import number_text
from strategies.report import tuning
from strategies.settings import Settings, make_settings
from tests.command_line import Run


def point(C: float, gamma: float | None, accuracy: float | None, failure: str = "") -> dict[str, Any]:
    deviation, gap = (None, None) if accuracy is None else (0.0123, 0.0089)
    figures = {"accuracy": accuracy, "deviation": deviation, "gap": gap, "failure": failure}
    return {"C": C, "gamma": gamma, **figures}


def chosen(*grid: dict[str, Any]) -> dict[str, Any]:
    return {"C": grid[0]["C"], "gamma": grid[0]["gamma"], "cut_rounds": 9, "grid": list(grid)}


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_number_is_the_same_when_it_is_read_again(value: float) -> None:
    assert float(number_text(value)) == value


def test_the_table_has_a_line_for_each_point_and_says_why_one_failed() -> None:
    worst = point(1.0, 1e300, None, "The kernel is too large.")
    console = Console(file=io.StringIO(), width=80)
    console.print(tuning.grid_table(chosen(point(4.0, 0.5, 0.95), point(1.0, 0.5, 0.9), worst)))
    title, best, second, failed = console.file.getvalue().splitlines()
    assert title.split() == ["C", "gamma", "accuracy", "gap", "why", "it", "failed"]
    assert best.split() == ["4", "0.5", "0.9500", "±", "0.0123", "9e-03"]
    assert second.split() == ["1", "0.5", "0.9000", "±", "0.0123", "9e-03"]
    assert failed.split() == ["1", "1e+300", "failed", "The", "kernel", "is", "too", "large."]


@pytest.mark.parametrize(
    ("grid", "at_the_edge"),
    [
        ([(1.0, 0.5), (4.0, 0.5), (16.0, 0.5)], ["C"]),
        ([(4.0, 0.5), (1.0, 0.5), (16.0, 0.5)], []),
        ([(4.0, 0.5), (1.0, 0.1), (16.0, 0.1)], ["gamma"]),
        ([(4.0, None)], []),
    ],
)
def test_a_best_value_at_the_edge_of_the_grid_is_told(
    grid: list[tuple[float, float | None]], at_the_edge: list[str]
) -> None:
    assert (
        tuning.edges(chosen(*(point(*one, 0.9 - 0.1 * place) for place, one in enumerate(grid))))
        == at_the_edge
    )


def test_an_edge_is_not_told_where_another_value_is_as_accurate() -> None:
    settings = [(1.0, 0.5), (4.0, 0.5), (16.0, 0.1)]
    assert tuning.edges(chosen(*(point(C, gamma, 0.9) for C, gamma in settings))) == []
    tied = [point(1.0, 0.5, 0.9), point(1.0, 0.1, 0.9), point(4.0, 0.1, 0.8), point(16.0, 0.5, 0.8)]
    assert tuning.edges(chosen(*tied)) == ["C"]


def test_a_choice_among_settings_that_are_no_better_than_no_model_is_told() -> None:
    few = {"classes": ["no", "yes"], "rows_train_by_class": [98, 2], "config": {"class-weight": "none"}}
    found = {**few, "chosen": chosen(point(1.0, 0.5, 0.98), point(4.0, 0.5, 0.98))}
    assert "who always says “no” has 98.00%" in tuning.tells_little(found)
    balanced = {**found, "config": {"class-weight": "balanced"}}
    assert tuning.tells_little(balanced) == ""
    assert "has 50.00%" in tuning.tells_little({**balanced, "chosen": chosen(point(1.0, 0.5, 0.5))})
    weighed = {**found, "config": {"class-weight": "1,49"}, "chosen": chosen(point(1.0, 0.5, 0.5))}
    assert "has 50.00%" in tuning.tells_little(weighed)
    assert tuning.tells_little({**found, "chosen": chosen(point(1.0, 0.5, 0.995))}) == ""
    assert tuning.tells_little({**found, "rows_train_by_class": None}) == ""


@pytest.mark.parametrize(
    "settings",
    [
        make_settings(C="auto", gamma="auto"),
        make_settings(C="1,4,16"),
        make_settings(C=2.5, gamma="1,2", cv_folds=3),
        make_settings(C="auto", gamma="auto", kernel="linear", probability=True, tol=1e-4),
        make_settings(C="auto", sites=4, seed=7, landmarks="0.1", test_fraction=0.0),
    ],
)
def test_the_command_trains_with_the_same_settings_and_the_chosen_point(
    settings: Settings, pansvm: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gamma = None if settings.kernel == "linear" else 0.0125
    found = chosen(point(4.0, gamma, 0.95))
    file = tmp_path / "two words.csv"
    pd.DataFrame({"a": range(90), "label": [0, 1] * 45}).to_csv(file, index=False)
    settings = replace(settings, data=str(file))
    result = {"config": settings.to_config(), "chosen": found}
    program, *words = shlex.split(tuning.command(result))
    assert program == "pansvm"

    seen: list[Settings] = []

    def stop(settings: Settings, *_: object, **__: object) -> None:
        seen.append(settings)
        raise SettingError("enough")

    monkeypatch.setattr(running, "run", stop)
    err = pansvm.error(*words)
    assert err.endswith("Error: enough\n")
    expected = replace(
        settings,
        C=4.0 if isinstance(settings.C, tuple) else settings.C,
        gamma="scale" if gamma is None else 0.0125 if settings.tunes_gamma else settings.gamma,
        out=seen[0].out,
    )
    assert seen == [expected]


def test_the_command_names_each_of_several_files() -> None:
    settings = make_settings(data="/a/north west.csv|/b/south.csv", sites=3, C="auto")
    result = {"config": settings.to_config(), "chosen": chosen(point(4.0, 0.5, 0.9))}
    words = tuning.command(result)
    assert words == "pansvm run --data '/a/north west.csv' --data /b/south.csv --sites 3 --C 4"


def test_the_best_of_several_settings_is_said_to_look_too_good() -> None:
    """Of labels by a coin the best of twelve settings had 54 % over the folds, and 50 % of new patients."""
    several = chosen(point(1.0, 0.5, 0.9), point(2.0, 0.5, 0.8))
    assert "the test rows had no part" in tuning.too_good({"chosen": several, "accuracy": 0.8})
    assert tuning.too_good({"chosen": several, "accuracy": None}).endswith("too good for that.")
    assert tuning.too_good({"chosen": chosen(point(1.0, 0.5, 0.9)), "accuracy": 0.8}) == ""

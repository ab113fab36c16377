"""What a run shows while it lasts: on a terminal a line that moves, elsewhere plain lines."""

import io

import pytest
from rich.console import Console

from strategies.run_display import RunDisplay

LOG = [
    "pan-svm with secure sum 'ring', 5 sites",
    "join begins",
    "waiting for south, west",
    "join               7.2 s  1 round trip",
    "cutting planes begins",
    "cutting planes, round   1: upper bound 70.7369, lower bound 29.0911, gap 6.1e-01, of which 2.1e-02 noise",
    "cutting planes, round   2: upper bound 68.1402, lower bound 61.8719, gap 6.1e-02 (class 1; 2 of 3 open)",
    "cutting planes     1.8 s  5 round trips",
]


def shown(lines: list[str], **options: bool) -> str:
    """Return what is written into a pipe."""
    console = Console(file=io.StringIO(), force_terminal=False, width=160, highlight=False, markup=False)
    with RunDisplay(console, **options) as display:
        for line in lines:
            display.show(line)
    return console.file.getvalue()


def test_in_a_pipe_each_line_stays_but_those_that_only_say_what_begins() -> None:
    lines = shown(LOG).splitlines()
    assert lines == [line for line in LOG if not line.endswith("begins")]


@pytest.mark.parametrize("stamp", ["", "2026-11-23 07:30:00  "])
def test_on_a_terminal_the_phases_stay_and_rounds_move(stamp: str) -> None:
    """The lines of SuperNodes have the time in front."""
    console = Console(file=io.StringIO(), force_terminal=True, width=60, highlight=False, soft_wrap=True)
    with RunDisplay(console) as display:
        for line, moving in (
            (LOG[2], "waiting for south, west"),
            (LOG[5], "cutting planes, round   1: upper"),
        ):
            display.show(stamp + line)
            (shown_line,) = "".join(part.text for part in console.render(display._moving)).splitlines()
            assert moving in shown_line
            assert len(shown_line) <= 60
        for line in LOG[3:]:
            display.show(stamp + line)
    stayed = console.file.getvalue()
    assert f"{stamp}join               7.2 s" in stayed
    assert stamp + LOG[5] not in stayed


def test_a_selection_of_a_thousand_features_shows_a_page() -> None:
    steps, left = [], 1000
    while left > 1:
        steps += [f"cutting planes, round {number:3d}: upper bound 1, gap 1e-2" for number in range(1, 9)]
        steps += [f"class a stops at a gap of {left}e-06, where its bounds stall"]
        steps += [f"{left:4d} features, accuracy 0.9000: x removed by rank (2 round trips, 0.10 MB)"]
        left -= max(1, left // 20)
    lines = shown([*LOG, *steps, "selection  12.5 s  99 round trips"], brief=True).splitlines()
    assert len(steps) > 800
    assert len(lines) < 40
    assert sum("bounds stall" in line for line in lines) == 1
    assert lines[-1].startswith("selection")
    assert any(line.startswith("1000 features") for line in lines)
    assert any(line.startswith("   2 features") for line in lines)


def test_it_is_known_whether_somebody_has_said_how_to_go_on() -> None:
    display = RunDisplay(Console(file=io.StringIO()))
    display.show("join begins")
    assert not display.offered
    display.show("the run stopped; go on with: pansvm run --resume out")
    assert display.offered

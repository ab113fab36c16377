"""Texts from elsewhere before they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.printable import is_printable, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Alter (Jahre), µg/ml – 年齢", "Alter (Jahre), µg/ml – 年齢"),
        ("no\u00a0break", "no\u00a0break"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\ud800", "\\ud800"),
        ("line\u2028end", "line\\u2028end"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert is_printable(text) == (text == shown)


@given(st.text(st.characters(), max_size=50), st.integers(1, 20))
def test_a_shown_text_is_printable_and_not_longer_than_said(text: str, most: int) -> None:
    shown = printable(text, most)
    assert is_printable(shown)
    assert len(shown) <= most + 2

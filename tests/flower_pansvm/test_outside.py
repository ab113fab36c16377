"""Documents from outside: what both parsers read within the limits, and what is refused before they are asked."""

import json
import math
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.outside import DEEPEST, LONGEST, parse_document

BAD = {
    "brackets": ("json", "[" * 10**5),
    "closed brackets": ("json", "[" * 10**5 + "]" * 10**5),
    "objects": ("json", '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)),
    "a large number": ("json", str(10**400)),
    "a large exponent": ("json", "1e400"),
    "half a pair": ("json", '{"a": ["\\ud800"]}'),
    "half a pair as a name": ("json", '{"\\ud800": 1}'),
    "a name twice": ("json", '{"a": 1, "a": 2}'),
    "too long": ("json", " " * LONGEST + "1"),
    "no JSON": ("json", "{"),
    "dotted": ("toml", ".".join("a" * 8000) + " = 1"),
    "dotted with blanks": ("toml", " \t. ".join("a" * 8000) + " = 1"),
    "dotted in quotes": ("toml", ".".join(["'a=,]'", '"\\"#["'] * 4000) + " = 1"),
    "a dotted table": ("toml", f"[{'.'.join('a' * 8000)}]"),
    "dotted after a string that ends in five": ("toml", 'b = """x"""""\n' + ".".join("a" * 8000) + " = 1"),
    "dotted in an inline table": ("toml", "b = {" + ".".join("a" * 8000) + " = 1}"),
    "TOML brackets": ("toml", "a = " + "[" * 10**5),
    "a large whole number": ("toml", f"a = {10**400}"),
    "a large float": ("toml", "a = 1e400"),
    "no TOML": ("toml", "= this is no toml ["),
    "an open string": ("toml", 'a = """' + '"\\' * 10**5),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_beyond_the_limits_or_no_document_is_refused_in_little_memory(bad: str) -> None:
    form, text = BAD[bad]
    tracemalloc.start()
    with pytest.raises(ValueError):  # noqa: PT011 - of any text
        parse_document(text, form)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * LONGEST


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(VALUES)
def test_any_document_of_json_is_read_as_python_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert parse_document(text, "json") == json.loads(text)


def test_strings_and_comments_may_hold_brackets_dots_and_quotes() -> None:
    text = (
        "a.'b.c'.\"d[\" = 1 # [[[ ' \" a.b\n"
        f"s = '{'[' * 99}' \n"
        f'm = """{"{" * 99} "" \\""" {".".join("x" * 99)}"""""\n'
        f"l = '''\n{'.'.join('y' * 99)} ' '''\n"
        "floats = [" + ", ".join(["0.5"] * 99) + "]\n"
    )
    found = parse_document(text, "toml")
    assert found["a"]["b.c"]["d["] == 1
    assert found["s"] == "[" * 99
    assert found["m"].endswith('x""')
    assert math.isclose(sum(found["floats"]), 49.5)

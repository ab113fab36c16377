"""A report of a ``result.json`` that was changed: a page, or an error that says so."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flower_pansvm.errors import SettingError
from flower_pansvm.result_file import RESULT_FILE
from strategies.report.page import REPORT_FILE, write_report
from tests.command_line import Run, finished

Place = tuple[str | int, ...]

WRONG = (
    *(None, True, -1, 0, 10**300, float("nan"), float("inf"), 1e-320),
    *("", "=1+1", "<b>", [], {}, [[]], [None], {"x": 1}),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what runs have written: one with a chosen grid, a selection, and one of differential privacy."""
    return [
        finished(tmp_path_factory.mktemp("run"), **changes)
        for changes in (
            {"C": "1,4", "gamma": 0.1, "probability": True, "audit": True},
            {"strategy": "voted-wrapper", "step": 0.5, "data": "wine"},
            {"strategy": "dp-svm"},
        )
    ]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Return where in a result something is, the entries of long lists and all that they hold left out."""
    if here:
        yield here
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, entry in inner:
        yield from places(entry, (*here, key))


def with_change(
    result: dict[str, Any], place: Place, change: Callable[[Any, str | int], None]
) -> dict[str, Any]:
    changed = copy.deepcopy(result)
    parent: Any = changed
    for key in place[:-1]:
        parent = parent[key]
    change(parent, place[-1])
    return changed


def assert_a_page_or_an_error(folder: Path, result: object) -> None:
    (folder / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")
    (folder / REPORT_FILE).unlink(missing_ok=True)
    try:
        assert write_report(folder).exists()
    except SettingError as error:
        assert RESULT_FILE in str(error)  # noqa: PT017 - some changes do no harm
        assert not (folder / REPORT_FILE).exists()


@pytest.mark.slow(minutes=1)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.filterwarnings("ignore")  # of matplotlib and numpy about numbers that are none
@given(data=st.data())
def test_a_changed_entry_gives_a_page_or_an_error(
    results: list[dict[str, Any]], tmp_path: Path, data: st.DataObject
) -> None:
    result = data.draw(st.sampled_from(results))
    place = data.draw(st.sampled_from(list(places(result))))
    wrong = data.draw(st.sampled_from(WRONG))
    change: Callable[[Any, str | int], None] = data.draw(
        st.sampled_from(
            [lambda parent, key: parent.pop(key), lambda parent, key: parent.__setitem__(key, wrong)]
        )
    )
    assert_a_page_or_an_error(tmp_path, with_change(result, place, change))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["accuracy", "classes", "confusion", "phases", "config", "disclosed"])
@pytest.mark.parametrize("wrong", ["left out", [], 7, "text", {"x": [None]}], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_entries_that_every_report_needs(
    key: str, wrong: object, results: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = {**results[0], key: wrong}
    if wrong == "left out":
        del result[key]
    assert_a_page_or_an_error(tmp_path, result)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"7", b"\xff", b"{}", b"[" * 100_000, b"1" * 10_000, b'{"classes": null}'],
    ids=["empty", "cut", "list", "null", "number", "bytes", "nothing in it", "deep", "digits", "an entry"],
)
@pytest.mark.parametrize(
    "command", [("report", "out"), ("predict", "out/model.npz", "rows.csv")], ids=" ".join
)
def test_what_is_no_result_is_an_error(
    content: bytes, command: tuple[str, ...], pansvm: Run, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / RESULT_FILE).write_bytes(content)
    err = pansvm.error(*command)
    assert err.startswith("Error: ")
    assert "result.json" in err

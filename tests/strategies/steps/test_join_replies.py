"""What a site says of itself when it joins, and what comes back malformed later: errors that name the site."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

from flower_pansvm import records
from flower_pansvm.errors import FederationError, PanSVMError
from flower_pansvm.summing import RELAY
from flower_pansvm.systems.common import JOIN
from flower_pansvm.systems.scaling import MOMENTS, ExtremesAnswer
from flower_pansvm.tasks import Task
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import make_settings
from strategies.steps.scaling import check_extremes
from tests.conftest import MakeGrid
from tests.grids import forge

Change = Callable[[RecordDict], None]


def put_part(group: str, **parts: Any) -> Change:
    """Return a change of a reply that puts parts into a group in place of its own."""

    def change(content: RecordDict) -> None:
        records.put(content, group, {**records.get(content, group), **parts})

    return change


def put_texts(content: RecordDict) -> None:
    """Put in place of the columns an array of texts, as Flower writes one."""
    content["disclosed.arrays"] = ArrayRecord({"columns": Array(np.array(["age"]))})


def drop_part(group: str, part: str) -> Change:
    def change(content: RecordDict) -> None:
        left = {name: value for name, value in records.get(content, group).items() if name != part}
        records.put(content, group, left)

    return change


def drop_group(group: str) -> Change:
    def change(content: RecordDict) -> None:
        for half in ("arrays", "values"):
            del content[f"{group}.{half}"]

    return change


def run(
    hospitals: MakeGrid, files: list[Path], task: Task, change: Change, config: dict[str, Any] | None = None
) -> None:
    """Run a training in which the second hospital's reply to a task is changed on its way."""
    settings = make_settings(sites=3, min_cluster=2, timeout=5, **(config or {}))
    grid = hospitals(settings, files, {"aggregation": settings.aggregation})

    def changed(message: Message, reply: Message) -> None:
        kind, node = message.metadata.message_type, message.metadata.dst_node_id
        if kind == task.message_type and node == 3 and reply.has_content():
            change(reply.content)

    PanSVM(settings).start(forge(grid, changed))


WRONG: dict[str, list[Any]] = {
    "public_key": ["text", 7, bytes(31), np.arange(3)],
    "published": [1.5, bytes(2**17)],
    "signature": [bytes(63)],
    "schema": ["ours"],
    "absent_is_zero": [1],
    "columns": [
        np.arange(3.0),
        "age",
        [1, 2],
        *(["age", name] for name in ("age", "do\x1bse", "x" * 501, "")),
    ],
    "classes": [list(map(str, range(1001))), ["0", "1\n2"]],
    "rows": [np.ones(2)],
    "version": ["0.0.9\x1b"],
}
"""What a site cannot say of itself; of rows it says nothing."""


@pytest.mark.parametrize(
    "name", ["", " north", "north ", "a/b", "..\\x", "a\nb", "\x1b[2J", "x" * 65, "\u202en"]
)
def test_a_name_that_is_none_is_refused(name: str, hospital_files: list[Path], hospitals: MakeGrid) -> None:
    with pytest.raises(FederationError) as caught:
        run(hospitals, hospital_files, JOIN, put_part("disclosed", name=name))
    assert not name or name not in str(caught.value).replace("north", "").splitlines()


@pytest.mark.parametrize(
    "change",
    [
        *(put_part("disclosed", **{part: value}) for part, values in WRONG.items() for value in values),
        put_texts,
        *(drop_part("disclosed", part) for part in ("name", "classes")),
        drop_group("disclosed"),
    ],
)
def test_what_a_site_says_of_itself_is_checked(
    change: Change, hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    """Handed on, a key of another type made honest sites report a TypeError."""
    with pytest.raises(FederationError, match=r"'hospital1'|node 3"):
        run(hospitals, hospital_files, JOIN, change)


@pytest.mark.parametrize(
    "change",
    [
        drop_group("sum"),
        drop_part("sum", "payload"),
        put_part("sum", payload="text"),
        put_part("sum", payload=np.zeros(3)),
        put_part("sum", payload=np.zeros(3, dtype=np.uint8)),
        drop_group("shapes"),
        put_part("shapes", rows=np.array([-1])),
        put_part("shapes", rows=np.array([np.nan])),
        put_part("shapes", rows=["2"]),
        put_part("shapes", rows=np.array([2**62, 2**62])),
        put_part("notes", hospital0=7),
        lambda content: content.update({"sum.values": ArrayRecord(), "sum.arrays": ConfigRecord()}),
    ],
)
@pytest.mark.parametrize("aggregation", ["ring", "plain"])
def test_a_reply_that_lacks_something_names_its_site(
    change: Change, aggregation: str, hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    with pytest.raises(PanSVMError, match=r"'hospital1'|different shapes"):
        run(hospitals, hospital_files, MOMENTS, change, {"aggregation": aggregation})


def test_a_relay_step_that_lacks_its_payload_names_its_site(
    hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    with pytest.raises(FederationError, match="Site 'hospital1' sent a message without the part 'payload'"):
        run(hospitals, hospital_files, RELAY, drop_group("sum"), {"aggregation": "ring-hops"})


def test_an_error_text_reaches_the_screen_without_control_characters(
    hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    settings = make_settings(sites=3, min_cluster=2)
    grid = hospitals(settings, hospital_files)
    evil = "\x1b]0;owned\x07\x1b[2J\nError: all is well " + "x" * 5000
    grid._answer = lambda number, message: Message(Error(103, evil), reply_to=_numbered(message, number))  # type: ignore[method-assign]
    with pytest.raises(PanSVMError) as caught:
        PanSVM(settings).start(grid)
    assert "\x1b" not in str(caught.value)
    assert "\x07" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2100


def test_no_site_answers_in_the_name_of_another(hospital_files: list[Path], hospitals: MakeGrid) -> None:
    settings = make_settings(sites=3, min_cluster=2)

    def forged(message: Message, reply: Message) -> None:
        if message.metadata.dst_node_id == 3:
            reply.metadata.__dict__["_src_node_id"] = 4

    grid = forge(hospitals(settings, hospital_files), forged)
    with pytest.raises(FederationError):
        PanSVM(settings).start(grid)


def _numbered(message: Message, number: str) -> Message:
    message.metadata.__dict__["_message_id"] = number
    return message


EXTREMES = {"low": np.array([[0.0, np.inf]]), "high": np.array([[1.0, -np.inf]])}


@pytest.mark.parametrize(
    "parts",
    [
        {"low": np.array([[2.0, 0.0]])},
        {"low": np.array([[np.nan, 0.0]])},
        {"high": np.array([[np.inf, -np.inf]])},
        {"high": np.array([[1e308, -np.inf]])},
        {"low": np.array([0.0, 0.0])},
        {"high": np.array([[1, 1]])},
        {"high": "1"},
    ],
)
def test_smallest_and_largest_cells_that_cannot_be_name_their_site(parts: dict[str, Any]) -> None:
    def group(name: str, values: dict[str, Any]) -> ExtremesAnswer:
        return records.message_of(ExtremesAnswer, values, "disclosed", f"Site '{name}'")

    check_extremes("north", group("north", EXTREMES), (1, 2))
    with pytest.raises(FederationError, match="'south'"):
        check_extremes("south", group("south", {**EXTREMES, **parts}), (1, 2))

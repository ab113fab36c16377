"""Messages of a deployment travel as one record of bytes each, and mean the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

from flower_pansvm import records
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import JoinQuestion
from simulations.engines.in_process import InProcessGrid
from strategies.federation.packed_grid import PackedGrid
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import make_settings
from tests.conftest import MakeGrid, write_hospitals


class Watching(InProcessGrid):
    """Writes down of how many objects each message is."""

    def push_messages(self, messages: Any) -> Any:
        asked = list(messages)
        self.objects = [*getattr(self, "objects", []), *(len(get_all_nested_objects(one)) for one in asked)]
        return super().push_messages(asked)


@pytest.fixture
def grid(hospitals: MakeGrid, tmp_path: Path) -> InProcessGrid:
    return hospitals(SETTINGS, write_hospitals(tmp_path, 300), {"privacy": "exact"})


SETTINGS = make_settings(sites=3, min_cluster=2, privacy="exact", landmarks="8")


def test_a_run_leaves_the_same_model(hospitals: MakeGrid, tmp_path: Path) -> None:
    models = []
    for pack in (False, True):
        grid = hospitals(SETTINGS, write_hospitals(tmp_path, 300), {"privacy": "exact"})
        grid.__class__ = Watching
        strategy = PanSVM(SETTINGS)
        strategy.start(PackedGrid(grid) if pack else grid)
        assert strategy.outcome.model is not None
        models.append(strategy.outcome.model.sha256())
        assert (max(grid.objects) <= 3) is pack  # type: ignore[attr-defined]
    assert models[0] == models[1]


def test_what_is_packed_twice_is_the_same_bytes_and_a_large_content_stays_as_it_is() -> None:
    content = RecordDict()
    records.put(content, "group", {"x": np.arange(5.0), "text": "a", "list": ["a", "b"], "bytes": b"\0"})
    once, again = records.packed(content), records.packed(content)
    assert once.object_id == again.object_id
    assert records.unpacked(once) == content
    assert records.unpacked(content) is content
    records.put(content, "large", {"x": np.zeros(records.MOST_PACKED // 8)})
    assert records.packed(content) is content


@pytest.mark.parametrize("octets", [b"", b"\xff" * 40, "text", 7])
def test_a_site_answers_packed_nonsense_with_an_error(octets: Any, grid: InProcessGrid) -> None:
    nonsense = RecordDict({records.PACKED: ConfigRecord({records.PACKED: octets})})
    node = next(iter(grid.get_node_ids()))
    (number,) = grid.push_messages([Message(nonsense, node, "query.join")])
    (reply,) = grid.pull_messages([number])
    assert reply.has_error()
    assert reply.error.code >= PanSVMError.code


def test_a_reply_of_packed_nonsense_is_an_error(grid: InProcessGrid) -> None:
    pull = grid.pull_messages

    def spoilt(numbers: Any) -> Any:
        replies = list(pull(numbers))
        for reply in replies:
            reply.content = RecordDict({records.PACKED: ConfigRecord({records.PACKED: b"\xff" * 9})})
        return replies

    grid.pull_messages = spoilt  # type: ignore[method-assign]
    with pytest.raises(PanSVMError):
        PanSVM(SETTINGS).start(PackedGrid(grid))


def test_send_and_receive_gives_what_replies_hold(grid: InProcessGrid) -> None:
    content = RecordDict()
    records.write(content, "inputs", JoinQuestion((), ("0", "1")))
    asked = [Message(content, node, "query.join") for node in grid.get_node_ids()]
    replies = list(PackedGrid(grid).send_and_receive(asked, timeout=60.0))
    assert len(replies) == 3
    assert all("disclosed.values" in reply.content for reply in replies)

"""A deployment's grid that sends each message as one record of bytes: Flower makes an HTTP request of every array."""

from collections.abc import Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from flower_pansvm.errors import FederationError
from flower_pansvm.records import packed, unpacked


def is_deployment(grid: Grid) -> bool:
    """Tell whether a grid is that of a deployment, for which Flower has no public name."""
    return type(grid).__name__ == "HttpGrid"


class PackedGrid(Grid):
    """Another grid, whose sites are the ClientApp of this project: it unpacks what is packed, and packs its reply."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def set_run(self, run: Run) -> None:
        """Set the run; part of Flower's interface, as are the others."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run."""
        return self._grid.run

    def create_message(self, *arguments: Any, **more: Any) -> Message:
        """Return a message."""
        return self._grid.create_message(*arguments, **more)

    def get_node_ids(self) -> Iterable[int]:
        """Return the numbers of the nodes that are connected."""
        return self._grid.get_node_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, and return their numbers."""
        return self._grid.push_messages([_packed(one) for one in messages])

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies that have come, with what they hold."""
        return _with_contents(self._grid.pull_messages(message_ids))

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages, and return the replies, with what they hold."""
        asked = [_packed(one) for one in messages]
        return _with_contents(self._grid.send_and_receive(asked, timeout=timeout))


def _packed(question: Message) -> Message:
    to = question.metadata
    return Message(packed(question.content), to.dst_node_id, to.message_type, ttl=to.ttl)


def _with_contents(replies: Iterable[Message]) -> list[Message]:
    """Return replies with what they hold; FederationError if one cannot be read."""
    received = list(replies)
    for reply in received:
        if reply.has_content():
            try:
                reply.content = unpacked(reply.content)
            except Exception:  # of a site that sends something else
                raise FederationError(
                    "A site's reply cannot be read. It runs another version of flower-pansvm, or a changed one."
                ) from None
    return received

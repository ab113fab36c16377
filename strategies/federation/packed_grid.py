"""A deployment's grid that sends each message as one record of bytes: Flower sends an HTTP request for every array."""

from collections.abc import Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from flower_pansvm.errors import FederationError
from flower_pansvm.records import packed, unpacked


def is_deployment(grid: Grid) -> bool:
    """Return whether a grid is a deployment's, whose class Flower does not export."""
    return type(grid).__name__ == "HttpGrid"


class PackedGrid(Grid):
    """A grid that packs messages and unpacks replies; this project's ClientApp does the reverse."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def set_run(self, run: Run) -> None:
        """Set the run."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run."""
        return self._grid.run

    def create_message(self, *arguments: Any, **more: Any) -> Message:
        """Return a message."""
        return self._grid.create_message(*arguments, **more)

    def get_node_ids(self) -> Iterable[int]:
        """Return the ids of the connected nodes."""
        return self._grid.get_node_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, and return their ids."""
        return self._grid.push_messages([_packed(message) for message in messages])

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies that have come, unpacked."""
        return _unpacked(self._grid.pull_messages(message_ids))

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages, and return the replies, unpacked."""
        packed_messages = [_packed(message) for message in messages]
        return _unpacked(self._grid.send_and_receive(packed_messages, timeout=timeout))


def _packed(message: Message) -> Message:
    metadata = message.metadata
    return Message(packed(message.content), metadata.dst_node_id, metadata.message_type, ttl=metadata.ttl)


def _unpacked(replies: Iterable[Message]) -> list[Message]:
    """Return unpacked replies; FederationError if one cannot be read."""
    received = list(replies)
    for reply in received:
        if reply.has_content():
            try:
                reply.content = unpacked(reply.content)
            except Exception:  # of a site that sends anything else
                raise FederationError(
                    "A site's reply cannot be read. It runs another version of flower-pansvm, or a changed one."
                ) from None
    return received

"""Grids on which something goes wrong: sites fall silent, the coordinator is killed, messages are changed."""

from collections.abc import Callable, Iterable
from itertools import count

from flwr.app import Message

from simulations.engines.in_process import InProcessGrid


class KilledError(BaseException):
    """The coordinator's process ends, whatever it is doing."""


def silence(
    grid: InProcessGrid, lost: Callable[[Message], bool], *, delivered: bool = False
) -> InProcessGrid:
    """Have a grid lose messages, or their answers only if they are delivered; return it.

    Of each message it is asked once, in order, whether it is lost.
    """
    push = grid.push_messages

    def pushing(messages: Iterable[Message]) -> Iterable[str]:
        asked = [(message, lost(message)) for message in messages]
        ids = iter(push([message for message, gone in asked if delivered or not gone]))
        found = [next(ids) if delivered or not gone else "" for _, gone in asked]
        return [f"lost-{name}" if gone else name for name, (_, gone) in zip(found, asked, strict=True)]

    grid.push_messages = pushing  # type: ignore[method-assign]
    return grid


def from_message(node: int, at: int, task: str = "") -> Callable[[Message], bool]:
    """Return a function that loses all messages to a node from the n-th one on, or the n-th about a task."""
    seen = count(1)
    gone = False

    def lost(message: Message) -> bool:
        nonlocal gone
        mine = message.metadata.dst_node_id == node
        if mine and (not task or message.metadata.message_type.endswith(f".{task}")):
            gone = gone or next(seen) >= at
        return mine and gone

    return lost


def kill(grid: InProcessGrid, trip: int, *, before: bool = True) -> InProcessGrid:
    """Have the coordinator end at a round trip: before the sites are asked, or before their answers arrive."""
    push, trips = grid.push_messages, count(1)

    def pushing(messages: Iterable[Message]) -> Iterable[str]:
        now = next(trips)
        if now < trip:
            return push(messages)
        if not before:
            push(messages)
        raise KilledError

    grid.push_messages = pushing  # type: ignore[method-assign]
    return grid


def meddle(grid: InProcessGrid, change: Callable[[Message], object]) -> InProcessGrid:
    """Have every message changed just before it is delivered."""
    answer = grid._answer

    def changed(number: str, message: Message) -> Message:
        change(message)
        return answer(number, message)

    grid._answer = changed  # type: ignore[method-assign]
    return grid


def forge(grid: InProcessGrid, change: Callable[[Message, Message], object]) -> InProcessGrid:
    """Have every reply changed before the coordinator gets it, by a function of message and reply."""
    answer = grid._answer

    def changed(number: str, message: Message) -> Message:
        reply = answer(number, message)
        change(message, reply)
        return reply

    grid._answer = changed  # type: ignore[method-assign]
    return grid

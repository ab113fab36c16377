"""How many bytes a message has, without Flower's own framing."""

from flwr.app import Array, RecordDict

NUMBER_BYTES = 8
"""What a single number counts for in :func:`size`."""


def size(content: RecordDict) -> int:
    """Return the bytes of all values and their names; Flower's own framing comes on top."""
    total = 0
    for record in content.values():
        for name, value in record.items():
            total += len(name.encode())
            if isinstance(value, Array):
                total += len(value.data)
            elif isinstance(value, str):
                total += len(value.encode())
            elif isinstance(value, bytes):
                total += len(value)
            elif isinstance(value, list):
                total += sum(len(str(item).encode()) for item in value)
            else:
                total += NUMBER_BYTES
    return total

"""Makes a hospital cheat: Python imports this by itself where PYTHONPATH leads here.

``PANSVM_CHEAT`` is KIND:TASK; the answer to the task is then another than the code that was audited gives. Or it is
``impatient``: a SuperNode then ends after five seconds, not two minutes, of not being let in.
"""

import os
import secrets
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

KIND, _, TASK = os.environ.get("PANSVM_CHEAT", "").partition(":")
answer = ClientApp.__call__


def cheat(app: ClientApp, message: Message, context: Any) -> Any:
    """Answer honestly but for one task."""
    honest = answer(app, message, context)
    if message.metadata.message_type.partition(".")[2] != TASK:
        return honest
    if KIND == "raise":
        raise RuntimeError("the row of patient 4711")
    if KIND == "silent":
        return None
    if KIND == "empty":
        return Message(RecordDict(), reply_to=message)
    from flower_pansvm.records import packed, unpacked  # noqa: PLC0415 - not while Python starts

    content = unpacked(honest.content)
    for name, record in content.items():
        if isinstance(record, ArrayRecord) and (KIND == "shape" or name.startswith("sum")):
            spoil_arrays(record)
        elif isinstance(record, ConfigRecord) and KIND == "key":
            record.update({key: secrets.token_bytes(32) for key, value in record.items() if is_key(value)})
    return Message(packed(content), reply_to=message)


def spoil_arrays(record: ArrayRecord) -> None:
    """Write random numbers in place of the masked ones, or cut them."""
    for array in record.values():
        if KIND == "words":
            array.data = secrets.token_bytes(len(array.data))
        if KIND == "shape":
            array.data = array.data[:-8]


def is_key(value: object) -> bool:
    """Tell whether something is as long as an X25519 key."""
    return isinstance(value, bytes) and len(value) == 32


if KIND == "impatient":
    from clients.node import superlink

    superlink.UNKNOWN_SECONDS = 5.0
elif KIND:
    ClientApp.__call__ = cheat

import numpy as np

from flower_pansvm.secure_sum.wire import from_bytes, to_bytes


def test_words_survive_the_wire_on_any_machine() -> None:
    words = np.array([1, 2**63, 2**64 - 2], dtype=np.uint64)
    assert to_bytes(words) == to_bytes(words.astype(">u8"))
    assert to_bytes(words)[:8] == b"\x01" + bytes(7)
    assert from_bytes(to_bytes(words), "a").tolist() == words.tolist()

"""Changes of a message that no program of this project makes; seeded, so that each can be made again."""

from collections.abc import Callable
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from flower_pansvm.records import FORMAT, read_array, write_array

WRONG_VALUES: list[Any] = [
    *(0, 1, -1, 2**31, 2**63 - 1, -(2**63), True, False, 0.0, -1.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), -float("inf"), "", "x" * 3000, "\x1b[2J", "../x", "0", "nan"),
    *(b"", bytes(31), bytes(32), b"\xff" * 40, [1, 2], [0.5], ["a"], [b""], [True]),
]
WRONG_ARRAYS: list[Any] = [
    *map(np.zeros, (0, (), 3, (0, 1000), (2, 3, 4))),
    *(np.full(2, np.nan), np.full((2, 2), np.inf), np.zeros(5, dtype=np.uint8)),
    *(np.array([value]) for value in (-1, 0, 10**6, 2**62, -(2**63), True, "north", ["a"])),
]
DTYPES = ["float64", "int64", "uint8", "bool", "<U5", "<U0", "|V0", "object", "float32", ">f8", "no type"]
SIDES = [0, 1, -1, 2, 3, 7, 10**10, 2**63 - 1]

Generator = np.random.Generator


def copied(content: RecordDict) -> RecordDict:
    """Return a copy whose records can be changed; the values are shared."""
    return RecordDict({name: type(record)(dict(record.items())) for name, record in content.items()})


def mutate(content: RecordDict, generator: Generator) -> RecordDict:
    """Return a copy of a message's content with one to three changes."""
    changed = copied(content)
    for _ in range(generator.integers(1, 4)):
        CHANGES[generator.integers(len(CHANGES))](changed, generator)
    return changed


def pick(things: list[Any], generator: Generator) -> Any:
    return things[generator.integers(len(things))]


def a_record(content: RecordDict, generator: Generator, kind: type) -> Any:
    """Return a record of a kind that holds something, or None."""
    found = [record for record in content.values() if isinstance(record, kind) and len(record)]
    return pick(found, generator) if found else None


def drop_record(content: RecordDict, generator: Generator) -> None:
    if content:
        del content[pick(list(content), generator)]


def swap_records(content: RecordDict, generator: Generator) -> None:
    if content:
        one, other = pick(list(content), generator), pick(list(content), generator)
        content[one], content[other] = content[other], content[one]


def rename_record(content: RecordDict, generator: Generator) -> None:
    if content:
        old = pick(list(content), generator)
        new = ["broadcast.x.values", "keys.values", ".values", "sum.arrays", "\x1b.values", old + ".values"]
        content[pick(new, generator)] = content.pop(old)


def other_record(content: RecordDict, generator: Generator) -> None:
    if content:
        kinds = [ArrayRecord(), ConfigRecord(), MetricRecord({"a": [1.0, 2.0]})]
        content[pick(list(content), generator)] = pick(kinds, generator)


def drop_part(content: RecordDict, generator: Generator) -> None:
    record = a_record(content, generator, ArrayRecord | ConfigRecord)  # type: ignore[arg-type]
    if record is not None:
        del record[pick(list(record), generator)]


def rename_part(content: RecordDict, generator: Generator) -> None:
    record = a_record(content, generator, ArrayRecord | ConfigRecord)  # type: ignore[arg-type]
    if record is not None:
        record[pick(["digest", "x", "payload", "\x1b[2J", ""], generator)] = record.pop(
            pick(list(record), generator)
        )


def wrong_value(content: RecordDict, generator: Generator) -> None:
    record = a_record(content, generator, ConfigRecord)
    if record is not None:
        record[pick(list(record), generator)] = pick(WRONG_VALUES, generator)


def of_an_array(change: Callable[[Array, Generator], Array]) -> Callable[[RecordDict, Generator], None]:
    """Return a change of a message that changes one of its arrays."""

    def changed(content: RecordDict, generator: Generator) -> None:
        record = a_record(content, generator, ArrayRecord)
        if record is not None:
            name = pick(list(record), generator)
            record[name] = change(record[name], generator)

    return changed


@of_an_array
def wrong_array(old: Array, generator: Generator) -> Array:
    wrong = pick(WRONG_ARRAYS, generator)
    written = Array(str(wrong.dtype), wrong.shape, FORMAT, wrong.tobytes())
    return Array(wrong) if generator.integers(2) else written


@of_an_array
def wrong_numbers(old: Array, generator: Generator) -> Array:
    """Put wrong numbers into an array that keeps its shape and type."""
    try:
        array = read_array(old)
    except Exception:
        return old  # changed before, and no array any more
    wrong: dict[str, list[float]] = {
        "f": [np.nan, np.inf, -1.0, 1e300, 0.0],
        "i": [-1, 0, 1, 10**6, 2**62, -(2**63)],
    }
    if not array.size or array.dtype.kind not in wrong:
        return old
    array.flat[generator.integers(array.size)] = pick(wrong[array.dtype.kind], generator)
    return write_array(array)


@of_an_array
def wrong_header(old: Array, generator: Generator) -> Array:
    """Announce another type, shape or format than the bytes have."""
    sides = tuple(pick(SIDES, generator) for _ in range(generator.integers(0, 4)))
    wrong = [
        (pick(DTYPES, generator), old.shape, old.stype),
        (old.dtype, sides, old.stype),
        (pick(DTYPES, generator), sides, old.stype),
        (old.dtype, old.shape, "numpy.ndarray"),
    ]
    return Array(*pick(wrong, generator), old.data)


@of_an_array
def flip_bytes(old: Array, generator: Generator) -> Array:
    data = bytearray(old.data)
    for place in generator.integers(max(1, len(data)), size=generator.integers(1, 4)) if data else ():
        data[place] ^= 1 << generator.integers(8)
    return Array(old.dtype, old.shape, old.stype, bytes(data))


@of_an_array
def cut_bytes(old: Array, generator: Generator) -> Array:
    data = old.data[: generator.integers(len(old.data) + 1)]
    return Array(old.dtype, old.shape, old.stype, data + bytes(int(generator.integers(0, 9))))


CHANGES: list[Callable[[RecordDict, Generator], None]] = [
    *(drop_record, swap_records, rename_record, other_record, drop_part, rename_part),
    *(wrong_value, wrong_value, wrong_array, wrong_array, wrong_numbers, wrong_numbers),
    *(wrong_header, flip_bytes, cut_bytes),
]

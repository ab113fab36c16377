"""What the coordinator sees of a ring run: nothing of a single site's that is not noise."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from flwr.app import Message
from numpy.typing import NDArray
from scipy.stats import chi2

from clients.app import app
from flower_pansvm import records
from flower_pansvm.systems.common import JOIN
from simulations.engines.in_process import InProcessGrid
from strategies.settings import make_settings
from tests.strategies.conftest import trained
from tests.tasks import TASKS

LIMIT = chi2.ppf(1 - 1e-9, 255)
"""Of the statistic: truly uniform bytes exceed it with this probability. There are some hundreds of such tests."""


JOBS: dict[str, dict[str, Any]] = {
    "training": {},
    "everything": {"C": "0.5,1", "cv_folds": 2, "probability": True, "multi_class": "ovo", "tol": 0.2},
    "consensus": {"strategy": "svm-admm", "search": "published", "privacy": "exact"},
}


def run(aggregation: str, run_id: int, job: str = "training") -> InProcessGrid:
    """Run one training and return the grid with everything that the coordinator has received."""
    settings = make_settings(data="wine", sites=4, aggregation=aggregation, landmarks="30", **JOBS[job])
    nodes = [{"partition-id": site, "num-partitions": 4} for site in range(4)]
    grid = InProcessGrid(app, nodes, settings.to_config(), run_id)  # type: ignore[arg-type]
    trained(settings, grid)
    return grid


def payload(message: Message) -> bytes:
    return records.get(message.content, "sum")["payload"].tobytes()  # type: ignore[union-attr]


def summed(grid: InProcessGrid) -> list[Message]:
    """Return the replies to secure sums."""
    return [reply for reply in grid.replies if reply.metadata.message_type != JOIN.message_type]


def chi_square(data: bytes) -> float:
    """Return the statistic of the 256 byte values against the uniform distribution."""
    counts = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
    expected = len(data) / 256
    return float(np.square(counts - expected).sum() / expected)


def by_site(grid: InProcessGrid) -> dict[int, bytes]:
    """Return all masked vectors of each site, one after the other."""
    sent: dict[int, bytes] = defaultdict(bytes)
    for reply in summed(grid):
        sent[reply.metadata.src_node_id] += payload(reply)
    return dict(sent)


def long_enough(data: bytes) -> bool:
    """Tell whether chi-square holds: five bytes of each value expected."""
    return len(data) >= 256 * 5


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.slow] * (one != "training")) for one in JOBS],
)
def job(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ring(job: str) -> InProcessGrid:
    return run("ring", run_id=11, job=job)


def test_every_masked_vector_is_uniform(ring: InProcessGrid, job: str) -> None:
    sites = by_site(ring)
    assert len(sites) == 4
    for data in sites.values():
        assert chi_square(data) < LIMIT
    long_ones = [payload(reply) for reply in summed(ring) if long_enough(payload(reply))]
    # Models of a consensus are short, and few sums are long.
    assert len(long_ones) >= (len(sites) if job == "consensus" else 16)
    assert max(map(chi_square, long_ones)) < LIMIT


def test_high_and_low_bytes_of_the_words_are_uniform_too(ring: InProcessGrid) -> None:
    words = np.frombuffer(b"".join(by_site(ring).values()), dtype="<u8").view(np.uint8).reshape(-1, 8)
    for place in range(8):
        assert chi_square(words[:, place].tobytes()) < LIMIT


def test_the_test_notices_what_is_not_masked() -> None:
    plain = by_site(run("plain", run_id=11))
    assert len(plain) == 4
    assert all(chi_square(data) > LIMIT for data in plain.values())


def test_the_same_inputs_sent_twice_give_unrelated_messages(ring: InProcessGrid, job: str) -> None:
    again = run("ring", run_id=11, job=job)
    for first, second in zip(summed(ring), summed(again), strict=True):
        assert payload(first) != payload(second)
    for site, data in by_site(again).items():
        before = np.frombuffer(by_site(ring)[site], dtype="<u8")
        after = np.frombuffer(data, dtype="<u8")
        assert chi_square((after - before).tobytes()) < LIMIT
        assert chi_square((after ^ before).tobytes()) < LIMIT


def test_what_two_sites_send_is_uniform_when_added(ring: InProcessGrid) -> None:
    words: list[NDArray[np.uint64]] = [np.frombuffer(data, dtype="<u8") for data in by_site(ring).values()]
    for one in range(4):
        for other in range(one):
            assert chi_square((words[one] + words[other]).tobytes()) < LIMIT


def test_a_reply_holds_nothing_but_its_declared_parts(ring: InProcessGrid) -> None:
    declared = {task.message_type: task for task in TASKS}
    for reply in ring.replies:
        task = declared[reply.metadata.message_type]
        groups = {name.rsplit(".", 1)[0] for name in reply.content}
        assert groups == {"notes"} | ({"sum", "shapes"} if task.summed else {"disclosed"})
        assert set(records.get(reply.content, "disclosed")) == set(task.disclosed)
        assert set(records.get(reply.content, "shapes")) == (set(task.summed) if task.summed else set())
        if task.summed:
            assert set(records.get(reply.content, "sum")) == {"payload"}


def test_notes_between_sites_look_random_and_differ(ring: InProcessGrid) -> None:
    notes = [note for reply in ring.replies for note in records.get(reply.content, "notes").values()]
    assert len(notes) == 3  # the first site writes the seed of the slots to the three others
    assert len(set(notes)) == 3
    assert len({bytes(note)[:8] for note in notes}) == 3  # type: ignore[arg-type]

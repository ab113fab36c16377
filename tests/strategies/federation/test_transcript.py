"""The record of what the sites were asked: what is read is what was written, in order."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flower_pansvm import records
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.records import Texts
from flower_pansvm.systems.pan_svm.tasks import FEATURE_MAP, FeatureMapBroadcast
from flower_pansvm.systems.scaling import RowsAnswer
from flower_pansvm.tasks import Broadcast, Nothing, Task
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.transcript import FOLDER, read_transcript, remove_transcript
from strategies.settings import make_settings


@dataclass(frozen=True)
class Everything:
    """A field of each kind."""

    a: Floats
    names: Texts
    none: Floats
    mask: Bools
    kernel: str
    seed: int
    share: float
    on: bool


EVERYTHING = Task("everything", "train", Everything, RowsAnswer)


def gamma(value: float) -> FeatureMapBroadcast:
    return FeatureMapBroadcast(0, np.ones(2, dtype=np.bool_), "rbf", value, np.eye(2, dtype=np.float32))


def audited(folder: Path) -> Checkpoint:
    return Checkpoint(folder, make_settings(audit=True))


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    asked = Everything(
        np.arange(6.0).reshape(2, 3), ("x ", "ü"), np.empty((0, 4)), np.array([True]), "rbf", 3, 0.1, True
    )
    transcript = audited(tmp_path)
    transcript.write_broadcast(Broadcast("everything", Everything), asked)
    transcript.write("everything", asked, ("north", "south"), {"rows": np.ones((2, 3))})
    transcript.finish()
    (found,) = read_transcript(tmp_path)
    assert (found.task, found.sites) == ("everything", ("north", "south"))
    np.testing.assert_array_equal(found.answer(EVERYTHING).rows, np.ones((2, 3)))
    # The sites' draws depend on these digests.
    digest = records.digest(records.values_of(asked))
    for one in (found.question(EVERYTHING), found.received(Broadcast("everything", Everything))):
        assert records.digest(records.values_of(one)) == digest


def test_a_sum_knows_the_latest_broadcast_of_each_name_before_it(tmp_path: Path) -> None:
    transcript = audited(tmp_path)
    zero, one = FEATURE_MAP.numbered(0), FEATURE_MAP.numbered(1)
    transcript.write_broadcast(zero, gamma(1.0))
    transcript.write_broadcast(one, gamma(2.0))
    transcript.write("rows", Nothing(), ("a", "b"), {"rows": np.ones(2)})
    transcript.write("rows", Nothing(), ("a",), {"rows": np.ones(2)})
    transcript.write_broadcast(zero, gamma(3.0))
    transcript.write("rows", Nothing(), ("a",), {"rows": np.ones(2)})
    transcript.finish()
    first, second, third = read_transcript(tmp_path)
    assert second.broadcasts is first.broadcasts
    assert [first.received(own).gamma for own in (zero, one)] == [1.0, 2.0]
    assert [third.received(own).gamma for own in (zero, one)] == [3.0, 2.0]


def test_a_new_record_replaces_an_old_one_and_it_can_be_removed(tmp_path: Path) -> None:
    transcript = audited(tmp_path)
    transcript.write("rows", Nothing(), ("a",), {"rows": np.ones(2)})
    transcript.finish()
    assert len(read_transcript(tmp_path)) == 1
    audited(tmp_path)
    assert read_transcript(tmp_path) == []
    remove_transcript(tmp_path)
    remove_transcript(tmp_path)
    assert not (tmp_path / FOLDER).exists()

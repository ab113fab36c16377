"""The record of what the sites were asked: what is read is what was written, in order."""

from pathlib import Path

import numpy as np

from flower_pansvm import messages, records
from strategies.transcript import FOLDER, Transcript, read_transcript, remove_transcript


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    values = {
        "a": np.arange(6.0).reshape(2, 3), "names": np.array(["x ", "", "ü"]), "none": np.empty((0, 4)),
        "kernel": "rbf", "seed": 3, "share": 0.1, "on": True,
    }  # fmt: skip
    transcript = Transcript(tmp_path)
    transcript.add_told("scaling", values)
    transcript.add_sum(messages.CUTS, values, ("north", "south"), {"a": np.ones((2, 3))})
    (found,) = read_transcript(tmp_path)
    assert (found.task, found.sites) == ("cuts", ("north", "south"))
    assert list(found.sums) == ["a"]
    np.testing.assert_array_equal(found.sums["a"], np.ones((2, 3)))
    # The sites' draws depend on these digests.
    assert records.digest(found.inputs) == records.digest(found.told["scaling"]) == records.digest(values)


def test_a_sum_knows_the_latest_broadcast_of_each_name_before_it(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path)
    transcript.add_told("feature_map.0", {"gamma": 1.0})
    transcript.add_told("feature_map.1", {"gamma": 2.0})
    transcript.add_sum(messages.ROWS, {}, ("a", "b"), {"rows": np.ones(2)})
    transcript.add_sum(messages.ROWS, {}, ("a",), {"rows": np.ones(2)})
    transcript.add_told("feature_map.0", {"gamma": 3.0})
    transcript.add_sum(messages.ROWS, {}, ("a",), {"rows": np.ones(2)})
    first, second, third = read_transcript(tmp_path)
    assert second.told is first.told
    assert first.told == {"feature_map.0": {"gamma": 1.0}, "feature_map.1": {"gamma": 2.0}}
    assert third.told == {"feature_map.0": {"gamma": 3.0}, "feature_map.1": {"gamma": 2.0}}


def test_a_new_record_replaces_an_old_one_and_it_can_be_removed(tmp_path: Path) -> None:
    Transcript(tmp_path).add_sum(messages.ROWS, {}, ("a",), {"rows": np.ones(2)})
    Transcript(tmp_path)
    assert read_transcript(tmp_path) == []
    remove_transcript(tmp_path)
    remove_transcript(tmp_path)
    assert not (tmp_path / FOLDER).exists()

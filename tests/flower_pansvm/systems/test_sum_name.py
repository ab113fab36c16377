"""The name of a secure sum tells apart everything that the sites were given for it."""

from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict

from flower_pansvm import records
from flower_pansvm.systems.pan_svm.tasks import CUTS
from flower_pansvm.systems.scaling import ROWS
from flower_pansvm.tasks import sum_name
from strategies.settings import make_settings, settings_from

INPUTS: dict[str, Any] = {"points": np.arange(6.0).reshape(2, 3), "C": 1.0, "name": "rbf"}
BOUNDS = {"a": 2.0, "d": float("inf")}
TOLD = {"schema": "00", "scaling": "11"}
SETTINGS = make_settings(aggregation="k-secure", k=3)


def test_the_name_begins_with_the_task_and_does_not_depend_on_the_order() -> None:
    name = sum_name(CUTS, INPUTS, BOUNDS, TOLD, SETTINGS.terms.digest)
    assert name.startswith("cuts ")
    turned = (dict(reversed(part.items())) for part in (INPUTS, BOUNDS, TOLD))
    same = settings_from(dict(reversed(SETTINGS.to_config().items())))
    assert sum_name(CUTS, *turned, same.terms.digest) == name


@pytest.mark.parametrize(
    ("inputs", "bounds", "told"),
    [
        ({**INPUTS, "points": np.arange(6.0).reshape(3, 2)}, BOUNDS, TOLD),
        ({**INPUTS, "points": np.arange(6).reshape(2, 3)}, BOUNDS, TOLD),
        ({**INPUTS, "points": INPUTS["points"] + np.eye(2, 3) * 1e-15}, BOUNDS, TOLD),
        ({**INPUTS, "C": 1}, BOUNDS, TOLD),
        ({**INPUTS, "C": "1.0"}, BOUNDS, TOLD),
        ({**INPUTS, "more": 0}, BOUNDS, TOLD),
        (INPUTS, {**BOUNDS, "a": 3.0}, TOLD),
        (INPUTS, BOUNDS, {**TOLD, "schema": "01"}),
        (INPUTS, BOUNDS, {"schema": "00"}),
    ],
    ids=range(9),
)
def test_the_name_changes_with_everything(
    inputs: dict[str, Any], bounds: dict[str, float], told: dict[str, str]
) -> None:
    name = sum_name(CUTS, INPUTS, BOUNDS, TOLD, SETTINGS.terms.digest)
    assert sum_name(CUTS, inputs, bounds, told, SETTINGS.terms.digest) != name
    assert sum_name(ROWS, INPUTS, BOUNDS, TOLD, SETTINGS.terms.digest) != name


@pytest.mark.parametrize(
    "change",
    [
        *({"aggregation": name, "k": 0} for name in ("ring", "ring-hops")),
        {"aggregation": "k-secure-hops"},
        *(
            {"k": 2},
            {"privacy": "exact"},
            {"class_weight": "balanced"},
            {"kernel": "linear"},
            {"min_sites": 4},
        ),
    ],
    ids=str,
)
def test_sites_of_other_settings_share_no_masks_and_no_notes(change: dict[str, Any]) -> None:
    other = make_settings(**{"aggregation": "k-secure", "k": 3, **change})
    one = sum_name(CUTS, INPUTS, BOUNDS, TOLD, SETTINGS.terms.digest)
    assert sum_name(CUTS, INPUTS, BOUNDS, TOLD, other.terms.digest) != one
    assert other.terms.digest != SETTINGS.terms.digest  # which is in the name of notes


def test_a_number_written_without_a_point_is_the_same_setting() -> None:
    """A site reads C = 10.0 from the run config, whatever the coordinator's own program wrote."""
    own = make_settings(C=10, timeout=5)
    read, digest = settings_from(own.to_config()).terms.digest, own.terms.digest
    assert sum_name(CUTS, INPUTS, BOUNDS, TOLD, digest) == sum_name(CUTS, INPUTS, BOUNDS, TOLD, read)
    assert digest != make_settings(C=11, timeout=5).terms.digest


def test_parts_that_run_into_each_other_are_told_apart() -> None:
    pairs: list[tuple[records.Values, records.Values]] = [
        ({"ab": "c"}, {"a": "bc"}),
        ({"a": "b", "c": "d"}, {"a": "bcd"}),
        ({"a": np.array(["b", "cd"])}, {"a": np.array(["bc", "d"])}),
        ({"a": b"1"}, {"a": "1"}),
        ({"a": True}, {"a": 1}),
    ]
    for one, other in pairs:
        assert records.digest(one) != records.digest(other)


@pytest.mark.parametrize(
    "value",
    [
        1.1, np.float64(1.1), float("nan"), float("-inf"), -0.0, 3, True, "größe", b"\x00\xff",
        np.array([1.5, np.nan]), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(8.0)[::2],
        ["a", "längst"], np.empty((0, 3)), np.array(7), np.array([True, False]),
    ],
    ids=repr,
)  # fmt: skip
def test_a_digest_survives_the_journey(value: records.Value) -> None:
    content = RecordDict()
    records.put(content, "group", {"value": value})
    assert records.digest(records.get(content, "group")) == records.digest({"value": value})
